package conformance_test

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/internal/testlevel"
	"caucus/learners"
	"caucus/privacy"
	"caucus/privacy/audit"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classify"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
	"caucus/study/labels"
	"caucus/study/ratio"
	"caucus/study/regress"
	"caucus/study/reweigh"
	"caucus/study/survival"
)

// clinic is a small world for audits and searches: a schema of two numbers and a categorical
// column, two or three classes, and a pool of a few rows.
type clinic struct {
	schema dataset.Schema
	pool   *auxdata.Pool
	plan   study.Plan
}

type visit struct{ label, a, b, ward, patient, set string }

func newClinic(t testing.TB, classes []string, poolRows int) clinic {
	t.Helper()
	return clinicOf(t, classes, poolRows, false)
}

// clinicOf makes a clinic. Its numbers may be missing if missing is true.
func clinicOf(t testing.TB, classes []string, poolRows int, missing bool) clinic {
	t.Helper()
	schema := dataset.Schema{
		Label: dataset.Label{Column: "label", Classes: classes},
		Features: []dataset.Feature{
			{Column: "a", Kind: dataset.Numeric, Max: 10, FlagMissing: missing}, {Column: "b", Kind: dataset.Numeric, Max: 1, FlagMissing: missing},
			{Column: "ward", Kind: dataset.Categorical, Levels: []string{"east", "west"}},
		},
		Patient: "patient", Party: "set",
	}
	c := clinic{schema: schema}
	rng := rand.New(rand.NewPCG(11, 12))
	var rows []visit
	for range poolRows {
		rows = append(rows, visit{"", strconv.Itoa(rng.IntN(11)),
			strconv.FormatFloat(rng.Float64(), 'f', 2, 64), []string{"east", "west",
				"north"}[rng.IntN(3)], "", ""})
	}
	pool, _, err := auxdata.New(schema, dataset.Identity(schema), c.table(t, rows))
	if err != nil {
		t.Fatal(err)
	}
	c.pool = pool
	c.plan = study.Plan{
		Name: "audit", Kind: "classify", Schema: schema, Map: dataset.Identity(schema), Pool: pool.Digest,
		Roster: []study.PartyID{"a", "b", "c"}, Records: 8, Unit: privacy.Party, Epsilon: 1, Delta: 0.01,
		Mechanism: "tally", Noise: study.NoiseCoordinator, KindTerms: conformance.EncodeTerms(classify.Terms{Shards: 1}), Minimum: 1, Seed: 1,
	}
	return c
}

