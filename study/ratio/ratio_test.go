package ratio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/ratio"
	"caucus/analyst/simulate"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/kinds"
	"caucus/study/kinds/planning"
	"caucus/study/life"
	studyratio "caucus/study/ratio"
	"caucus/study/ratio/estimated"
)

func TestRatioCheck(t *testing.T) {
	schema, pool, m, _ := conformance.Hospital(t, 400)
	for name, c := range map[string]struct {
		features string
		change   func(*study.Plan)
		says     string
	}{
		"no terms":                {studyratio.FeaturesClear, func(p *study.Plan) { p.KindTerms = nil }, "what the sets"},
		"unknown mechanism":       {studyratio.FeaturesClear, func(p *study.Plan) { p.Mechanism = "tally" }, "laplace"},
		"the published Dirichlet": {studyratio.FeaturesClear, func(p *study.Plan) { p.Mechanism = "dirichlet-paper" }, "only be simulated"},
		"the published Laplace":   {studyratio.FeaturesClear, func(p *study.Plan) { p.Mechanism = "laplace-paper" }, "only be simulated"},
		"no noise":                {studyratio.FeaturesClear, func(p *study.Plan) { p.Mechanism = "none" }, "only be simulated"},
		"noise elsewhere":         {studyratio.FeaturesClear, func(p *study.Plan) { p.Noise = study.NoiseCoordinator }, "own ledger"},
		"clear at unit record":    {studyratio.FeaturesClear, func(p *study.Plan) { p.Unit = privacy.Record }, "labels only"},
		"embedding at record":     {studyratio.FeaturesEmbedding, func(p *study.Plan) { p.Unit = privacy.Record }, "labels only"},
		"noisy at unit label":     {studyratio.FeaturesNoisyEmbedding, func(p *study.Plan) { p.Unit = privacy.Label }, "unit record"},
		"noisy with Laplace":      {studyratio.FeaturesNoisyEmbedding, func(p *study.Plan) { p.Mechanism = "laplace" }, "gaussian-zcdp"},
		"made sets in clear": {studyratio.FeaturesEmbedding, func(p *study.Plan) {
			*p = conformance.WithRatioTerms(*p, func(t *studyratio.Terms) {
				t.Sets, t.Skew = studyratio.SetsMade, .6
			})
		}, "gives labels away"},
		"no column": {studyratio.FeaturesClear, func(p *study.Plan) {
			p.Schema.Party = ""
			*p = conformance.WithRatioTerms(*p, func(t *studyratio.Terms) {
				t.Sets = studyratio.SetsColumn
			})
		}, "party column"},
		"no width":      {studyratio.FeaturesEmbedding, func(p *study.Plan) { *p = conformance.WithRatioTerms(*p, func(t *studyratio.Terms) { t.Gamma = 0 }) }, "width"},
		"rows":          {studyratio.FeaturesClear, func(p *study.Plan) { *p = conformance.WithRatioTerms(*p, func(t *studyratio.Terms) { t.Fourier = 0 }) }, "all readers of the release would have them"},
		"odd embedding": {studyratio.FeaturesEmbedding, func(p *study.Plan) { *p = conformance.WithRatioTerms(*p, func(t *studyratio.Terms) { t.Fourier = 41 }) }, "even"},
		"too many": {studyratio.FeaturesEmbedding, func(p *study.Plan) {
			*p = conformance.WithRatioTerms(*p, func(t *studyratio.Terms) {
				t.Fourier, t.MaxSets = 1<<15, 4096
			})
		}, "too many"},
		"estimator": {studyratio.FeaturesEmbedding, func(p *study.Plan) {
			*p = conformance.WithRatioTerms(*p, func(t *studyratio.Terms) { t.Estimator = "guess" })
		}, "estimator"},
		"no delta": {studyratio.FeaturesClear, func(p *study.Plan) { p.Mechanism, p.Delta = "gaussian", 0 }, "delta"},
		"features": {"opaque", func(*study.Plan) {}, "features"},
		"skew of 2": {studyratio.FeaturesNoisyEmbedding, func(p *study.Plan) {
			*p = conformance.WithRatioTerms(*p, func(t *studyratio.Terms) {
				t.Sets, t.Skew = studyratio.SetsMade, 2
			})
		}, "skew"},
		"no sets": {studyratio.FeaturesClear, func(p *study.Plan) { *p = conformance.WithRatioTerms(*p, func(t *studyratio.Terms) { t.MaxSets = 0 }) }, "max_sets"},
		"endless record": {studyratio.FeaturesClear, func(p *study.Plan) {
			*p = conformance.WithRatioTerms(*p, func(t *studyratio.Terms) {
				t.MaxRecords = 1 << 40
			})
		}, "max_records"},
	} {
		p := conformance.RatioPlan(schema, pool, m, c.features)
		c.change(&p)
		if err := kinds.Check(p); !errors.Is(err, study.ErrPlan) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: have %v, want ErrPlan saying %q", name, err, c.says)
		}
	}
	for _, features := range []string{studyratio.FeaturesClear, studyratio.FeaturesEmbedding,
		studyratio.FeaturesNoisyEmbedding} {
		if err := kinds.Check(conformance.RatioPlan(schema, pool, m, features)); err != nil {
			t.Errorf("a good plan with features %s: %v", features, err)
		}
	}
}

