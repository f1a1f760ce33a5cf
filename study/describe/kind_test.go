package describe_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"caucus/analyst/simulate"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/describe/described"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
	"caucus/study/kinds/results"
	"caucus/study/verify"
	"caucus/study/verify/evidence"
)

func TestDescribeRefusals(t *testing.T) {
	schema, _, pool, _ := conformance.HospitalWithPool(t, 400)
	cuts := func(all ...describe.Cut) []byte {
		return conformance.EncodeTerms(describe.Terms{Bins: 4, Cuts: all})
	}
	for name, c := range map[string]struct {
		change func(*study.Plan)
		says   string
	}{
		"unknown mechanism":     {func(p *study.Plan) { p.Mechanism = "entropy" }, "[gaussian laplace]"},
		"unit label":            {func(p *study.Plan) { p.Unit = privacy.Label }, "use unit record"},
		"unit party":            {func(p *study.Plan) { p.Unit = privacy.Party }, "describe.per_party"},
		"gaussian of δ 0":       {func(p *study.Plan) { p.Delta = 0 }, "use laplace"},
		"auto":                  {func(p *study.Plan) { p.Mechanism = "auto" }, "name laplace or gaussian"},
		"a map":                 {func(p *study.Plan) { p.Map.Kind = dataset.PCAMap }, "map"},
		"one bin":               {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 1}) }, "2 to 100"},
		"no bins":               {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(describe.Terms{}) }, "2 to 100"},
		"bins beyond":           {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 101}) }, "2 to 100"},
		"bins negative":         {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: -3}) }, "2 to 100"},
		"per_party negative":    {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 2, PerParty: -1}) }, "per_party"},
		"per_party beyond":      {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 2, PerParty: 1 << 50}) }, "per_party"},
		"terms of another kind": {func(p *study.Plan) { p.KindTerms = []byte(`{"keep":0.1}`) }, "keep"},
		"a count of all":        {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(describe.Terms{Count: true}) }, "where: age >= 65"},
		"a count in bins": {func(p *study.Plan) {
			p.Where = "outcome == x"
			p.KindTerms = conformance.EncodeTerms(describe.Terms{Count: true, Bins: 4})
		}, ""},
		"each site, by the coordinator": {func(p *study.Plan) {
			p.Noise = study.NoiseCoordinator
			p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 4, Sites: true})
		}, "no site's own numbers are released"},
		"too much of each site": {func(p *study.Plan) {
			p.Roster, p.Minimum = nil, 200
			p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 100, By: "sex", Sites: true})
		}, "counts of all sites"},
		"each of too many sites": {func(p *study.Plan) {
			p.Roster, p.Minimum = nil, 201
			p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 4, Sites: true})
		}, "at most 200"},
		"by a number":          {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 4, By: "age"}) }, "neither the label nor a text"},
		"by what is not there": {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 4, By: "height"}) }, "neither the label nor a text"},
		"bins left out":        {func(p *study.Plan) { p.KindTerms = []byte(`{}`) }, "canonical"},
		"parts negative":       {func(p *study.Plan) { p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 4, PoolQuantiles: -1}) }, "2 to 100"},
		"a cut of a text":      {func(p *study.Plan) { p.KindTerms = cuts(describe.Cut{Column: "sex", Edges: []float64{1}}) }, "not a number"},
		"no edges":             {func(p *study.Plan) { p.KindTerms = cuts(describe.Cut{Column: "age"}) }, "give 1 to 99"},
		"edges that fall":      {func(p *study.Plan) { p.KindTerms = cuts(describe.Cut{Column: "age", Edges: []float64{60, 40}}) }, "must increase: 40 follows 60"},
		"edges out of bounds":  {func(p *study.Plan) { p.KindTerms = cuts(describe.Cut{Column: "age", Edges: []float64{1e9}}) }, "is not between its bounds"},
		"an edge that is none": {func(p *study.Plan) { p.KindTerms = []byte(`{"bins":4,"cuts":[{"column":"age","edges":[null]}]}`) }, ""},
		"a column cut twice": {func(p *study.Plan) {
			p.KindTerms = cuts(describe.Cut{Column: "age", Edges: []float64{40}},
				describe.Cut{Column: "age", Edges: []float64{50}})
		}, "all at once"},
		"too many edges": {func(p *study.Plan) {
			p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 4,
				Edges: map[string][]float64{"age": make([]float64, 1<<16)}})
		}, "fewer bins"},
		"too many counts": {func(p *study.Plan) {
			p.Schema.Features =
				[]dataset.Feature{{Columns: []string{"x0..x9999"}, Kind: dataset.Numeric, Max: 1}}
			p.Map = dataset.Identity(p.Schema)
		}, "fewer bins"},
	} {
		p := conformance.DescribePlan(schema, pool)
		c.change(&p)
		if err := kinds.Check(p); !errors.Is(err, study.ErrPlan) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
	p := conformance.DescribePlan(schema, pool)
	p.KindTerms = nil // ten bins
	if err := kinds.Check(p); err != nil {
		t.Error(err)
	}
}

