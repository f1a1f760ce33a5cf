package conformance_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"caucus/analyst/simulate"
	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
	"caucus/study/ratio"
	"caucus/study/reweigh"
	"caucus/study/verify"
	"caucus/study/verify/evidence"
)

// TestVerifyEveryKind: genuine releases of all kinds, with noise at either place, pass; the result
// is recomputed wherever the publications are public.
func TestVerifyEveryKind(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 480)
	_, _, wardPool, wardRecords := conformance.HospitalWithPool(t, 480)
	of := func(change func(*study.Plan)) study.Plan {
		p := conformance.ClassifyPlan(schema, pool, m)
		change(&p)
		return p
	}
	for name, c := range map[string]struct {
		plan     study.Plan
		withheld bool // the contributions hold features
	}{
		"tally":         {plan: of(func(*study.Plan) {})},
		"tally, site":   {plan: of(func(p *study.Plan) { p.Unit, p.Noise = privacy.Record, study.NoiseSite; conformance.SetShards(p, 3) })},
		"tally, shards": {plan: of(func(p *study.Plan) { p.Unit = privacy.Record; conformance.SetShards(p, 4) })},
		"moment":        {plan: of(func(p *study.Plan) { p.Mechanism, p.Delta = "moment", 0 })},
		"moment, site":  {plan: of(func(p *study.Plan) { p.Mechanism, p.Noise = "moment", study.NoiseSite })},
		"means":         {plan: of(func(p *study.Plan) { p.Mechanism = "means" })},
		"means, pure":   {plan: of(func(p *study.Plan) { p.Mechanism, p.Delta = "means", 0 })},
		"means, site":   {plan: of(func(p *study.Plan) { p.Mechanism, p.Noise = "means", study.NoiseSite })},
		"output":        {plan: of(func(p *study.Plan) { p.Mechanism, p.Delta = "output", 0 })},
		"cross": {plan: of(func(p *study.Plan) {
			p.Mechanism, p.Unit, p.Noise = "cross", privacy.Record, study.NoiseSite
			conformance.ClassifyTerms(p, func(t *classify.Terms) { t.Tilt = true })
		})},
		"cross, coordinator": {plan: of(func(p *study.Plan) { p.Mechanism, p.Unit, p.Delta = "cross", privacy.Record, 0 })},
		"labels":             {plan: conformance.LabelsPlan(schema, pool, m), withheld: true},
		"labels by em":       {plan: func() study.Plan { p := conformance.LabelsPlan(schema, pool, m); p.Mechanism = "em"; return p }(), withheld: true},
		"ratio":              {plan: conformance.RatioPlan(schema, pool, m, ratio.FeaturesClear), withheld: true},
		"ratio, embeddings":  {plan: conformance.RatioPlan(schema, pool, m, ratio.FeaturesEmbedding), withheld: true},
		"ratio, noisy":       {plan: conformance.RatioPlan(schema, pool, m, ratio.FeaturesNoisyEmbedding)},
		"reweigh":            {plan: conformance.ReweighPlan(schema, wardPool)},
		"reweigh, central": {plan: func() study.Plan {
			p := conformance.ReweighPlan(schema, wardPool)
			p.Noise, p.Delta, p.KindTerms = study.NoiseCoordinator, 1e-6,
				conformance.EncodeTerms(reweigh.Terms{PerParty: 3})
			return p
		}()},
		"logistic":      {plan: func() study.Plan { p := conformance.ReweighPlan(schema, wardPool); p.Mechanism = "logistic"; return p }()},
		"reweigh, some": {plan: conformance.WithCondition(conformance.ReweighPlan(schema, wardPool), "age >= 60")},
		"ratio, some":   {plan: conformance.WithCondition(conformance.RatioPlan(schema, pool, m, ratio.FeaturesNoisyEmbedding), "age >= 60")},
		"describe, each site": {plan: func() study.Plan {
			p := conformance.WithCondition(conformance.DescribePlan(schema, wardPool), "age >= 60")
			p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 3, Sites: true})
			return p
		}()},
		"describe": {plan: conformance.DescribePlan(schema, wardPool)},
		"evaluate": {plan: conformance.EvaluatePlan(t, schema, wardPool, nil)},
		"evaluate, central": {plan: func() study.Plan {
			p := conformance.EvaluatePlan(t, schema, wardPool, func(t *evaluate.Terms) {
				t.By, t.PerParty = []evaluate.Grouping{{Column: "sex"}}, 300
			})
			p.Noise, p.Mechanism, p.Delta = study.NoiseCoordinator, "gaussian", 1e-6
			return p
		}()},
		"describe, central": {plan: func() study.Plan {
			p := conformance.DescribePlan(schema, wardPool)
			p.Noise, p.Mechanism, p.Delta = study.NoiseCoordinator, "laplace", 0
			return p
		}()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			with, from := pool, records
			if c.plan.Pool == wardPool.Digest {
				with, from = wardPool, wardRecords
			}
			r := conformance.RunRelease(t, c.plan, with, from)
			found := verify.CheckClaims(r, with)
			if bad := conformance.FalseClaims(found); len(bad) > 0 {
				t.Fatalf("a genuine release: %s", strings.Join(bad, "\n"))
			}
			verdicts := map[string]evidence.Verdict{}
			for _, f := range found {
				if f.Verdict != evidence.NotProvable && f.Verdict != evidence.CoordinatorsWord {
					verdicts[f.Subject] = f.Verdict
				}
			}
			want := evidence.Holds
			if c.withheld {
				want = evidence.Unchecked
			}
			if verdicts["result"] != want {
				t.Errorf("the result %s, want %s", verdicts["result"], want)
			}
			for _, about := range []string{"plan", "terms", "roster", "pool", "bound", "noise",
				"totals"} {
				if verdicts[about] != evidence.Holds {
					t.Errorf("%s: %q", about, verdicts[about])
				}
			}
			if (verdicts["ledger"] == evidence.Holds) != (c.plan.Noise == study.NoiseCoordinator) {
				t.Errorf("ledger: %q", verdicts["ledger"])
			}
			if len(r.Sum) > 0 && c.withheld {
				t.Error("features are in the release")
			}
			if bad := conformance.FalseClaims(verify.CheckClaims(r,
				elsewhere(with, lastBits))); len(bad) > 0 {
				t.Errorf("on another kind of processor: %s", strings.Join(bad, "\n"))
			}
		})
	}
}

