package leastsquares

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/regress"
)

// rare makes records of which 2 % are exposed. Of these two thirds die, of others one in 30. The
// number dose is the less certain, the farther age is from 60.
func rare(t testing.TB, n int) (dataset.Schema, *dataset.Records, *auxdata.Pool) {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: died, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 120}
  - {column: dose, kind: numeric, min: 0, max: 400}
  - {column: exposed, kind: categorical, levels: ["no", "yes"]}
`))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(11, 13))
	var rows [][]string
	for range n {
		age, exposed, died, chance := 60+12*rng.NormFloat64(), "no", "no", 0.01
		if rng.Float64() < 0.02 {
			exposed, chance = "yes", 0.6
		}
		if rng.Float64() < chance+0.0005*(age-20) {
			died = "yes"
		}
		dose := 100 + age + math.Abs(age-60)*rng.NormFloat64()
		rows = append(rows, []string{fmt.Sprint(age), fmt.Sprint(dose), exposed, died})
	}
	table := func(rows [][]string) *dataset.Table {
		made, err := dataset.NewTable([]string{"age", "dose", "exposed", "died"}, rows)
		if err != nil {
			t.Fatal(err)
		}
		return made
	}
	r, _, err := s.Encode(table(rows))
	if err != nil {
		t.Fatal(err)
	}
	pool, _, err := auxdata.New(s, dataset.Identity(s), table(rows[:n/2]))
	if err != nil {
		t.Fatal(err)
	}
	return s, r, pool
}

// TestCoverage: of 400 draws of records and noise, the share of intervals that hold the
// population's coefficient, with no row shortened, is .93 to .97 for each coefficient, in the limits
// of such a count: it leaves these by 6.1 standard deviations with a probability below 1e-9. With
// what is left taken as alike for all rows, it is about .65 for the rare exposure.
// Of a number, the forecast is within 15 % of the mean standard deviation.
func TestCoverage(t *testing.T) {
	const draws, n = 400, 3000
	s, r, pool := rare(t, n)
	for _, c := range []struct {
		terms regress.Terms
		noise float64 // standard deviation on a product, in records
	}{
		{regress.Terms{Outcome: "died", Is: "yes", Expected: .06, Columns: []string{"age", "exposed"},
			Radius: 9}, 20},
		{regress.Terms{Outcome: "died", Is: "yes", Expected: .06, Columns: []string{"age", "exposed"},
			Radius: 9}, 150},
		{regress.Terms{Outcome: "dose", Columns: []string{"age", "exposed"}, Radius: 9}, 20},
		{regress.Terms{Outcome: "dose", Columns: []string{"age", "exposed"}, Radius: 9}, 150},
	} {
		p := study.Plan{Kind: "regress", Form: study.FormCommitted, Schema: s,
			Map: dataset.Identity(s), Unit: privacy.Record, Minimum: 2}
		if err := p.SetTerms(c.terms); err != nil {
			t.Fatal(err)
		}
		d, err := regress.DesignOf(p, pool)
		if err != nil {
			t.Fatal(err)
		}
		truth := Estimate(d, pool, sumsOf(d, r, false), 0)
		var parts [][]float64
		for i := range r.Y {
			parts = append(parts, sumsOf(d, r.Select([]int{i}), true))
		}
		rng := rand.New(rand.NewPCG(17, 19))
		held, off := make([]float64, len(d.Columns)), make([]float64, len(d.Columns))
		mean := make([]float64, len(d.Columns))
		sd := c.noise * float64(regress.OfProduct*d.One*d.One)
		for range draws {
			sums := make([]float64, d.Cells())
			for range n {
				for k, v := range parts[rng.IntN(n)] {
					sums[k] += v
				}
			}
			for k := range sums {
				sums[k] += sd * rng.NormFloat64()
			}
			got := Estimate(d, pool, sums, sd*sd)
			for j, of := range got.Coefficients {
				if of.Covers(truth.Coefficients[j].Value) {
					held[j]++
				}
				mean[j] += of.SD / draws
				off[j] += (of.Value - truth.Coefficients[j].Value) / of.SD / draws
			}
		}
		low, high := .93-6.1*math.Sqrt(.93*.07/draws), min(1, .97+6.1*math.Sqrt(.97*.03/draws))
		forecast := NewForecast(d, pool, study.Size{Parties: 1, Records: n}, sd*sd)
		for j := range held {
			ratio := forecast[j].Private / mean[j]
			if d.Outcome.Level == "" && math.Abs(ratio-1) > .15 {
				t.Errorf("noise %g: %s is forecast %.2f times as wide as it is", c.noise,
					d.Columns[j].Name(), ratio)
			}
			t.Logf("%s, noise %g: %s covered by %.3f, off by %.2f", c.terms.Outcome, c.noise,
				d.Columns[j].Name(), held[j]/draws, off[j])
			if share := held[j] / draws; share < low || share > high {
				t.Errorf("%s, noise %g: %s is covered by %.3f", c.terms.Outcome, c.noise,
					d.Columns[j].Name(), share)
			}
		}
	}
}

// TestKnownIsPublic: where noise is about as large as intervals allow, the same coefficients are
// known in all draws of noise, as the pool says: those that a lucky draw made known would be covered
// too seldom. The number of records decides too, so it has no noise here: that noise enters no
// other sum. The noise is 10 % smaller or larger than what makes the first one unknown.
func TestKnownIsPublic(t *testing.T) {
	s, r, pool := rare(t, 3000)
	p := study.Plan{Kind: "regress", Form: study.FormCommitted, Schema: s,
		Map: dataset.Identity(s), Unit: privacy.Record, Minimum: 2}
	terms := regress.Terms{Outcome: "dose", Columns: []string{"age", "exposed"}, Radius: 9}
	if err := p.SetTerms(terms); err != nil {
		t.Fatal(err)
	}
	d, err := regress.DesignOf(p, pool)
	if err != nil {
		t.Fatal(err)
	}
	exact := sumsOf(d, r, true)
	known := func(sd float64, noise func() float64) int {
		sd *= float64(regress.OfProduct * d.One * d.One)
		sums := make([]float64, len(exact))
		for k, v := range exact {
			sums[k] = v
			if k > 0 {
				sums[k] += sd * noise()
			}
		}
		n := 0
		for _, c := range Estimate(d, pool, sums, sd*sd).Coefficients {
			if c.Known() {
				n++
			}
		}
		return n
	}
	edge := 20.
	for known(edge, func() float64 { return 0 }) == len(d.Columns) {
		edge *= 1.05
	}
	rng := rand.New(rand.NewPCG(31, 37))
	for _, by := range []float64{0.9, 1.1} {
		want := known(by*edge, func() float64 { return 0 })
		if by > 1 && want == len(d.Columns) {
			t.Errorf("all coefficients are known at %g times the edge", by)
		}
		for range 100 {
			if got := known(by*edge, rng.NormFloat64); got != want {
				t.Fatalf("%d coefficients are known at %g times the edge, without noise %d", got,
					by, want)
			}
		}
	}
}