// TestDescribeProposed: a proposal gets the quieter noise unless it names one, ten bins, and a
// forecast with the noise of the release.
func TestDescribeProposed(t *testing.T) {
	schema, table, _, records := conformance.HospitalWithPool(t, 4000)
	zero := 0.
	for name, c := range map[string]struct {
		proposal  study.Proposal
		mechanism string
		delta     float64
		bins      int
	}{
		"nothing said": {study.Proposal{}, "gaussian", 1e-6, 10},
		"δ = 0":        {study.Proposal{Delta: &zero}, "laplace", 0, 10},
		"laplace":      {study.Proposal{Mechanism: "laplace"}, "laplace", 0, 10},
		"terms":        {study.Proposal{KindTerms: conformance.EncodeTerms(describe.Terms{PerParty: 900})}, "gaussian", 1e-6, 10},
		"bins":         {study.Proposal{KindTerms: conformance.EncodeTerms(describe.Terms{Bins: 4})}, "gaussian", 1e-6, 4},
	} {
		s := c.proposal
		s.Name, s.Kind, s.Roster, s.Records, s.Epsilon, s.Seed = "x", "describe",
			[]study.PartyID{"a", "b", "c"}, 1000, 2, 1
		s.Map.Project = dataset.AutoComponents
		made, err := planning.ProposePlan(s, schema, table)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		p := made.Plan
		if terms := conformance.TermsIn[describe.Terms](p); p.Mechanism != c.mechanism ||
			p.Delta != c.delta || terms.Bins != c.bins || p.Unit != privacy.Record ||
			p.Noise != study.NoiseSite {
			t.Errorf("%s: %s, δ = %g, %d bins, unit %s, noise %s", name, p.Mechanism, p.Delta,
				terms.Bins, p.Unit, p.Noise)
		}
		var inputs []study.Inputs
		for i, part := range conformance.Deal(records, 3) {
			inputs = append(inputs, study.NewInputs(part, []byte{byte(i)}))
		}
		release, err := simulate.RunPlan(t.Context(), p, made.Pool, inputs)
		if err != nil {
			t.Fatal(err)
		}
		got, err := described.TableOf(release)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("noise on each count: standard deviation %.3g",
			got.NoiseSD); !strings.HasPrefix(made.Noise, want) || made.Warning != "" {
			t.Errorf("%s: forecast %q (warning %q), the release says %s", name, made.Noise, made.Warning, want)
		}
		if name == "terms" {
			if got.Records != 2700 {
				t.Errorf("%d records counted, per_party allows 3 × 900", got.Records)
			}
			continue
		}
		// The noise is as large as the release says. A fixed seed draws it, so the test fails
		// always or never; a factor of √3 (three parties) or 2 would fail.
		truth := described.ExactTable(p, records)
		sum, cells := 0., 0.
		for i, col := range got.Columns {
			for k, v := range col.Groups[0].Noisy {
				d := (v - truth.Columns[i].Groups[0].Noisy[k]) / got.NoiseSD
				sum, cells = sum+d*d, cells+1
			}
		}
		if ratio := math.Sqrt(sum / cells); ratio < .6 || ratio > 1.5 {
			t.Errorf("%s: noise over %.0f cells has %.2f of the deviation that is stated", name, cells, ratio)
		}
	}
	s := study.Proposal{Name: "x", Kind: "describe", Roster: []study.PartyID{"a", "b", "c"},
		Records: 50}
	made, err := planning.ProposePlan(s, schema, table)
	if err != nil || !strings.Contains(made.Warning, "use more records") {
		t.Errorf("three sites of 50 records: warning %q, %v", made.Warning, err)
	}
	s.Map.Project = 5
	if _, err := planning.ProposePlan(s, schema, table); err == nil ||
		!strings.Contains(err.Error(), "do not project") {
		t.Errorf("projected: %v", err)
	}
}