// TestRatioBoundHolds: replacing a label, or a record by the most different one, moves the private
// vector by at most the bound, for every form of sets. Sizes and membership do not depend on
// labels.
func TestRatioBoundHolds(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 400)
	records = records.Select([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
		19})
	records.Party = make([]string, records.Len())
	for i := range records.Party {
		records.Party[i] = fmt.Sprint("ward ", i%3)
	}
	key := []byte("key")
	schema.Party = "ward"
	for _, sets := range []string{studyratio.SetsParty, studyratio.SetsColumn,
		studyratio.SetsMade} {
		for _, features := range []string{studyratio.FeaturesClear,
			studyratio.FeaturesNoisyEmbedding} {
			if sets == studyratio.SetsMade && features == studyratio.FeaturesClear {
				continue
			}
			p := conformance.WithRatioTerms(conformance.RatioPlan(schema, pool, m, features),
				func(t *studyratio.Terms) {
					t.Sets, t.Skew = sets, .6
				})
			if err := kinds.Check(p); err != nil {
				t.Fatal(err)
			}
			reserved, err := conformance.TaskOf(t, p, pool).Reservations(records.Len())
			if err != nil {
				t.Fatal(err)
			}
			before := vector(t, p, pool, study.NewInputs(records, key))
			terms := conformance.TermsIn[studyratio.Terms](p)
			bound, block := reserved[0].Terms.Bound, len(schema.Label.Classes)
			if features == studyratio.FeaturesNoisyEmbedding {
				block += terms.Fourier
			}
			if err := bound.Validate(len(before)); err != nil {
				t.Fatal(err)
			}
			worst := 0.
			for i := range records.Len() {
				other := records.Select(conformance.FirstRows(records.Len()))
				for y := -1; y < len(schema.Label.Classes); y++ {
					other.Y[i] = y
					if features == studyratio.FeaturesNoisyEmbedding { // a different record
						for j := range other.X.RawRowView(i) {
							other.X.Set(i, j, 1-records.X.At(i, j))
						}
					}
					after := vector(t, p, pool, study.NewInputs(other, key))
					l1, l2, cells, blocks := int64(0), 0., 0, map[int]int64{}
					for j := range before {
						move := after[j] - before[j]
						if move == 0 {
							continue
						}
						w := 1.
						if bound.Weight != nil {
							w = float64(bound.Weight[j])
						}
						l1, l2, cells = l1+max(move,
							-move), l2+w*float64(move)*float64(move), cells+1
						blocks[j/block] += move
					}
					worst = max(worst, l2/float64(bound.L2sq))
					if l2 > float64(bound.L2sq) {
						t.Errorf("%s, %s: record %d moves the vector by %g, bound %d", sets, features, i, l2, bound.L2sq)
					}
					if features != studyratio.FeaturesClear {
						continue
					}
					if l1 > bound.L1 || cells > bound.Cells || len(blocks) > 1 {
						t.Errorf("%s: label %d moves %d in %d cells of %d sets", sets, i, l1, cells,
							len(blocks))
					}
					for _, sum := range blocks {
						if sum != 0 {
							t.Errorf("%s: label %d changes a set's size by %d", sets, i, sum)
						}
					}
				}
			}
			if worst < .1 {
				t.Errorf("%s, %s: the worst move is %.3f of the bound: the test does not test it", sets, features, worst)
			}
		}
	}
}

