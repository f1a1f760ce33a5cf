package conformance_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"caucus/dataset"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/conformance"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/kinds"
	"caucus/study/ratio"
	"caucus/study/reweigh"
)

// oddVisits lists records with every kind of odd cell, each alone and all together. Each record has
// its own patient.
func oddVisits(c clinic) (all []visit) {
	numbers := []string{"", "?", "NaN", "Inf", "-Inf", "1e308", "-1e308", "5e-324", "-3", "11", "3",
		"3.0000000001", "0x10", "1_0"}
	plain := visit{label: c.schema.Classes()[0], a: "3", b: "0.5", ward: "east", set: "s1"}
	add := func(change func(*visit)) {
		v := plain
		v.patient = fmt.Sprint("p", len(all))
		change(&v)
		all = append(all, v)
	}
	add(func(*visit) {})
	for _, n := range numbers {
		add(func(v *visit) { v.a = n })
		add(func(v *visit) { v.b, v.label = n, c.schema.Classes()[1] })
	}
	for _, w := range []string{"", "?", "west", "north", "EAST", " east"} {
		add(func(v *visit) { v.ward = w })
		add(func(v *visit) { v.ward, v.a, v.label = w, "", "" })
	}
	for _, l := range append(c.schema.Classes(), "", "?", "elsewhere") {
		add(func(v *visit) { v.label = l })
		add(func(v *visit) { v.label, v.a, v.b, v.ward = l, "", "", "" })
	}
	add(func(v *visit) { v.patient = "" })
	return all
}

// additive lists plans of every kind whose private vector is a sum over records, with conditions.
func additive(c clinic) (plans []study.Plan) {
	atCoordinator := func(p study.Plan) study.Plan { p.Noise = study.NoiseCoordinator; return p }
	score := func(t *evaluate.Terms) { t.Model, t.Score, t.Edges = nil, "b", nil }
	base := []study.Plan{
		c.classify("cross", privacy.Record, study.NoiseSite, 1), c.classify("cross", privacy.Record, study.NoiseCoordinator, 1), c.classify("cross", privacy.Label, study.NoiseSite, 1),
		c.reweigh("entropy", reweigh.Terms{}), atCoordinator(c.reweigh("entropy", reweigh.Terms{})),
		c.reweigh("entropy", reweigh.Terms{Bins: 3, Pairs: [][2]string{{"a", "ward"}}}),
		c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace"),
		c.describe("gaussian", study.NoiseSite, describe.DefaultTerms()), c.describe("laplace", study.NoiseCoordinator, describe.Terms{Bins: 3}),
		c.describe("laplace", study.NoiseSite, describe.Terms{Bins: 2, By: "ward"}), c.describe("laplace", study.NoiseSite, describe.Terms{Bins: 2, By: "label"}),
		c.describe("laplace", study.NoiseSite, describe.Terms{Count: true}),
		c.evaluate("laplace", study.NoiseSite, nil), c.evaluate("laplace", study.NoiseSite, score),
		c.evaluate("gaussian", study.NoiseCoordinator, func(t *evaluate.Terms) {
			t.By = []evaluate.Grouping{{Column: "ward"}, {Column: "a", Edges: []float64{3, 6}}}
		}),
		c.evaluate("laplace", study.NoiseSite, func(t *evaluate.Terms) { score(t); t.By = []evaluate.Grouping{{Column: "ward"}} }),
	}
	for _, p := range base {
		plans = append(plans, p)
		for _, where := range []string{"a > 3", "ward == east or b <= 0.5", "label == yes",
			"not (a > 3 and label == no)"} {
			plans = append(plans, conformance.WithCondition(p, where))
		}
	}
	return plans
}