func (c clinic) table(t testing.TB, rows []visit) *dataset.Table {
	t.Helper()
	var cells [][]string
	for _, r := range rows {
		cells = append(cells, []string{r.label, r.a, r.b, r.ward, r.patient, r.set})
	}
	table, err := dataset.NewTable([]string{"label", "a", "b", "ward", "patient", "set"}, cells)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func (c clinic) records(t testing.TB, rows []visit) *dataset.Records {
	t.Helper()
	r, _, err := c.schema.EncodeLabelled(c.table(t, rows))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (c clinic) encoded(t testing.TB, p study.Plan, rows []visit) *dataset.Records {
	t.Helper()
	r, _, err := p.Encode(p.Schema, c.table(t, rows))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Small plans of each kind.
func (c clinic) classify(mechanism string, u privacy.Unit, noise study.Noise,
	shards int) study.Plan {
	p := c.plan
	p.Mechanism, p.Unit, p.Noise = mechanism, u, noise
	conformance.SetShards(&p, shards)
	if mechanism == "moment" || mechanism == "output" {
		p.Delta = 0
	}
	return p
}

func (c clinic) reweigh(mechanism string, terms reweigh.Terms) study.Plan {
	p := c.plan
	p.Kind, p.Mechanism, p.Unit, p.Noise, p.Delta = "reweigh", mechanism, privacy.Record,
		study.NoiseSite, 0
	p.KindTerms = conformance.EncodeTerms(terms)
	return p
}

func (c clinic) ratio(features, sets, mechanism string) study.Plan {
	t := ratio.DefaultTerms()
	t.Features, t.Fourier, t.SetSize, t.Sets, t.MaxSets, t.Gamma = features, 4, 20, sets, 4, 1
	if sets == ratio.SetsMade {
		t.Skew = 0.6
	}
	p := c.plan
	p.Kind, p.Mechanism, p.Unit, p.Noise, p.KindTerms = "ratio", mechanism, privacy.Label,
		study.NoiseSite, conformance.EncodeTerms(t)
	if features == ratio.FeaturesNoisyEmbedding {
		p.Unit = privacy.Record
	}
	return p
}

func (c clinic) labels(mechanism string) study.Plan {
	t := labels.DefaultTerms()
	p := c.plan
	p.Kind, p.Mechanism, p.Unit, p.Noise, p.Delta, p.KindTerms = "labels", mechanism, privacy.Label,
		study.NoiseSite, 0, conformance.EncodeTerms(t)
	return p
}

func (c clinic) describe(mechanism string, noise study.Noise, terms describe.Terms) study.Plan {
	p := c.plan
	p.Kind, p.Mechanism, p.Unit, p.Noise, p.KindTerms = "describe", mechanism, privacy.Record,
		noise, conformance.EncodeTerms(terms)
	if mechanism == "laplace" {
		p.Delta = 0
	}
	return p
}

// survival counts times of column a until 8, of the label's last class, by ward.
func (c clinic) survival(mechanism string, noise study.Noise, perParty int64) study.Plan {
	p := c.plan
	classes := c.schema.Classes()
	p.Kind, p.Mechanism, p.Unit, p.Noise, p.Form = "survival", mechanism, privacy.Record, noise,
		study.FormCommitted
	p.KindTerms = conformance.EncodeTerms(survival.Terms{
		Time: "a", Event: survival.Event{Column: "label", Is: classes[len(classes)-1]}, By: "ward",
		Until: 8, Expected: .25, Bins: 4, PerParty: perParty,
	})
	if mechanism == "laplace" {
		p.Delta = 0
	}
	return p
}

// regress asks how column a goes with b and ward.
func (c clinic) regress(mechanism string, noise study.Noise, perParty int64) study.Plan {
	p := c.plan
	p.Kind, p.Mechanism, p.Unit, p.Noise, p.Form = "regress", mechanism, privacy.Record, noise,
		study.FormCommitted
	p.KindTerms = conformance.EncodeTerms(regress.Terms{
		Outcome: "a", Columns: []string{"b", "ward"}, Radius: 3, PerParty: perParty,
	})
	if mechanism == "laplace" {
		p.Delta = 0
	}
	return p
}

// evaluate judges a linear model on every column, for the last class.
func (c clinic) evaluate(mechanism string, noise study.Noise,
	change func(*evaluate.Terms)) study.Plan {
	classes := c.schema.Classes()
	t := evaluate.Terms{
		Model:   &evaluate.Model{Map: dataset.Identity(c.schema), Output: classifier.VoteShare},
		Classes: classes[len(classes)-1:], Thresholds: []float64{.4, .5, .6},
	}
	for j := range t.Model.Map.Dim() {
		row := make([]float64, learners.WeightColumns(len(classes)))
		for k := range row {
			row[k] = float64(k+1) * float64(j%3-1) * 4
		}
		t.Model.Weights = append(t.Model.Weights, row)
	}
	if change != nil {
		change(&t)
	}
	p := c.plan
	p.Kind, p.Mechanism, p.Unit, p.Noise, p.KindTerms = "evaluate", mechanism, privacy.Record,
		noise, conformance.EncodeTerms(t)
	if mechanism == "laplace" {
		p.Delta = 0
	}
	if err := planning.SetPool(&p, c.pool); err != nil {
		panic(err)
	}
	return p
}

// wholeParty judges at unit party, with three records per party.
func wholeParty(c clinic) study.Plan {
	c.plan.Pool = c.pool.Digest
	p := c.evaluate("laplace", study.NoiseCoordinator, nil)
	t := conformance.TermsIn[evaluate.Terms](p)
	t.PerParty = 3
	p.Unit, p.KindTerms = privacy.Party, conformance.EncodeTerms(t)
	return p
}

func (c clinic) inputs(r *dataset.Records, party int) study.Inputs {
	return study.NewInputs(r, []byte{byte(party)})
}

// asksOf returns the requests for parties' records: of the first party if sites add noise, else of
// the sum.
func (c clinic) asksOf(t testing.TB, p study.Plan, parties ...*dataset.Records) []study.Request {
	t.Helper()
	if err := kinds.Check(p); err != nil {
		t.Fatal(err)
	}
	task := conformance.TaskOf(t, p, c.pool)
	all, err := study.NewAccumulator(task)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range parties {
		d, err := task.Contribute(c.inputs(r, i))
		if err != nil {
			t.Fatalf("%s %s: %v", p.Kind, p.Mechanism, err)
		}
		if p.Noise == study.NoiseSite {
			return d.Requests
		}
		body, err := d.Body(nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := all.Add(body); err != nil {
			t.Fatal(err)
		}
	}
	asks, err := all.Sum.Requests(len(parties))
	if err != nil {
		t.Fatal(err)
	}
	return asks
}

// openAsk reads a private vector through a simulation without noise.
func openAsk(t testing.TB, a study.Request) []int64 {
	t.Helper()
	r, err := privacy.NewSimulation(1).Release(context.Background(), a.Output, a.Sensitive,
		privacy.Unperturbed{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Values
}

// trial holds the vectors of two data sets, their release terms, and the claimed budget.
type trial struct {
	mechanism privacy.Mechanism
	bound     privacy.Bound
	data      [2][]int64
	claim     privacy.Budget
}

func trialOf(t testing.TB, first, second study.Request) trial {
	t.Helper()
	return trialOn(t, first, openAsk(t, first), openAsk(t, second))
}

// trialOn audits vectors that a mutant made, under the terms of an honest request. For a cost in ρ
// it tests ε at δ = 0.01, which samples can detect.
func trialOn(t testing.TB, a study.Request, first, second []int64) trial {
	t.Helper()
	b := a.Sensitive.Bound()
	cost, err := privacy.CostOf(a.Mechanism, b)
	if err != nil || cost.Delta != nil {
		t.Fatalf("%s costs %s (%v)", a.Mechanism.Name(), cost, err)
	}
	claim := privacy.Budget{Epsilon: privacy.EpsilonAt(cost, 0)}
	if cost.Pure == nil {
		rho, _ := cost.Rho.Float64()
		claim = privacy.Budget{Epsilon: privacy.EpsilonOf(rho, 0.01), Delta: 0.01}
	}
	return trial{a.Mechanism, b, [2][]int64{first, second}, claim}
}

// draw releases a hundred copies of a vector at a time through ledgers: the noise of single
// numbers, runs and blocks is independent (privacy.TestDrawIsTrials).
func (r trial) draw(t testing.TB, ledger func() *privacy.Ledger) audit.Draw {
	t.Helper()
	m, b, n, copies := r.mechanism, r.bound, len(r.data[0]), 100
	if k, ok := m.(privacy.KNorm); ok {
		if int64(n)%k.Blocks != 0 { // runs of two lengths, which copies would change
			copies = 1
		}
		k.Blocks *= int64(copies)
		m = k
	}
	if b.Weight != nil {
		b.Weight = slices.Repeat(b.Weight, copies)
	}
	b.Block = cmp.Or(b.Block, n)
	var left [2][]int64
	return audit.IntegerDraw(func(side int) []int64 {
		if len(left[side]) == 0 {
			s, err := privacy.NewSensitive(slices.Repeat(r.data[side], copies), b)
			if err != nil {
				t.Fatal(err)
			}
			p, err := ledger().Release(context.Background(), "audit", s, m)
			if err != nil {
				t.Fatal(err)
			}
			left[side] = p.Values
		}
		answer := left[side][:n]
		left[side] = left[side][n:]
		return answer
	})
}

func opened() *privacy.Ledger {
	l, err := privacy.Open(privacy.NewMemoryJournal(), privacy.Config{})
	if err != nil {
		panic(err)
	}
	return l
}

func auditOf(t testing.TB, name string, claim privacy.Budget, samples int,
	s audit.Draw) audit.LowerBound {
	t.Helper()
	a := audit.Default()
	a.Samples, a.Delta, a.FalseAlarm = samples, claim.Delta, 5e-13
	f, err := a.Run(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%-44s claims %.3f at δ = %.2f, shows %.3f by %s", name, claim.Epsilon, claim.Delta,
		f.Epsilon, f.Event)
	return f
}

// alike makes n equal visits, each of another patient unless v names one.
func alike(n int, v visit) []visit {
	out := make([]visit, n)
	for i := range out {
		out[i] = v
		if v.patient == "" {
			out[i].patient = "p" + strconv.Itoa(i)
		}
	}
	return out
}

var (
	well = visit{label: "no", a: "0", b: "0", ward: "east", set: "s1"}
	ill  = visit{label: "yes", a: "10", b: "1", ward: "west", set: "s1"}
)

// replaced copies the visits and replaces the first.
func replaced(rows []visit, by visit) []visit {
	out := append([]visit{by}, rows[1:]...)
	if by.patient == "" {
		out[0].patient = rows[0].patient
	}
	return out
}

// TestAuditStudies: releases of adversarial neighbours differ no more than the plan claims, for
// every kind. False alarms: 5e-13 for each of 17.
func TestAuditStudies(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 6)
	c.plan.Epsilon = 3 // a few thousand samples detect more at ε = 3 than at 1
	few := alike(3, well)
	relabelled := replaced(few, visit{label: "yes", a: "0", b: "0", ward: "east", set: "s1"})
	patient := visit{label: "no", a: "0", b: "0", ward: "east", set: "s1", patient: "one"}
	replacedPatient := visit{label: "yes", a: "10", b: "1", ward: "west", set: "s1", patient: "one"}
	for name, s := range map[string]struct {
		plan  study.Plan
		pairs [2][]visit
	}{
		"classify tally, a party":           {c.classify("tally", privacy.Party, study.NoiseCoordinator, 1), [2][]visit{alike(8, well), alike(8, ill)}},
		"classify tally, a patient's shard": {c.classify("tally", privacy.Record, study.NoiseSite, 8), [2][]visit{alike(40, patient), alike(40, replacedPatient)}},
		"classify moment, a party":          {c.classify("moment", privacy.Party, study.NoiseCoordinator, 1), [2][]visit{alike(8, well), alike(8, ill)}},
		"classify cross, a record":          {c.classify("cross", privacy.Record, study.NoiseSite, 1), [2][]visit{few, replaced(few, ill)}},
		"classify means, a party":           {c.classify("means", privacy.Party, study.NoiseCoordinator, 1), [2][]visit{few, alike(3, relabelled[0])}},
		"classify output, a party":          {c.classify("output", privacy.Party, study.NoiseCoordinator, 1), [2][]visit{alike(8, well), alike(8, ill)}},
		"ratio laplace, a label":            {c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace"), [2][]visit{few, relabelled}},
		"ratio noisy embedding, a record":   {c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsParty, "gaussian-zcdp"), [2][]visit{few, replaced(few, ill)}},
		"ratio made sets, a record":         {c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsMade, "gaussian-zcdp"), [2][]visit{few, replaced(few, ill)}},
		"reweigh entropy, a record":         {c.reweigh("entropy", reweigh.Terms{}), [2][]visit{few, replaced(few, ill)}},
		"reweigh logistic, a record":        {c.reweigh("logistic", reweigh.Terms{}), [2][]visit{few, replaced(few, ill)}},
		"describe gaussian, a record":       {c.describe("gaussian", study.NoiseSite, describe.DefaultTerms()), [2][]visit{few, replaced(few, ill)}},
		"describe laplace, a record":        {c.describe("laplace", study.NoiseCoordinator, describe.DefaultTerms()), [2][]visit{few, replaced(few, ill)}},
		"evaluate laplace, a record":        {c.evaluate("laplace", study.NoiseSite, nil), [2][]visit{few, replaced(few, ill)}},
		"evaluate gaussian, a record": {c.evaluate("gaussian", study.NoiseCoordinator,
			func(t *evaluate.Terms) {
				t.By = []evaluate.Grouping{{Column: "ward"}, {Column: "a", Edges: []float64{5}}}
			}), [2][]visit{few, replaced(few, ill)}},
		"evaluate laplace, a party": {wholeParty(c), [2][]visit{alike(3, well), alike(3, ill)}},
		"labels rr, a label":        {c.labels("rr"), [2][]visit{few, relabelled}},
	} {
		rest := c.records(t, few)
		trial := trialOf(t, c.asksOf(t, s.plan, c.records(t, s.pairs[0]), rest)[0],
			c.asksOf(t, s.plan, c.records(t, s.pairs[1]), rest)[0])
		if f := auditOf(t, name, trial.claim, 3000,
			trial.draw(t, opened)); f.Exceeds(trial.claim.Epsilon) {
			t.Errorf("%s: ε is at least %.3f by %s, the plan says %.3f", name, f.Epsilon, f.Event, trial.claim.Epsilon)
		}
	}
}

// TestAuditStudyMutants: the same audit finds mistakes between the records and the released sum.
// Draws are seeded, so the test never misses a mutant by chance.
func TestAuditStudyMutants(t *testing.T) {
	seed := uint64(6)
	seeded := func() *privacy.Ledger {
		seed++
		return privacy.NewSimulation(seed)
	}
	c := newClinic(t, []string{"no", "yes"}, 6)
	caught := func(name string, claim privacy.Budget, samples int, s audit.Draw) {
		if f := auditOf(t, name, claim, samples, s); !f.Exceeds(claim.Epsilon) {
			t.Errorf("%s is not found: claims %.3f, shows %.3f by %s", name, claim.Epsilon,
				f.Epsilon, f.Event)
		}
	}
	few := alike(3, well)

	// The mutant to catch: records are sharded by row and not by patient, so that one patient's
	// forty visits fall into all eight shards.
	p := c.classify("tally", privacy.Record, study.NoiseSite, 8)
	by := func(v visit) study.Request {
		v.patient = "one"
		r := c.records(t, alike(40, v))
		r.Patient = nil // every row counts as another patient
		return c.asksOf(t, p, r)[0]
	}
	trial := trialOf(t, by(well), by(ill))
	caught("shards assigned by row", trial.claim, 6000, trial.draw(t, seeded))

	// Mutant: the first record is counted in a second set too.
	p = c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace")
	rows := append(alike(4, well),
		visit{label: "no", a: "1", b: "0", ward: "east", patient: "q", set: "s2"})
	twice := func(label string) (study.Request, []int64) {
		v := rows[0]
		v.label = label
		r := c.records(t, replaced(rows, v))
		sets, classes := ratio.DealSets(p, c.inputs(r, 0))
		sets[1] = append(sets[1], 0)
		counts := make([]int64, 2*len(sets))
		for k, set := range sets {
			for _, i := range set {
				counts[2*k+classes[i]]++
			}
		}
		return c.asksOf(t, p, r)[0], counts
	}
	ask, first := twice("no")
	_, second := twice("yes")
	trial = trialOn(t, ask, first, second)
	caught("a label counted in two sets", trial.claim, 20_000, trial.draw(t, seeded))

	// Mutant: schema, map and sum all forget to clamp. If only the schema forgets, map and sum keep
	// the bound.
	p = c.classify("cross", privacy.Record, study.NoiseSite, 1)
	beyond := func(a float64) *dataset.Records {
		r := c.records(t, few)
		r.X.Set(0, 0, a)
		return r
	}
	unclamped := func(r *dataset.Records) []int64 {
		n, d := r.X.Dims()
		out := make([]int64, 2*(d+1))
		for i := range n {
			for j, v := range r.X.RawRowView(i) { // rows within the schema have norm √3 at most
				out[r.Y[i]*(d+1)+j] += int64(v / math.Sqrt(6) * (1 << 20))
			}
		}
		return out
	}
	ask = c.asksOf(t, p, beyond(0))[0]
	trial = trialOn(t, ask, unclamped(beyond(0)), unclamped(beyond(40)))
	caught("clamping forgotten", trial.claim, 6000, trial.draw(t, seeded))
	trial = trialOf(t, ask, c.asksOf(t, p, beyond(40))[0])
	if f := auditOf(t, "clamping forgotten by the schema alone", trial.claim, 6000,
		trial.draw(t, seeded)); f.Exceeds(trial.claim.Epsilon) {
		t.Errorf("a row beyond the schema: ε is at least %.3f, the plan says %.3f", f.Epsilon, trial.claim.Epsilon)
	}

	// Mutant: the release counts voters instead of parties, and a party whose learner has only one
	// class does not vote.
	p = c.classify("tally", privacy.Party, study.NoiseCoordinator, 1)
	voters := func(first []visit) (study.Request, float64) {
		all := []*dataset.Records{c.records(t, first),
			c.records(t, append(alike(4, well), alike(4, ill)...)), c.records(t,
				append(alike(4, well), alike(4, ill)...))}
		var voting []*dataset.Records
		for _, r := range all {
			classes := map[int]bool{}
			for _, y := range r.Y {
				classes[y] = true
			}
			if len(classes) > 1 {
				voting = append(voting, r)
			}
		}
		return c.asksOf(t, p, voting...)[0], float64(len(voting))
	}
	one, m1 := voters(alike(8, well))
	both, m2 := voters(append(alike(4, well), alike(4, ill)...))
	trial = trialOf(t, one, both)
	draw := trial.draw(t, seeded)
	caught("M counted after the noise", trial.claim, 2000, func(n int) []float64 {
		return append(draw(n), [2]float64{m1, m2}[n])
	})

	// Mutant: a mean is sent without cutting it to the common length.
	uncut := func(label string) (study.Request, []int64) {
		v := well
		v.label = label
		ask := c.asksOf(t, c.classify("means", privacy.Party, study.NoiseCoordinator, 1),
			c.records(t, alike(8, v)))[0]
		long := openAsk(t, ask)
		for j := range long {
			long[j] *= 4
		}
		return ask, long
	}
	ask, first = uncut("no")
	_, second = uncut("yes")
	trial = trialOn(t, ask, first, second)
	caught("a mean not cut", trial.claim, 6000, trial.draw(t, seeded))

	// Mutant: the bound of one column, for counts of all columns.
	p = c.describe("laplace", study.NoiseSite, describe.DefaultTerms())
	one, both = c.asksOf(t, p, c.records(t, few))[0], c.asksOf(t, p,
		c.records(t, replaced(few, ill)))[0]
	narrow := one.Sensitive.Bound()
	narrow.L1, narrow.L2sq, narrow.Cells = 2, 2, 2
	quiet, err := privacy.CalibrateLaplace(narrow, p.Epsilon)
	if err != nil {
		t.Fatal(err)
	}
	few1, err := privacy.NewSensitive(openAsk(t, one), narrow)
	if err != nil {
		t.Fatal(err)
	}
	trial = trialOf(t, study.Request{Output: "counts", Sensitive: few1, Mechanism: quiet}, both)
	caught("the bound of one column for all", trial.claim, 3000, trial.draw(t, seeded))

	// Mutant: the bound of one table, for counts of two.
	p = c.evaluate("laplace", study.NoiseSite, func(t *evaluate.Terms) {
		t.By = []evaluate.Grouping{{Column: "ward"}, {Column: "a", Edges: []float64{5}}}
	})
	one, both = c.asksOf(t, p, c.records(t, few))[0], c.asksOf(t, p,
		c.records(t, replaced(few, ill)))[0]
	if quiet, err = privacy.CalibrateLaplace(narrow, p.Epsilon); err != nil {
		t.Fatal(err)
	}
	if few1, err = privacy.NewSensitive(openAsk(t, one), narrow); err != nil {
		t.Fatal(err)
	}
	trial = trialOf(t, study.Request{Output: "histograms", Sensitive: few1, Mechanism: quiet}, both)
	caught("the bound of one table for two", trial.claim, 20_000, trial.draw(t, seeded))

	// Mutant: the bound of one row's vote, for a ballot on six rows.
	p = c.classify("tally", privacy.Party, study.NoiseCoordinator, 1)
	a, b := c.asksOf(t, p, c.records(t, alike(8, well)))[0], c.asksOf(t, p,
		c.records(t, alike(8, ill)))[0]
	bound := a.Sensitive.Bound()
	bound.L2sq /= int64(c.pool.Rows())
	m, err := privacy.CalibrateGaussian(bound, p.Budget())
	if err != nil {
		t.Fatal(err)
	}
	s, err := privacy.NewSensitive(openAsk(t, a), bound)
	if err != nil {
		t.Fatal(err)
	}
	trial = trialOf(t, study.Request{Output: "tally", Sensitive: s, Mechanism: m}, b)
	caught("the bound of one row for a whole ballot", trial.claim, 20_000, trial.draw(t, seeded))
}

// TestSumsAreMadeRecordByRecord: a record adds the same number whatever the other records, to the
// last bit, as the numeric model of the sums' proof notes says. Floating-point sums over rows would
// fail.
func TestSumsAreMadeRecordByRecord(t *testing.T) {
	c := newClinic(t, []string{"no", "yes", "maybe"}, 6)
	rng := rand.New(rand.NewPCG(21, 22))
	var rows []visit
	for i := range testlevel.N(t, 150, 700) {
		rows = append(rows, visit{[]string{"no", "yes", "maybe", "?"}[rng.IntN(4)],
			strconv.FormatFloat(12*rng.Float64()-1, 'g', -1, 64), strconv.FormatFloat(rng.Float64(),
				'g', -1, 64), []string{"east", "west", ""}[rng.IntN(3)], strconv.Itoa(i), "s1"})
	}
	all := c.records(t, rows)
	projected, err := dataset.FitPCA(all.X, 3, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]study.Plan{
		"cross": c.classify("cross", privacy.Record, study.NoiseSite, 1), "entropy": c.reweigh("entropy", reweigh.Terms{Bins: 4, Pairs: [][2]string{{"a", "ward"}}}),
		"projected cross": func() study.Plan {
			p := c.classify("cross", privacy.Record, study.NoiseSite, 1)
			p.Map = projected
			return p
		}(),
		"describe":        c.describe("gaussian", study.NoiseSite, describe.DefaultTerms()),
		"evaluate":        c.evaluate("laplace", study.NoiseSite, nil),
		"noisy embedding": c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsParty, "gaussian-zcdp"),
	} {
		here := c
		if p.Map.Kind != dataset.IdentityMap {
			here.pool = auxdata.NewSimulated(all.X, projected)
			p.Pool = here.pool.Digest
		}
		whole := openAsk(t, here.asksOf(t, p, all)[0])
		// unknown labels are drawn by place: compare only numbers independent of place
		if p.Kind == "ratio" {
			clear(whole[:3])
		}
		sum := make([]int64, len(whole))
		for i := range all.Len() {
			one := openAsk(t, here.asksOf(t, p, all.Select([]int{i}))[0])
			if p.Kind == "ratio" {
				clear(one[:3])
			}
			for j, v := range one {
				sum[j] += v
			}
		}
		for j := range whole {
			if whole[j] != sum[j] {
				t.Errorf("%s: cell %d of all records is %d, of one after the other %d", name, j, whole[j], sum[j])
				break
			}
		}
	}
}

func distance(a, b []int64, bound privacy.Bound) (l1, l2sq float64) {
	for j := range a {
		d := float64(a[j] - b[j])
		w := 1.
		if bound.Weight != nil {
			w = float64(bound.Weight[j])
		}
		l1 += math.Abs(d)
		l2sq += w * d * d
	}
	return l1, l2sq
}