// TestRatioDraftNeverFails: any records give a valid contribution of the same form.
func TestRatioDraftNeverFails(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 400)
	schema.Party = "ward"
	wild := records.Select([]int{0, 1, 2})
	for j := range wild.X.RawRowView(0) {
		wild.X.Set(0, j, math.NaN())
		wild.X.Set(1, j, math.Inf(1))
	}
	unlabelled := records.Select([]int{0, 1, 2, 3})
	for i := range unlabelled.Y {
		unlabelled.Y[i] = -1
	}
	many := records.Select(conformance.FirstRows(90))
	many.Party = make([]string, 90)
	for i := range many.Party {
		many.Party[i] = fmt.Sprint(i)
	}
	for name, r := range map[string]*dataset.Records{
		"none": {X: &mat.Dense{}}, "one": records.Select([]int{0}), "wild": wild, "unlabelled": unlabelled, "many sets": many,
	} {
		for _, sets := range []string{studyratio.SetsParty, studyratio.SetsColumn,
			studyratio.SetsMade} {
			for _, features := range []string{studyratio.FeaturesClear,
				studyratio.FeaturesEmbedding, studyratio.FeaturesNoisyEmbedding} {
				if sets == studyratio.SetsMade && features != studyratio.FeaturesNoisyEmbedding {
					continue
				}
				p := conformance.WithRatioTerms(conformance.RatioPlan(schema, pool, m, features),
					func(t *studyratio.Terms) {
						t.Sets, t.Skew, t.MaxSets = sets, .6, 5
					})
				body, sum := contribute(t, p, pool, study.NewInputs(r, []byte("k")))
				if err := sum.Check(body); err != nil {
					t.Errorf("%s, %s, %s: %v", name, sets, features, err)
				}
				if most := conformance.TaskOf(t, p, pool).MaxBody(); len(body) > most {
					t.Errorf("%s, %s, %s: %d bytes, at most %d", name, sets, features, len(body),
						most)
				}
			}
		}
	}
}

func contribute(t testing.TB, p study.Plan, pool *auxdata.Pool, in study.Inputs) ([]byte,
	study.Checker) {
	t.Helper()
	canonical, err := p.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if back, err := kinds.ParsePlan(canonical); err != nil || back.KindTerms == nil {
		t.Fatal("the plan does not read back: ", err)
	}
	body, r, _ := conformance.SettleBody(t, p, pool, in, privacy.Config{})
	charges, err := conformance.TaskOf(t, p, pool).Charges(0)
	if err != nil {
		t.Fatal(err)
	}
	if c := r[0].Cost; len(charges) != 1 || c.Rho.Cmp(charges[0].Cost.Rho) != 0 ||
		c.Unit != charges[0].Cost.Unit {
		t.Fatalf("declared %+v, spent %+v", charges, c)
	}
	checker, err := study.NewChecker(conformance.TaskOf(t, p, pool))
	if err != nil {
		t.Fatal(err)
	}
	return body, checker
}

// skewed deals records to six parties with different shares of class 1.
func skewed(records *dataset.Records, size int) []*dataset.Records {
	rng := rand.New(rand.NewPCG(3, 4))
	var of [2][]int
	for _, i := range rng.Perm(records.Len()) {
		if y := records.Y[i]; y >= 0 {
			of[y] = append(of[y], i)
		}
	}
	var out []*dataset.Records
	for i := range 6 {
		ones := size * 3 / 20
		if i%2 == 1 {
			ones = size * 7 / 10
		}
		rows := slices.Concat(of[1][:ones], of[0][:size-ones])
		of[1], of[0] = of[1][ones:], of[0][size-ones:]
		out = append(out, records.Select(rows))
	}
	return out
}