// TestRecordsAddUp: the vector of two records is the sum of the vectors of each alone, so no record
// changes what another adds. It pairs records with odd cells and conditions, in both orders, under
// every additive plan.
func TestRecordsAddUp(t *testing.T) {
	others := testlevel.N(t, 1, 3) // partners of each record
	for _, classes := range [][]string{{"no", "yes"}, {"no", "yes", "maybe"}} {
		c := clinicOf(t, classes, 5, true)
		odd := oddVisits(c)
		for _, p := range testlevel.Of(t, additive(c), 20) {
			name := strings.Join([]string{p.Kind, p.Mechanism, string(p.Noise), fmt.Sprint(p.Unit),
				p.Where, string(p.KindTerms)}, " ")
			if len(name) > 160 {
				name = name[:160]
			}
			if err := kinds.Check(p); err != nil {
				t.Logf("not a plan: %s: %v", name, err)
				continue
			}
			task := conformance.TaskOf(t, p, c.pool)
			of := func(rows ...visit) []int64 {
				t.Helper()
				r, _, err := p.Encode(p.Schema, c.table(t, rows))
				if err != nil {
					t.Fatal(err)
				}
				return openAsk(t, askOf(t, c, p, task, r))
			}
			none := of()
			alone := make([][]int64, len(odd))
			for i, v := range odd {
				alone[i] = of(v)
			}
			failed := 0
			for i := range odd {
				for _, j := range []int{0, (i*7 + 3) % len(odd), (i + 1) % len(odd)}[:others] {
					if i == j || failed > 3 {
						continue
					}
					for _, pair := range [][2]int{{i, j}, {j, i}} {
						together := of(odd[pair[0]], odd[pair[1]])
						want := make([]int64, len(together))
						for k := range want {
							want[k] = alone[i][k] + alone[j][k] - none[k]
						}
						if !slices.Equal(together, want) {
							failed++
							t.Errorf("%s:\n%+v then\n%+v give\n%v, alone\n%v", name, odd[pair[0]],
								odd[pair[1]], together, want)
						}
					}
				}
			}
		}
	}
}

// TestBlockwise: a task that reads records in parts gives the same vector for any division into
// parts. Every plan whose vector follows from sums over a party's records has such a task.
func TestBlockwise(t *testing.T) {
	c := clinicOf(t, []string{"no", "yes"}, 5, true)
	odd := oddVisits(c)
	for _, p := range append(additive(c), c.classify("means", privacy.Party, study.NoiseSite, 1)) {
		if err := kinds.Check(p); err != nil || p.Kind == "ratio" { // ratio deals records to sets
			continue
		}
		task := conformance.TaskOf(t, p, c.pool)
		r, _, err := p.Encode(p.Schema, c.table(t, odd))
		must(t, err)
		if !study.TakesBlocks(task, r.Len()) {
			t.Errorf("%s %s %s: it does not take records some at a time", p.Kind, p.Mechanism, p.KindTerms)
			continue
		}
		of, _ := bodies.Of(task)
		want, weight := of.Local(c.inputs(r, 0))
		for _, size := range []int{1, 7, r.Len(), r.Len() + 1} {
			in := c.inputs(nil, 0)
			in.Blocks = func(yield func(*dataset.Records) bool) {
				for from := 0; from < r.Len(); from += size {
					if !yield(r.Select(conformance.Seq(from, min(from+size, r.Len())))) {
						return
					}
				}
				yield(r.Select(nil))
			}
			if got, n := of.Local(in); !slices.Equal(got, want) || n != weight {
				t.Errorf("%s %s %s: %d at a time give %v of %d, all %v of %d", p.Kind, p.Mechanism, p.KindTerms, size, got, n, want, weight)
			}
		}
	}
}

func askOf(t testing.TB, c clinic, p study.Plan, task study.Task,
	r *dataset.Records) study.Request {
	t.Helper()
	d, err := task.Contribute(c.inputs(r, 0))
	if err != nil {
		t.Fatalf("%s %s: %v", p.Kind, p.Mechanism, err)
	}
	if p.Noise == study.NoiseSite {
		return d.Requests[0]
	}
	body, err := d.Body(nil)
	must(t, err)
	sum, err := task.NewSum()
	must(t, err)
	must(t, sum.Add(body))
	asks, err := sum.Requests(1)
	must(t, err)
	return asks[0]
}