// TestDescribePoolEdges: a plan states the pool's quantiles. No party makes a task of a plan with
// other quantiles, with those of some columns only, or with another pool's, whatever its digest of
// terms. Where the pool has too few rows, steps of the range are equal.
func TestDescribePoolEdges(t *testing.T) {
	schema, table, pool, _ := conformance.HospitalWithPool(t, 4000)
	s := study.Proposal{Name: "x", Kind: "describe", Roster: []study.PartyID{"a", "b", "c"},
		Records: 1000}
	made, err := planning.ProposePlan(s, schema, table)
	if err != nil {
		t.Fatal(err)
	}
	task, err := results.NewTask(made.Plan, pool)
	if err != nil {
		t.Fatal(err)
	}
	if err := study.CheckTerms(task); err != nil {
		t.Error(err)
	}
	terms := conformance.TermsIn[describe.Terms](made.Plan)
	if numbers := 7; len(terms.Edges) != numbers || terms.Bins != 10 || terms.PoolQuantiles != 18 {
		t.Errorf("%d parts of %d numbers, %d steps of others", terms.PoolQuantiles,
			len(terms.Edges),
			terms.Bins)
	}
	for name, change := range map[string]func(*study.Plan, *describe.Terms){
		"an edge moved":      func(_ *study.Plan, t *describe.Terms) { t.Edges["age"][3] += .01 },
		"an edge more":       func(_ *study.Plan, t *describe.Terms) { t.Edges["age"] = append(t.Edges["age"], 99.5) },
		"edges out of order": func(_ *study.Plan, t *describe.Terms) { slices.Reverse(t.Edges["age"]) },
		"none":               func(_ *study.Plan, t *describe.Terms) { t.Edges["age"] = []float64{} },
		"a column left out":  func(_ *study.Plan, t *describe.Terms) { delete(t.Edges, "age") },
		"a text":             func(_ *study.Plan, t *describe.Terms) { t.Edges["sex"] = t.Edges["age"] },
		"other parts":        func(_ *study.Plan, t *describe.Terms) { t.PoolQuantiles-- },
	} {
		p, terms := made.Plan, conformance.TermsIn[describe.Terms](made.Plan)
		change(&p, &terms)
		p.KindTerms = conformance.EncodeTerms(terms)
		kinds.Explain(p)
		if _, err := results.NewTask(p, pool); !errors.Is(err, study.ErrPlan) ||
			!strings.Contains(err.Error(), "other quantiles of the pool") {
			t.Errorf("%s: %v", name, err)
		}
	}
	rows := make([]int, table.Rows()/2)
	for i := range rows {
		rows[i] = i
	}
	half, _, err := auxdata.New(schema, dataset.Identity(schema), table.Select(rows))
	if err != nil {
		t.Fatal(err)
	}
	p := made.Plan
	p.Pool = half.Digest
	if _, err := results.NewTask(p, half); err == nil {
		t.Error("edges of another pool are taken for this one's")
	}
	for name, few := range map[string]*dataset.Table{"few rows": table.Select(rows[:9]),
		"one value": table.Select(slices.Repeat(rows[:1], 100))} {
		made, err := planning.ProposePlan(s, schema, few)
		if err != nil {
			t.Fatal(err)
		}
		if terms := conformance.TermsIn[describe.Terms](made.Plan); terms.Edges != nil {
			t.Errorf("%s: edges %v", name, terms.Edges)
		}
	}
}

