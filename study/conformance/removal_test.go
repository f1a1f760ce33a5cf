package conformance_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/kinds"
	"caucus/study/ratio"
	"caucus/study/reweigh"
)

// TestRemovalHolds: removing a unit's part moves the integers by at most the proved bound, and some
// part moves them by nearly the bound, so the bound is neither too small nor needlessly large. All
// records and parties of a small world are tried, and random ones.
func TestRemovalHolds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	anyVisit := func(classes []string) visit {
		return visit{classes[rng.IntN(len(classes))], strconv.Itoa([]int{0, 5, 10}[rng.IntN(3)]),
			strconv.Itoa(rng.IntN(2)), []string{"east", "west", "north"}[rng.IntN(3)], "", ""}
	}
	for _, classes := range [][]string{{"no", "yes"}, {"no", "some", "yes"}} {
		c := newClinic(t, classes, 6)
		for _, of := range []struct {
			mechanism string
			unit      privacy.Unit
			delta     float64
			least     float64 // part of the bound's L2 that some removal reaches
		}{
			{"cross", privacy.Record, 0.01, 0.98}, {"cross", privacy.Record, 0, 0.98},
			{"tally", privacy.Party, 0.01, 0}, {"means", privacy.Party, 0.01, 0.98}, {"means", privacy.Party, 0, 0.98},
		} {
			p := c.classify(of.mechanism, of.unit, study.NoiseCoordinator, 1)
			p.Delta = of.delta
			if of.mechanism == "cross" {
				p.Noise = study.NoiseSite
			}
			q := conformance.StatisticOf(t, p, c.pool)
			terms, err := q.Terms(8)
			if err != nil {
				t.Fatal(err)
			}
			proved := classify.Kind{}.Removal(p, terms.Bound)
			if proved.Bound == nil {
				t.Fatalf("%s: %s", of.mechanism, proved.Reason)
			}
			b := *proved.Bound
			most := 0.0
			for range 400 {
				rows := []visit{anyVisit(classes), anyVisit(classes), anyVisit(classes)}
				with, _ := q.Local(c.inputs(c.records(t, rows), 0))
				without := make([]int64, len(with)) // for a party
				if of.unit == privacy.Record {
					without, _ = q.Local(c.inputs(c.records(t,
						append(rows[1:], visit{"", "", "", "", "", ""})), 0))
				}
				l1, l2sq := distance(with, without, terms.Bound)
				if l2sq > float64(b.L2sq) || b.L1 > 0 && l1 > float64(b.L1) {
					t.Fatalf("%s, %d classes: %v moves L1 %g, L2² %g; proved are %d and %d", of.mechanism, len(classes), rows, l1, l2sq, b.L1, b.L2sq)
				}
				most = math.Max(most, math.Sqrt(l2sq/float64(b.L2sq)))
			}
			if most < of.least {
				t.Errorf("%s: nothing moves more than %.3f of the bound", of.mechanism, most)
			}
		}
	}
}