// TestVerifyDoctored: verify finds every false claim of a release, each with its own reason.
func TestVerifyDoctored(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 1200)
	p := conformance.ClassifyPlan(schema, pool, m)
	p.Roster = append(p.Roster, "d")
	party := conformance.RunRelease(t, p, pool, records)
	q := conformance.ClassifyPlan(schema, pool, m)
	q.Unit, q.Mechanism, q.Noise = privacy.Record, "cross", study.NoiseSite
	site := conformance.RunRelease(t, q, pool, records)
	other := conformance.ClassifyPlan(schema, pool, m)
	other.Epsilon, other.Seed = 8, 2
	cheap := conformance.RunRelease(t, other, pool, records)
	replan := func(r *study.Release, change func(*study.Plan)) {
		p, err := r.DecodedPlan()
		if err != nil {
			t.Fatal(err)
		}
		change(&p)
		r.Plan, _ = p.Canonical()
		r.PlanHash = study.HashOf(r.Plan)
	}
	_, otherPool, _, _ := conformance.Hospital(t, 800)

	reasons := map[string]string{}
	for name, c := range map[string]struct {
		from   study.Release
		change func(*study.Release)
		pool   *auxdata.Pool
		about  string
		reason string
	}{
		"the plan's bytes": {party, func(r *study.Release) {
			r.Plan = []byte(strings.Replace(string(r.Plan), `"epsilon":1`, `"epsilon":9`, 1))
		}, nil, "plan", "its plan has hash"},
		"the plan and its hash": {party, func(r *study.Release) {
			replan(r, func(p *study.Plan) { p.Epsilon = .5 })
			r.Epsilon = .5
		}, nil, "noise", "plan and pool give"},
		"epsilon in the claim": {party, func(r *study.Release) { r.Epsilon = .1 }, nil, "epsilon", "the manifest says 0.1, the plan it names says 1"},
		"epsilon in the costs": {party, func(r *study.Release) { r.Costs[0].Epsilon = .1 }, nil, "epsilon", "the manifest's costs say ε = 0.1"},
		"rho in the costs":     {party, func(r *study.Release) { r.Costs[0].Rho /= 4 }, nil, "cost", "the noise and bound cost"},
		"less noise":           {party, func(r *study.Release) { r.Costs[0].Parameters = map[string]string{"variance": "1"} }, nil, "noise", "the manifest says variance 1"},
		"a smaller bound":      {party, func(r *study.Release) { r.Costs[0].Bound.L2sq = 1 }, nil, "bound", "√1 in L2"},
		"M inflated":           {party, func(r *study.Release) { r.Parties = 100 }, nil, "parties", "M = 100, but names 3"},
		"ballots inflated":     {party, func(r *study.Release) { r.Weight = 4 }, nil, "result", "over 4 ballots"},
		"missing hidden":       {party, func(r *study.Release) { r.Missing = nil }, nil, "roster", "neither among those that contributed nor among the missing: d"},
		"missing counted": {party, func(r *study.Release) {
			r.Contributed, r.Missing, r.Parties, r.Weight = append(r.Contributed, "d"), nil, 4, 4
		}, nil, "result", "differs at"},
		"a stranger":              {party, func(r *study.Release) { r.Contributed[0] = "mallory" }, nil, "roster", "mallory is named twice, or is not"},
		"a coarser unit":          {site, func(r *study.Release) { r.Unit = privacy.Party }, nil, "unit", "the manifest says party"},
		"a coarser unit, planned": {site, func(r *study.Release) { replan(r, func(p *study.Plan) { p.Unit = privacy.Party }) }, nil, "plan", "cannot hide a party"},
		"other neighbours":        {site, func(r *study.Release) { r.Neighbours = kinds.Explain(p).Neighbours }, nil, "neighbours", "describes other neighbours"},
		"noise elsewhere":         {party, func(r *study.Release) { r.Noise = study.NoiseSite }, nil, "noise", "the manifest says site"},
		"the pool":                {party, func(*study.Release) {}, otherPool, "pool", "it is another pool"},
		"the pool's name":         {party, func(r *study.Release) { r.Pool = otherPool.Digest }, nil, "pool", "the plan it names says"},
		"totals lowered":          {site, func(r *study.Release) { *r.Totals[0].Epsilon = .01 }, nil, "totals", "guarantee for a record: ε = 0.01"},
		"totals invented":         {site, func(r *study.Release) { one := 1.; r.Totals[1].Epsilon = &one }, nil, "totals", "the plan gives the guarantee for a party: none"},
		"not protected shortened": {party, func(r *study.Release) { r.NotProtected = r.NotProtected[1:] }, nil, "not protected", "leaves out \"parties from the coordinator"},
		"values changed": {party, func(r *study.Release) {
			changeLast(r.Published[0])
		}, nil, "ledger", "values or terms were changed"},
		"another publication":   {party, func(r *study.Release) { r.Published, r.Ledger = cheap.Published, cheap.Ledger }, nil, "published", "of another study"},
		"no publication":        {party, func(r *study.Release) { r.Published, r.Ledger = nil, nil }, nil, "published", "cannot be checked"},
		"the entry's hash":      {party, func(r *study.Release) { r.Ledger[0].Hash[0] ^= 1 }, nil, "ledger", "its hash does not match"},
		"the entry's totals":    {party, func(r *study.Release) { r.Ledger[0].Totals = privacy.NewTotals() }, nil, "ledger", "its hash does not match"},
		"the entry's number":    {party, func(r *study.Release) { r.Ledger[0].Sequence = 1 }, nil, "ledger", "its hash does not match"},
		"a weight":              {party, func(r *study.Release) { edit(t, r, func(b map[string]any) { weight(b, 0, .5) }) }, nil, "result", "classifier.weights[0][0]"},
		"a weight, site":        {site, func(r *study.Release) { edit(t, r, func(b map[string]any) { weight(b, 2, -.5) }) }, nil, "result", "classifier.weights[2][0]"},
		"the sum":               {site, func(r *study.Release) { changeLast(r.Sum) }, nil, "result", "differs at"},
		"no sum":                {site, func(r *study.Release) { r.Sum = nil }, nil, "result", "truncated"},
		"M inflated, site":      {site, func(r *study.Release) { r.Weight *= 2 }, nil, "result", "ballots or records"},
		"a warning dropped":     {party, func(r *study.Release) { r.Result.Warnings = nil }, nil, "result", "warnings"},
		"simulated":             {party, func(r *study.Release) { replan(r, func(p *study.Plan) { p.Simulated = true }); r.Simulated = true }, nil, "simulated", "protects nobody"},
		"simulated stamp gone":  {party, func(r *study.Release) { replan(r, func(p *study.Plan) { p.Simulated = true }) }, nil, "simulated", "simulated: false, the plan says true"},
		"a form of the future":  {party, func(r *study.Release) { r.Form = study.ManifestForm + 1 }, nil, "manifest", fmt.Sprintf("form %d", study.ManifestForm+1)},
		"another pool's source": {party, func(r *study.Release) { r.WeightsPlan = &study.Hash{1} }, nil, "pool", "source of the pool's weights"},
		"other terms":           {party, func(r *study.Release) { replan(r, func(p *study.Plan) { p.TermsDigest = strings.Repeat("0", 64) }) }, nil, "terms", "computes another bound or noise"},
		"no terms":              {party, func(r *study.Release) { replan(r, func(p *study.Plan) { p.TermsDigest = "" }) }, nil, "terms", "computes another bound or noise"},
		"a version that lies":   {party, func(r *study.Release) { r.Software = "1.0\x1b[2J" }, nil, "software", "control character"},
		"the minimum":           {party, func(r *study.Release) { replan(r, func(p *study.Plan) { p.Minimum = 4 }) }, nil, "parties", "the plan demands 4"},
		"public inputs":         {party, func(r *study.Release) { r.Inputs.Features = 3 }, nil, "bound", "public inputs"},
		"one publication more":  {party, func(r *study.Release) { r.Costs = append(r.Costs, r.Costs[0]) }, nil, "costs", "lists 2 publications"},
		"the spread of noise":   {party, func(r *study.Release) { r.Costs[0].Weights[0] ^= 1 }, nil, "bound", "not spread"},
		"ledger at a site":      {site, func(r *study.Release) { r.Ledger = party.Ledger }, nil, "ledger", "names entries of a ledger of the coordinator"},
	} {
		r := conformance.Reread(t, c.from)
		c.change(&r)
		with := c.pool
		if with == nil {
			with = pool
		}
		bad := conformance.FalseClaims(verify.CheckClaims(r, with))
		found := ""
		for _, b := range bad {
			if strings.HasPrefix(b, c.about+": ") && strings.Contains(b, c.reason) {
				found = b
			}
		}
		if found == "" {
			t.Errorf("%s: want %s: …%s…, have %q", name, c.about, c.reason, bad)
		}
		reasons[found] = name
	}
	if len(reasons) < 10 {
		t.Errorf("only %d reasons", len(reasons))
	}
}