// TestDescribeEachSite: each site has a table under its name, from its own release, and the tables
// add up to the total. A release that swaps two sites' names is refuted by either site. A plan
// without sites names nobody.
func TestDescribeEachSite(t *testing.T) {
	schema, _, pool, records := conformance.HospitalWithPool(t, 1200)
	p := conformance.WithCondition(conformance.DescribePlan(schema, pool), "age >= 60")
	plain := conformance.RunRelease(t, p, pool, records)
	if table, err := described.TableOf(plain); err != nil || table.Sites != nil ||
		plain.Senders != nil {
		t.Fatalf("a plan that shows no sites has those of %v: %v", plain.Senders, err)
	}
	p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 4, Sites: true})
	r := conformance.RunRelease(t, p, pool, records)
	table, err := described.TableOf(r)
	if err != nil || len(table.Sites) != 2 || table.Sites[0].Party != "a" ||
		table.Sites[1].Party != "b" {
		t.Fatalf("%d sites: %v", len(table.Sites), err)
	}
	if one, all := table.Sites[0].NoiseSD, table.NoiseSD; math.Abs(all/one-math.Sqrt2) > 1e-9 {
		t.Errorf("noise of ± %v on a site's count, ± %v on that of both", one, all)
	}
	together, inside, known := 0.0, 0.0, int64(0)
	for _, s := range table.Sites {
		together, inside, known = together+s.Columns[0].Groups[0].Noisy[2],
			inside+s.MeetingCondition.Noisy,
			known+s.Records
	}
	if together != table.Columns[0].Groups[0].Noisy[2] || inside != table.MeetingCondition.Noisy ||
		known != table.Records {
		t.Errorf("the sites' numbers do not add up to those of all: %v, %v and %v", together, inside, known)
	}

	all, _, err := study.ParseBodies(r.Sum)
	if err != nil {
		t.Fatal(err)
	}
	sent, at := map[study.PartyID][]byte{}, 0
	for body := range all {
		sent[r.Senders[at]] = body
		at++
	}
	swapped := conformance.Reread(t, r)
	slices.Reverse(swapped.Senders)
	if p, err = r.DecodedPlan(); err != nil {
		t.Fatal(err)
	}
	long := conformance.Reread(t, r) // no body belongs to the last name
	long.Senders = append([]study.PartyID{"c", "d"}, long.Senders...)
	stranger := conformance.Reread(t, r)
	stranger.Senders[0] = "c"                                 // on the roster, and missing
	for _, x := range []*study.Release{&swapped, &stranger} { // a liar makes the result fit
		made, err := conformance.TaskOf(t, p,
			pool).Finish(study.Contributions{Contributions: 2, Bodies: all, Senders: x.Senders},
			nil)
		if err != nil {
			t.Fatal(err)
		}
		x.Result.Body = made.Body
	}
	for name, x := range map[string]struct {
		release study.Release
		claims  bool // hold
		own     bool
	}{"as it is": {r, true, true}, "swapped": {swapped, true, false},
		"a stranger": {stranger, false, true}, "names without numbers": {long, false, false}} {
		if bad := conformance.FalseClaims(verify.CheckClaims(x.release,
			pool)); (len(bad) == 0) != x.claims {
			t.Errorf("%s: claims: %q", name, bad)
		}
		for _, party := range []study.PartyID{"a", "b"} {
			if !slices.Contains(x.release.Senders, party) {
				continue
			}
			bad := conformance.FalseClaims(evidence.Party{Party: party,
				Upload: sent[party]}.CheckSent(x.release))
			if (len(bad) == 0) != x.own {
				t.Errorf("%s: at %s: %q", name, party, bad)
			}
		}
	}
}

// TestCuts: a number with cuts has the study's own edges, and other numbers have the pool's
// quantiles. The table counts each band. A plan whose edges differ from its cuts is refused.
func TestCuts(t *testing.T) {
	schema, _, pool, records := conformance.HospitalWithPool(t, 400)
	p := conformance.DescribePlan(schema, pool)
	p.KindTerms = conformance.EncodeTerms(describe.Terms{Bins: 4, PoolQuantiles: 4,
		Cuts: []describe.Cut{{Column: "age", Edges: []float64{40, 65}}}})
	if err := (describe.Kind{}).Tune(&p, pool); err != nil {
		t.Fatal(err)
	}
	if _, err := (describe.Kind{}).New(p, pool); err != nil {
		t.Fatal(err)
	}
	for _, c := range described.ExactTable(p, records).Columns {
		if c.EdgesGiven != (c.Column == "age") || c.EdgesGiven &&
			!slices.Equal(c.Edges[1:3], []float64{40, 65}) {
			t.Errorf("column %s has edges %v, bands %t", c.Column, c.Edges, c.EdgesGiven)
		}
	}
	var terms describe.Terms
	if err := p.DecodeTerms(&terms); err != nil {
		t.Fatal(err)
	}
	terms.Edges["age"] = []float64{40, 66}
	p.KindTerms = conformance.EncodeTerms(terms)
	if _, err := (describe.Kind{}).New(p, pool); !errors.Is(err, study.ErrPlan) {
		t.Errorf("edges that are not the cuts: %v", err)
	}
}