// TestRemovalOfTables: for every kind of tables and sums, an empty record in place of a record, or
// nothing in place of a party, moves the released integers by at most the proved bound; some
// removal comes close. All records of a small world are tried.
func TestRemovalOfTables(t *testing.T) {
	c := newClinic(t, []string{"no", "yes", "maybe"}, 6)
	var visits []visit
	for _, label := range []string{"no", "yes", "maybe", ""} {
		for _, a := range []string{"", "0", "5", "7.4999", "9", "10"} {
			for _, ward := range []string{"east", "west", "north", ""} {
				visits = append(visits, visit{label: label, a: a, b: "1", ward: ward})
			}
		}
	}
	const where = "a >= 5"
	atParty := func(p study.Plan) study.Plan {
		terms := conformance.TermsIn[evaluate.Terms](p)
		terms.PerParty = 3
		p.Unit, p.KindTerms = privacy.Party, conformance.EncodeTerms(terms)
		return p
	}
	byWard := func(t *evaluate.Terms) {
		t.By = []evaluate.Grouping{{Column: "ward"}, {Column: "a", Edges: []float64{5}}}
	}
	binned := reweigh.Terms{Bins: 3, Pairs: [][2]string{{"a", "ward"}}}
	for name, of := range map[string]struct {
		plan  study.Plan
		part  float64 // of the replacement bound, in L1; 1: all
		least float64 // part of the bound that some record reaches
	}{
		"describe":                  {c.describe("laplace", study.NoiseSite, describe.DefaultTerms()), 1, .85},
		"describe, by ward":         {c.describe("gaussian", study.NoiseCoordinator, describe.Terms{Bins: 3, By: "ward"}), 1, .85},
		"describe, of some":         {conformance.WithCondition(c.describe("laplace", study.NoiseSite, describe.DefaultTerms()), where), .7, .9},
		"describe, of some by ward": {conformance.WithCondition(c.describe("gaussian", study.NoiseSite, describe.Terms{Bins: 3, By: "ward"}), where), .7, .9},
		"count":                     {conformance.WithCondition(c.describe("laplace", study.NoiseSite, describe.Terms{Count: true}), where), 1, 1},
		"evaluate":                  {c.evaluate("laplace", study.NoiseSite, byWard), 1, 1},
		"evaluate, of some":         {conformance.WithCondition(c.evaluate("gaussian", study.NoiseSite, nil), where), 1, 1},
		"evaluate, parties":         {atParty(c.evaluate("laplace", study.NoiseSite, byWard)), .5, 1},
		"reweigh":                   {c.reweigh("entropy", binned), 1, .7},
		"reweigh, of some":          {conformance.WithCondition(c.reweigh("entropy", binned), where), .75, .7},
	} {
		if err := kinds.Check(of.plan); err != nil {
			t.Fatal(name, err)
		}
		kind, err := kinds.FindKind(of.plan.Kind)
		if err != nil {
			t.Fatal(err)
		}
		vector := func(rows []visit) []int64 {
			records, _, err := of.plan.Encode(of.plan.Schema, c.table(t, rows))
			if err != nil {
				t.Fatal(err)
			}
			v, _ := conformance.StatisticOf(t, of.plan, c.pool).Local(c.inputs(records, 0))
			return v
		}
		terms, err := conformance.StatisticOf(t, of.plan, c.pool).Terms(1)
		if err != nil {
			t.Fatal(err)
		}
		proved := kind.(study.Remover).Removal(of.plan, terms.Bound)
		if proved.Bound == nil {
			t.Fatalf("%s: %s", name, proved.Reason)
		}
		b, most := *proved.Bound, 0.
		if part := float64(b.L1) / float64(terms.Bound.L1); part > of.part+1e-9 ||
			(part == 1) != (proved.Reason != "") || b.L2sq > terms.Bound.L2sq {
			t.Errorf("%s: L1 %d and L2² %d of %d and %d, %q", name, b.L1, b.L2sq, terms.Bound.L1,
				terms.Bound.L2sq, proved.Reason)
		}
		for _, v := range visits {
			with, without := vector([]visit{well, v}), vector([]visit{well, {}})
			if of.plan.Unit == privacy.Party {
				with = vector([]visit{v, v, v})
				without = make([]int64, len(with))
			}
			l1, l2sq := distance(with, without, b)
			if l1 > float64(b.L1) || l2sq > float64(b.L2sq) {
				t.Errorf("%s: %+v moves L1 %v and L2² %v, proved are %d and %d", name, v, l1, l2sq, b.L1, b.L2sq)
			}
			most = max(most, l1/float64(b.L1))
		}
		if most < of.least {
			t.Errorf("%s: nothing moves more than %.3f of the bound", name, most)
		}
	}
}

// TestRemovalNotStated: every kind gives a reason where nothing is proved.
func TestRemovalNotStated(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 6)
	for name, of := range map[string]struct {
		plan study.Plan
		says string
	}{
		"labels":         {c.labels("rr"), "not added or removed"},
		"ratio, clear":   {c.ratio(ratio.FeaturesClear, ratio.SetsParty, "laplace"), "not added or removed"},
		"ratio, records": {c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsParty, "gaussian-zcdp"), "the sizes of sets"},
		"logistic":       {c.reweigh("logistic", reweigh.Terms{}), "mechanism logistic"},
		"moment":         {c.classify("moment", privacy.Party, study.NoiseCoordinator, 1), "mechanism moment"},
		"shards":         {c.classify("tally", privacy.Record, study.NoiseCoordinator, 2), "casts another ballot"},
		"cross, labels":  {c.classify("cross", privacy.Label, study.NoiseSite, 1), "not added or removed"},
	} {
		costs, err := study.CostsOf(conformance.TaskOf(t, of.plan, c.pool), 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got, why := kinds.UnderRemoval(of.plan, costs); got != 0 ||
			!strings.Contains(why, of.says) {
			t.Errorf("%s: ε = %v, %q", name, got, why)
		}
	}
	if got, why := kinds.UnderRemoval(c.classify("cross", privacy.Record, study.NoiseSite, 1),
		nil); got != 0 || !strings.Contains(why, "one publication") {
		t.Errorf("of no costs: ε = %v, %q", got, why)
	}
}