// TestVerifySimulated: verify recognises a simulated release and finds nothing else wrong with it.
func TestVerifySimulated(t *testing.T) {
	schema, _, _, records := conformance.Hospital(t, 1200)
	d, err := simulate.Split{Schema: schema, Train: records.AsTable(), PoolFraction: .3,
		Parties: 20,
		Seed:    1}.Deal(0)
	if err != nil {
		t.Fatal(err)
	}
	task, err := d.Task(study.Proposal{Name: "test", Unit: privacy.Party})
	if err != nil {
		t.Fatal(err)
	}
	run, err := d.Run(context.Background(), task, simulate.Options{})
	if err != nil {
		t.Fatal(err)
	}
	bad := conformance.FalseClaims(verify.CheckClaims(conformance.Reread(t, run.Release),
		task.Pool()))
	if len(bad) != 1 || !strings.Contains(bad[0], "protects nobody") {
		t.Errorf("have %q", bad)
	}
}

// TestWords compares a manifest's words with the stored ones. Whoever changes a word raises
// study.ManifestForm, so that older releases are not compared with newer words.
func TestWords(t *testing.T) {
	schema, pool, m, _ := conformance.Hospital(t, 400)
	p := conformance.ClassifyPlan(schema, pool, m)
	var all strings.Builder
	weighted, column := p, conformance.WithRatioTerms(conformance.RatioPlan(schema, pool, m,
		ratio.FeaturesNoisyEmbedding), func(t *ratio.Terms) {
		t.Sets = ratio.SetsColumn
	})
	weighted.Weights = &study.WeightSource{Unit: privacy.Record, Epsilon: 1, PerParty: 5}
	for _, p := range []study.Plan{p, weighted, conformance.LabelsPlan(schema, pool, m),
		conformance.RatioPlan(schema, pool, m, ratio.FeaturesClear), conformance.RatioPlan(schema,
			pool, m, ratio.FeaturesNoisyEmbedding), column, conformance.ReweighPlan(schema, pool)} {
		all.WriteString(kinds.Explain(p).Neighbours + "\n" +
			strings.Join(study.NotProtected(p, kinds.Explain(p)), "\n") + "\n")
		for _, t := range study.Totals(p, kinds.Explain(p)) {
			all.WriteString(t.Reason + "\n")
		}
		all.WriteString("\n")
	}
	const want = "14 a2869e22e2fe17ae6491fbcb67a9da02336ea6c9f47fe97e56b1aca7d64a97d4"
	if got := fmt.Sprintf("%d %x", study.ManifestForm,
		sha256.Sum256([]byte(all.String()))); got != want {
		t.Errorf("form and words are %s, want %s:\n%s", got, want, all.String())
	}
}

// changeLast changes an encoding's last number, but not to a last byte of 0, in which no varint
// ends.
func changeLast(b []byte) {
	last := len(b) - 1
	if b[last] ^= 2; b[last] == 0 {
		b[last] = 1
	}
}

func edit(t testing.TB, r *study.Release, change func(body map[string]any)) {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(r.Result.Body, &body); err != nil {
		t.Fatal(err)
	}
	change(body)
	r.Result.Body = conformance.EncodeTerms(body)
	// in the kind's encoding, if the kind can decode it
	if kind, err := results.FindResults(r.Kind); err == nil {
		if typed := kind.Body(); study.DecodeStrictJSON(r.Result.Body, typed) == nil {
			r.Result.Body = conformance.EncodeTerms(typed)
		}
	}
}

func weight(body map[string]any, row int, by float64) {
	w := body["classifier"].(map[string]any)["weights"].([]any)[row].([]any)
	w[0] = w[0].(float64) + by
}