// TestRatioThroughRealLedgers: six sites, real noise, the same bodies in any order of arrival. The
// release, read back from JSON, estimates another file's ratios.
func TestRatioThroughRealLedgers(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 6000)
	if len(schema.Label.Classes) != 2 {
		t.Fatal("the test deals two classes")
	}
	parties := skewed(records, 400)
	for _, features := range []string{studyratio.FeaturesClear, studyratio.FeaturesEmbedding,
		studyratio.FeaturesNoisyEmbedding} {
		p := conformance.RatioPlan(schema, pool, m, features)
		if features == studyratio.FeaturesClear {
			p = conformance.WithRatioTerms(p, func(t *studyratio.Terms) { t.Gamma = 0 })
		}
		canonical, _ := p.Canonical()
		s := life.New(p, study.HashOf(canonical))
		s.Step(life.StudyOpened{})
		var bodies [][]byte
		gathered := func() *study.Accumulator {
			all, err := study.NewAccumulator(conformance.TaskOf(t, p, pool))
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		forth, back := gathered(), gathered()
		for i, r := range parties {
			body, _ := contribute(t, p, pool, study.NewInputs(r, []byte{byte(i)}))
			bodies = append(bodies, body)
			if err := simulate.ReceiveContribution(s, forth, p.Roster[i], body); err != nil {
				t.Fatal(err)
			}
		}
		for i := range bodies {
			if err := back.Add(bodies[len(bodies)-1-i]); err != nil {
				t.Fatal(err)
			}
		}
		a, _ := forth.Contributions().MarshalBinary()
		if b, _ := back.Contributions().MarshalBinary(); !bytes.Equal(a, b) {
			t.Errorf("%s: the order of arrival changes the bodies", features)
		}
		s.Step(life.SumDone{Contributions: 6})
		release, err := life.Conclude(context.Background(), s, conformance.TaskOf(t, p, pool),
			forth.Contributions(), nil)
		if err != nil {
			t.Fatal(err)
		}
		release.Plan = canonical
		text, err := json.Marshal(release)
		if err != nil {
			t.Fatal(err)
		}
		var again study.Release
		if err := json.Unmarshal(text, &again); err != nil {
			t.Fatal(err)
		}
		target := skewed(records, 300)[1] // 0.7 of class 1
		e, err := estimated.Estimate(again, target)
		if err != nil {
			t.Fatal(err)
		}
		// Sampling moves the first two by about .05, label noise by less. 400 noisy records per set
		// say little; TestRatioSimulation has more.
		limit := .3
		if features == studyratio.FeaturesNoisyEmbedding {
			limit = .7
		}
		t.Logf("%s: share %.3f in [%.3f, %.3f], truth .7, training %.3f; %d bytes", features, e.Shares[1], e.Low[1], e.High[1], conformance.BodyOf[estimated.Result](t, again.Result).TrainingShares[1], len(bodies[0]))
		if math.Abs(e.Shares[1]-.7) > limit {
			t.Errorf("%s: share %.3f, want .7 within %.2f", features, e.Shares[1], limit)
		}
		if _, err := estimated.Estimate(again, target.Select(nil)); err == nil ||
			!strings.Contains(err.Error(), "no records") {
			t.Errorf("an empty target: %v", err)
		}
	}
}

