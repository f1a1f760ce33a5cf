package described

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/describe"

	"gonum.org/v1/gonum/mat"
)

// small is a schema with every form of column: numbers (plain, possibly missing, on a log scale),
// and texts (plain, with a level other, with that level alone).
func small(t testing.TB) dataset.Schema {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: outcome, classes: ["no", "yes"]}
features:
  - {columns: [age, stay], kind: numeric, min: 0, max: 100}
  - {column: chol, kind: numeric, min: -5, max: 5, missing: true}
  - {column: cost, kind: numeric, min: 0, max: 9999, log: true}
  - {column: ward, kind: categorical, levels: [east, west]}
  - {column: sex, kind: categorical, levels: [other, f]}
  - {column: site, kind: categorical, levels: [other]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func taskOf(t testing.TB, change func(*study.Plan)) describe.Task {
	t.Helper()
	s := small(t)
	p := study.Plan{
		Name: "x", Kind: "describe", Schema: s, Map: dataset.Identity(s), Unit: privacy.Record, Epsilon: 1, Delta: 1e-6, Records: 100,
		Mechanism: "gaussian", Noise: study.NoiseSite, Minimum: 2, Roster: []study.PartyID{"a", "b"},
	}
	if change != nil {
		change(&p)
	}
	if err := (describe.Kind{}).Check(p); err != nil {
		t.Fatal(err)
	}
	task, err := describe.Kind{}.New(p,
		auxdata.NewSimulated(mat.NewDense(1, p.Schema.Dim(), nil), p.Map))
	if err != nil {
		t.Fatal(err)
	}
	return task.(describe.Task)
}

var plansOf = map[string]func(*study.Plan){
	"all":           nil,
	"missing apart": func(p *study.Plan) { p.Form = study.FormCommitted },
	"laplace":       func(p *study.Plan) { p.Mechanism = "laplace" },
	"by ward":       func(p *study.Plan) { _ = p.SetTerms(describe.Terms{Bins: 10, By: "ward"}) },
	"by label":      func(p *study.Plan) { _ = p.SetTerms(describe.Terms{Bins: 3, By: "outcome"}) },
	"where":         func(p *study.Plan) { p.Where = "age >= 50 or ward == west" },
	"where and by": func(p *study.Plan) {
		p.Where = "outcome == yes"
		_ = p.SetTerms(describe.Terms{Bins: 2, By: "sex"})
	},
	"count": func(p *study.Plan) { p.Where = "age >= 50"; _ = p.SetTerms(describe.Terms{Count: true}) },
	"edges": func(p *study.Plan) {
		_ = p.SetTerms(describe.Terms{
			Bins: 10, Cuts: []describe.Cut{{Column: "age", Edges: []float64{10, 49.99, 50, 99}}, {Column: "chol", Edges: []float64{-4, 0}}},
			Edges: map[string][]float64{"age": {10, 49.99, 50, 99}, "chol": {-4, 0}},
		})
	},
	"one cell a column": func(p *study.Plan) {
		p.Schema.Features =
			[]dataset.Feature{{Columns: []string{"age", "stay", "site"}, Kind: dataset.Categorical,
				Levels: []string{"other"}}}
		p.Map, p.Where = dataset.Identity(p.Schema), "outcome == yes"
	},
}

// TestMomentsOfUnevenBins: the stated noise of a mean and a deviation is right for bins of uneven
// width and records outside the narrow bins, whether the total is known, a noisy count, or the sum
// of the noisy bins.
func TestMomentsOfUnevenBins(t *testing.T) {
	edges := []float64{0}
	for k := range 20 {
		edges = append(edges, .005*float64(k+1))
	}
	c := describe.Column{Edges: []float64{0, 1}}.Cut(append(edges, .25, .4, .55, .7, .85), 0)
	const records, noise, draws = 200_000, 60., 4000
	rng := rand.New(rand.NewPCG(11, 12))
	bins := make([]float64, c.Bins())
	var sum, square, first, second float64
	for range records {
		v := .55 + .4*rng.Float64()*rng.Float64()
		k := c.BinOf(v)
		a, b := c.BinCorrections(v, k)
		bins[k]++
		sum, square, first, second = sum+v, square+v*v, first+a, second+b
	}
	mean := sum / records
	sd := math.Sqrt(square/records - mean*mean)
	for _, form := range []string{"known", "counted", "the bins'"} {
		var off [2]float64
		for range draws {
			n := number{of: c, bins: slices.Clone(bins), noise: noise * noise,
				total: sampled{Value: records}, binned: true}
			total := 0.
			for k := range n.bins {
				n.bins[k] += noise * rng.NormFloat64()
				total += n.bins[k]
			}
			n.first, n.second = first+describe.WithinBinNoise*noise*rng.NormFloat64(),
				second+describe.WithinBinNoise*noise*rng.NormFloat64()
			switch form {
			case "counted":
				n.total = sampled{Value: records + noise*rng.NormFloat64(), Variance: noise * noise}
			case "the bins'":
				n.total, n.binned = sampled{Value: total,
					Variance: float64(len(bins)) * noise * noise}, false
			}
			m, s := n.moments()
			for i, e := range []struct {
				*Estimate
				truth float64
			}{{m, mean}, {s, sd}} {
				z := (e.Value - e.truth) * 2 * 1.959964 / (e.NoiseHigh - e.NoiseLow)
				off[i] += z * z / draws
			}
		}
		// The mean of 4000 squares of normal numbers has deviation √(2/4000) = .0224; 6.8 of these
		// are exceeded with probability 10⁻¹¹, six times. The normal approximation is off by less
		// than .01: the noise is a thousandth of the estimate.
		for i, what := range []string{"mean", "deviation"} {
			if math.Abs(off[i]-1) > 6.8*.0224+.01 {
				t.Errorf("total %s: the noise of the %s has %.3f times the variance that is stated", form, what, off[i])
			}
		}
	}
}

// TestTableShown: displayed counts are possible ones near the released counts, which are kept. Zero
// records work too.
func TestTableShown(t *testing.T) {
	for name, change := range plansOf {
		task := taskOf(t, change)
		q := task.Counted
		rng := rand.New(rand.NewPCG(3, 4))
		for _, records := range []int64{0, 1, 500} {
			total := bodies.Total{Weight: float64(records), Draws: 4,
				Values: make([]float64, q.Cells())}
			for j := range total.Values {
				total.Values[j] = float64(rng.IntN(200)-40) * float64(q.Step)
			}
			made, err := finisher{task}.FinishTotal(total, nil)
			if err != nil {
				t.Fatal(err)
			}
			var out Table
			if err := made.DecodeBody(&out); err != nil {
				t.Fatal(err)
			}
			one, _ := q.Deviation(1)
			if out.Records != records || math.Abs(out.NoiseSD-2*one) > 1e-9 ||
				math.Abs(out.ShareSD*float64(records)-out.NoiseSD) > 1e-9 && records > 0 {
				t.Errorf("%s: %d records: %d, ± %v, share ± %v; one draw has %v", name, records, out.Records, out.NoiseSD, out.ShareSD, one)
			}
			all := float64(records)
			if q.CountsCondition {
				all = math.Min(math.Max(out.MeetingCondition.Noisy, 0), all)
			}
			sizes, sum := []float64{all}, 0.
			if q.Group != nil {
				sizes = nil
				for _, g := range out.Groups {
					sizes, sum = append(sizes, g.NearestPossible), sum+g.NearestPossible
				}
				if math.Abs(sum-all) > 1e-6 {
					t.Errorf("%s: groups add up to %v of %v", name, sum, all)
				}
			}
			for i, c := range out.Columns {
				for g, s := range c.Groups {
					sum := 0.
					for k, v := range s.Counts {
						if want := total.Values[q.Columns[i].At(g)+k] / float64(q.Step); s.Noisy[k] != want || v < 0 {
							t.Errorf("%s: %s: released %v is kept as %v and shown as %v", name, c.Column, want, s.Noisy[k], v)
						}
						sum += v
					}
					if math.Abs(sum-sizes[g]) > 1e-6 {
						t.Errorf("%s: %s: counts add up to %v of %v records", name, c.Column, sum,
							sizes[g])
					}
				}
			}
			if _, err := (Results{}).Report(study.Release{Result: made}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestTableThatNobodyMade: a reader's program refuses an inconsistent table, which any signer can
// write, and does not crash.
func TestTableThatNobodyMade(t *testing.T) {
	one := func() Summary {
		return Summary{Noisy: []float64{1}, Counts: []float64{1}, Shares: []*Estimate{nil}}
	}
	for name, table := range map[string]Table{
		"a number without bins":     {Columns: []Column{{Column: "age", Edges: []float64{}, Groups: []Summary{one()}}}},
		"a number of no width":      {Columns: []Column{{Column: "age", Edges: []float64{1}, Groups: []Summary{one()}}}},
		"neither number nor text":   {Columns: []Column{{Column: "age", Groups: []Summary{{}}}}},
		"groups that are missing":   {By: "ward", Columns: []Column{{Column: "sex", Levels: []string{"f"}, Groups: []Summary{one()}}}},
		"groups of nothing":         {Groups: []Group{{Level: "east"}}, Columns: []Column{{Column: "sex", Levels: []string{"f"}, Groups: []Summary{one()}}}},
		"a site's of no form":       {Columns: []Column{{Column: "sex", Levels: []string{"f"}, Groups: []Summary{one()}}}, Sites: []Site{{"a", Table{Columns: []Column{{Column: "age", Groups: []Summary{{}}}}}}}},
		"a site of sites":           {Sites: []Site{{"a", Table{Sites: []Site{{"b", Table{}}}}}}},
		"a site's of other columns": {Sites: []Site{{"a", Table{Columns: []Column{{Column: "sex", Levels: []string{"f"}, Groups: []Summary{one()}}}}}}},
		"fewer summaries than are":  {By: "ward", Groups: []Group{{Level: "east"}, {Level: "west"}}, Columns: []Column{{Column: "sex", Levels: []string{"f"}, Groups: []Summary{one()}}}},
	} {
		made, err := study.NewResult(table, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := (Results{}).Report(study.Release{Result: made}); err == nil ||
			!strings.Contains(err.Error(), "was changed") {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
}