// TestUnderRemoval: the ε follows from each mechanism's proof, and is absent without a proof.
func TestUnderRemoval(t *testing.T) {
	two, three := newClinic(t, []string{"no", "yes"}, 6), newClinic(t,
		[]string{"no", "some", "yes"}, 6)
	at := func(rho float64) float64 { return privacy.EpsilonOf(rho, 1e-6*63/64) }
	rho := privacy.RhoOf(privacy.Budget{Epsilon: 1, Delta: 1e-6})
	for name, of := range map[string]struct {
		clinic    clinic
		mechanism string
		unit      privacy.Unit
		shards    int
		delta     float64
		want      float64 // 0: not proved
	}{
		"cross":                  {two, "cross", privacy.Record, 1, 1e-6, at(rho / 2)},
		"cross, three classes":   {three, "cross", privacy.Record, 1, 1e-6, at(rho / 2)},
		"cross, pure":            {two, "cross", privacy.Record, 1, 0, math.Sqrt(.5)},
		"cross, labels":          {two, "cross", privacy.Label, 1, 1e-6, 0},
		"tally, two classes":     {two, "tally", privacy.Party, 1, 1e-6, 1},
		"tally, three classes":   {three, "tally", privacy.Party, 1, 1e-6, at(rho / 2)},
		"tally, shards":          {two, "tally", privacy.Record, 2, 1e-6, 0},
		"means":                  {two, "means", privacy.Party, 1, 1e-6, at(rho / 4)},
		"means, pure":            {two, "means", privacy.Party, 1, 0, .5},
		"moment mixes the rows":  {two, "moment", privacy.Party, 1, 0, 0},
		"output is no statistic": {two, "output", privacy.Party, 1, 0, 0},
	} {
		noise := study.NoiseCoordinator
		if of.mechanism == "cross" {
			noise = study.NoiseSite
		}
		p := of.clinic.classify(of.mechanism, of.unit, noise, of.shards)
		p.Delta = of.delta
		costs, err := study.CostsOf(conformance.TaskOf(t, p, of.clinic.pool), 8)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got, why := kinds.UnderRemoval(p, costs)
		if math.Abs(got-of.want) > 1e-3*of.want || (why == "") != (of.want > 0 && of.want < 1) {
			t.Errorf("%s: ε = %.6f, %q; want %.6f", name, got, why, of.want)
		}
	}
}

// TestUnderRemovalOfLies: a release states its costs; no ε is computed from costs that do not fit
// noise for the plan's ε.
func TestUnderRemovalOfLies(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 6)
	for name, of := range map[string]struct {
		delta float64
		lie   func(*study.ReleaseCost)
	}{
		"below none":    {1e-6, func(c *study.ReleaseCost) { c.Cost.Rho = big.NewRat(-7, 2) }},
		"next to none":  {1e-6, func(c *study.ReleaseCost) { c.Cost.Rho = big.NewRat(1, 1<<60) }},
		"no number":     {1e-6, func(c *study.ReleaseCost) { c.Cost.Rho = new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 4000)) }},
		"none":          {1e-6, func(c *study.ReleaseCost) { c.Cost.Rho = nil }},
		"no bound":      {1e-6, func(c *study.ReleaseCost) { c.Bound.L2sq = -1 }},
		"another noise": {1e-6, func(c *study.ReleaseCost) { c.Mechanism = privacy.DiscreteLaplace{}.Name() }},
		"another scale": {0, func(c *study.ReleaseCost) { c.Parameters["scale"] = "1000000000000000" }},
	} {
		p := c.classify("cross", privacy.Record, study.NoiseSite, 1)
		p.Delta = of.delta
		costs, err := study.CostsOf(conformance.TaskOf(t, p, c.pool), 8)
		if err != nil {
			t.Fatal(err)
		}
		if got, why := kinds.UnderRemoval(p, costs); got == 0 {
			t.Fatalf("%s: of true costs: %s", name, why)
		}
		of.lie(&costs[0])
		if got, why := kinds.UnderRemoval(p, costs); got != 0 ||
			!strings.Contains(why, "its cost is not known") {
			t.Errorf("%s: ε = %v, %q", name, got, why)
		}
	}
}