// TestRatioBodyRefusals: a truncated, lengthened or changed body, or one of another plan or other
// terms, is refused.
func TestRatioBodyRefusals(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 400)
	in := study.NewInputs(records.Select(conformance.FirstRows(30)), []byte("k"))
	for _, features := range []string{studyratio.FeaturesClear, studyratio.FeaturesEmbedding,
		studyratio.FeaturesNoisyEmbedding} {
		p := conformance.RatioPlan(schema, pool, m, features)
		body, sum := contribute(t, p, pool, in)
		for n := range body {
			if err := sum.Check(body[:n]); !errors.Is(err, study.ErrContribution) {
				t.Fatalf("%s: cut to %d bytes: %v", features, n, err)
			}
		}
		if err := sum.Check(append(slices.Clone(body), 0)); !errors.Is(err, study.ErrContribution) {
			t.Errorf("%s: a byte more: %v", features, err)
		}
		other := p
		other.Seed++
		_, others := contribute(t, other, pool, in)
		if err := others.Check(body); !errors.Is(err, study.ErrContribution) {
			t.Errorf("%s: for another plan: %v", features, err)
		}
		if err := sum.Check(nil); !errors.Is(err, study.ErrContribution) {
			t.Errorf("%s: no body: %v", features, err)
		}
	}
	// An embedding beyond the largest sum of its rows.
	p := conformance.RatioPlan(schema, pool, m, studyratio.FeaturesEmbedding)
	body, sum := contribute(t, p, pool, in)
	forged := append(make([]byte, 4), body[4:]...) // a set without records
	if err := sum.Check(forged); !errors.Is(err, study.ErrContribution) ||
		!strings.Contains(err.Error(), "possible") {
		t.Errorf("an embedding of no rows: %v", err)
	}
}

// TestRatioRefusalsCarryNumbers: if sets support no estimate, the release states the reason and the
// quantity that caused it. Nothing published earlier depends on the data.
func TestRatioRefusalsCarryNumbers(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 6000)
	deal := skewed(records, 200)
	allZero := func() *dataset.Records {
		var rows []int
		for i, y := range records.Y {
			if y == 0 && len(rows) < 200 {
				rows = append(rows, i)
			}
		}
		return records.Select(rows)
	}()
	for name, c := range map[string]struct {
		parties []*dataset.Records
		reason  ratio.Reason
		number  float64
	}{
		"one set":           {deal[:1], ratio.TooFewSets, 1},
		"alike":             {[]*dataset.Records{deal[0], deal[0], deal[0]}, ratio.IllPosed, -1},
		"a class nowhere":   {[]*dataset.Records{allZero, allZero}, ratio.ClassAbsent, 0},
		"tiny sets":         {[]*dataset.Records{deal[0].Select([]int{0}), deal[1].Select([]int{1})}, ratio.TooFewSets, 0},
		"no records at all": {[]*dataset.Records{{X: &mat.Dense{}}, {X: &mat.Dense{}}}, ratio.TooFewSets, 0},
	} {
		p := conformance.RatioPlan(schema, pool, m, studyratio.FeaturesEmbedding)
		p.Mechanism, p.Simulated, p.Roster, p.Minimum = "none", true, nil, 1
		for i := range c.parties {
			p.Roster = append(p.Roster, study.PartyID(fmt.Sprint(i)))
		}
		var parties []study.Inputs
		for i, r := range c.parties {
			parties = append(parties, study.NewInputs(r, []byte{byte(i)}))
		}
		release, err := simulate.RunPlan(t.Context(), p, pool, parties)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := conformance.BodyOf[estimated.Result](t, release.Result).Refusal
		if got == nil || got.Reason != c.reason || (c.number >= 0 && got.Value != c.number) ||
			got.Advice == "" {
			t.Errorf("%s: %+v, want %s (%g)", name, got, c.reason, c.number)
		}
		if _, err := estimated.Estimate(release, deal[0]); err == nil ||
			!strings.Contains(err.Error(), string(c.reason)) {
			t.Errorf("%s: an estimate says %v", name, err)
		}
	}
}

func TestRatioProposal(t *testing.T) {
	schema, table := conformance.ProposalData(t)
	made, err := planning.ProposePlan(study.Proposal{Name: "x", Kind: "ratio",
		Roster: []study.PartyID{"a", "b", "c"}}, schema, table)
	if err != nil {
		t.Fatal(err)
	}
	p := made.Plan
	if p.Unit != privacy.Label || p.Mechanism != "auto" || p.Noise != study.NoiseSite ||
		!(conformance.TermsIn[studyratio.Terms](p).Gamma > 0) ||
		conformance.TermsIn[studyratio.Terms](p).MaxSets != 1 ||
		conformance.TermsIn[studyratio.Terms](p).Features != studyratio.FeaturesEmbedding {
		t.Errorf("plan %+v, terms %+v", p, conformance.TermsIn[studyratio.Terms](p))
	}
	made, err = planning.ProposePlan(study.Proposal{Name: "x", Kind: "ratio",
		Roster: []study.PartyID{"a", "b",
			"c"}, KindTerms: conformance.EncodeTerms(studyratio.Terms{
			Features: studyratio.FeaturesNoisyEmbedding, Fourier: 100})}, schema, table)
	if err != nil {
		t.Fatal(err)
	}
	if p := made.Plan; p.Unit != privacy.Record || p.Mechanism != "gaussian-zcdp" ||
		conformance.TermsIn[studyratio.Terms](p).Fourier != 100 {
		t.Errorf("plan %+v, terms %+v", p, conformance.TermsIn[studyratio.Terms](p))
	}
}

// TestRatioForecast: the forecast follows from public terms and is close to a simulation of the
// counts; for sets too small for the budget it warns and gives the error.
func TestRatioForecast(t *testing.T) {
	schema, table := conformance.ProposalData(t)
	propose := func(epsilon float64, size int, features string) planning.PreparedPlan {
		made, err := planning.ProposePlan(study.Proposal{Name: "x", Kind: "ratio", Epsilon: epsilon,
			Roster: []study.PartyID{"a", "b", "c"},
			KindTerms: conformance.EncodeTerms(studyratio.Terms{SetSize: size, Features: features,
				Fourier: 100})}, schema, table)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	for _, features := range []string{studyratio.FeaturesClear, studyratio.FeaturesEmbedding,
		studyratio.FeaturesNoisyEmbedding} {
		made := propose(1, 500, features)
		if !(made.ShareSD > 0 && made.ShareSD < .1) || made.Warning != "" {
			t.Errorf("%s: shares are off by %g; warning %q", features, made.ShareSD,
				made.Warning)
		}
		tiny := propose(.1, 20, features)
		if number := fmt.Sprintf("%.2g", tiny.ShareSD); tiny.ShareSD < .25 ||
			!strings.Contains(tiny.Warning, number) {
			t.Errorf("%s: shares are off by %g; warning %q", features, tiny.ShareSD,
				tiny.Warning)
		}
	}
	// Two classes at ε = 1: y has P ∝ e^{−|y|}, so E|y| = 2q/(1−q²), q = 1/e.
	if got, want := propose(1, 500,
		studyratio.FeaturesEmbedding).ShareSD,
		2/math.E/(1-1/math.E/math.E)/500; math.Abs(got/want-1) > .15 {
		t.Errorf("shares are off by %g, the law says %g", got, want)
	}
}

func FuzzRatioBody(f *testing.F) {
	schema, pool, m, records := conformance.Hospital(f, 400)
	in := study.NewInputs(records.Select(conformance.FirstRows(5)), []byte("k"))
	var sums []study.Checker
	for _, features := range []string{studyratio.FeaturesClear, studyratio.FeaturesEmbedding,
		studyratio.FeaturesNoisyEmbedding} {
		body, sum := contribute(f, conformance.RatioPlan(schema, pool, m, features), pool, in)
		f.Add(body)
		sums = append(sums, sum)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, sum := range sums {
			if err := sum.Check(body); err != nil && !errors.Is(err, study.ErrContribution) {
				t.Fatal(err)
			}
		}
	})
}

// vector reads a draft's private vector through a simulation without noise.
func vector(t *testing.T, p study.Plan, pool *auxdata.Pool, in study.Inputs) []int64 {
	t.Helper()
	d, err := conformance.TaskOf(t, p, pool).Contribute(in)
	if err != nil {
		t.Fatal(err)
	}
	d.Requests[0].Mechanism = privacy.Unperturbed{}
	r, err := study.ReleaseRequests(context.Background(), privacy.NewSimulation(1), study.Hash{},
		d.Requests)
	if err != nil {
		t.Fatal(err)
	}
	return r[0].Values
}
