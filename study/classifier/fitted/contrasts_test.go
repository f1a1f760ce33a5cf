package fitted

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study/classifier"
)

// contrastWorld returns a schema with every kind of column, and a pool in which b is nearly a.
func contrastWorld(t *testing.T) (dataset.Schema, *mat.Dense) {
	t.Helper()
	s := dataset.Schema{Label: dataset.Label{Column: "y", Classes: []string{"no", "yes"}},
		Features: []dataset.Feature{
			{Column: "a", Kind: dataset.Numeric, Min: 20, Max: 100},
			{Column: "b", Kind: dataset.Numeric, Min: 0, Max: 1},
			{Column: "c", Kind: dataset.Numeric, Min: 0, Max: 1000, Log: true, FlagMissing: true},
			{Column: "d", Kind: dataset.Categorical, Levels: []string{"x", "y", "z"}},
		}}
	rng := rand.New(rand.NewPCG(1, 2))
	x := mat.NewDense(2000, s.Dim(), nil)
	for i := range 2000 {
		row := x.RawRowView(i)
		row[0] = rng.Float64()
		row[1] = math.Min(1, math.Max(0, row[0]+.02*rng.NormFloat64()))
		row[2] = rng.Float64() / 2
		if rng.IntN(10) == 0 {
			row[2], row[3] = .5, 1
		}
		row[4+[]int{0, 0, 1}[rng.IntN(3)]] = 1 // neither z nor other
	}
	return s, x
}

// TestContrasts: with a map that keeps everything, a contrast is the difference of two mapped rows,
// in the schema's units. Levels are compared with the most frequent level.
func TestContrasts(t *testing.T) {
	s, x := contrastWorld(t)
	m := dataset.Identity(s)
	all := contrastsOf(s, m, auxdata.NewSimulated(x, m))
	scale := dataset.NormMargin / math.Sqrt2 / m.Scale
	mean, known := 0.0, 0.0
	for i := range 2000 {
		if x.At(i, 3) == 0 {
			mean += x.At(i, 2)
			known++
		}
	}
	want := []struct {
		Contrast
		by   map[int]float64
		rows bool
	}{
		{Contrast{Column: "a", Increment: 10}, map[int]float64{0: 10. / 80}, true},
		{Contrast{Column: "b", Increment: .1}, map[int]float64{1: .1}, true},
		{Contrast{Column: "c", Factor: 2}, map[int]float64{2: math.Ln2 / math.Log1p(1000)}, true},
		{Contrast{Column: "c", Level: "missing", ReferenceLevel: PoolMean}, map[int]float64{2: .5 - mean/known, 3: 1}, true},
		{Contrast{Column: "d", Level: "y", ReferenceLevel: "x"}, map[int]float64{4: -1, 5: 1}, true},
		{Contrast{Column: "d", Level: "z", ReferenceLevel: "x"}, map[int]float64{4: -1, 6: 1}, false},
		{Contrast{Column: "d", Level: "other", ReferenceLevel: "x"}, map[int]float64{4: -1, 7: 1}, false},
	}
	if len(all) != len(want) {
		t.Fatalf("%d contrasts, want %d", len(all), len(want))
	}
	for i, w := range want {
		got := all[i]
		if got.Contrast != w.Contrast {
			t.Errorf("%+v, want %+v", got.Contrast, w.Contrast)
		}
		for j, v := range got.change {
			// For level missing, the mean is taken over the sample of pool rows, not over all rows.
			if math.Abs(v-w.by[j]*scale) > 1e-9 &&
				!(w.Level == "missing" && math.Abs(v-w.by[j]*scale) < .02) {
				t.Errorf("%s: %g at %d, want %g", got.Words(), v, j, w.by[j]*scale)
			}
		}
		if (got.rows >= leastRows) != w.rows {
			t.Errorf("%s: %d rows", got.Words(), got.rows)
		}
		if w.rows && w.Level != "missing" && math.Abs(got.kept-1) > 1e-6 {
			t.Errorf("%s: a map that keeps all keeps %g", got.Words(), got.kept)
		}
	}
}

// TestContrastsLost: a map may keep two columns nearly whole and still lose the difference between
// them. Other contrasts are unchanged.
func TestContrastsLost(t *testing.T) {
	s, x := contrastWorld(t)
	all, err := dataset.FitPCA(x, 5, 0)
	if err != nil {
		t.Fatal(err)
	}
	few, err := dataset.FitPCA(x, 4, 0)
	if err != nil {
		t.Fatal(err)
	}
	of := func(m dataset.Map) map[string]float64 {
		kept := map[string]float64{}
		for _, c := range contrastsOf(s, m, auxdata.NewSimulated(x, m)) {
			kept[c.Words()] = c.kept
		}
		return kept
	}
	for name, kept := range of(few) {
		lost := name == "a: 10 more" || name == "b: 0.1 more"
		if lost && kept > .5 {
			t.Errorf("%s: the map is said to keep %g", name, kept)
		}
		if !lost && of(all)[name] > .9 && kept < .8 {
			t.Errorf("%s: the map keeps %g, and all directions %g", name, kept, of(all)[name])
		}
	}
}

func TestCoefficientWords(t *testing.T) {
	estimate := func(value, sd float64) *Estimate {
		return &Estimate{value, sd, value - aggregation.Normal95*sd,
			value + aggregation.Normal95*sd}
	}
	c := Coefficients{Class: "yes", Of: []Coefficient{
		{Contrast: Contrast{Column: "age", Increment: 10}, LogOdds: estimate(math.Ln2, .1)},
		{Contrast: Contrast{Column: "sex", Level: "m", ReferenceLevel: "f"}, LogOdds: estimate(.1, .1)},
		{Contrast: Contrast{Column: "bmi", Factor: 2}, LogOdds: estimate(1, 3)},
		{Contrast: Contrast{Column: "ward", Level: "a", ReferenceLevel: "b"}, UnknownReason: "because"},
		{Contrast: Contrast{Column: "ward", Level: "c", ReferenceLevel: "b"}, UnknownReason: "because"},
	}}
	tables := c.Tables()
	if len(tables) != 2 || len(tables[0].Rows) != 3 || len(tables[1].Rows) != 1 {
		t.Fatalf("%+v", tables)
	}
	for i, want := range []string{"", "may be no effect", "too noisy to tell"} {
		if got := tables[0].Rows[i][4]; got != want {
			t.Errorf("row %d says %q, want %q", i, got, want)
		}
	}
	if got := tables[0].Rows[0]; got[0] != "age: 10 more" || got[1] != "2.00" ||
		got[2] != "1.64 to 2.43" {
		t.Errorf("%q", got)
	}
	if got := tables[1].Rows[0]; got[0] != "ward (2 levels)" || got[1] != "because" {
		t.Errorf("%q", got)
	}
	only := &Coefficients{Class: "yes", Of: c.Of[2:3]}
	tail := "; " + UseRegress
	for want, got := range map[string]string{
		"the noise hides every effect: each interval includes 1 and is wider than from 1/10 to 10" + tail: only.
			Words(classifier.Classifier{}),
		"no odds ratios: no standard error can be estimated" + tail: (&Coefficients{Of: c.Of[3:]}).
			Words(classifier.Classifier{Lambda: 1}),
		"the noise hides every effect" + tail: (*Coefficients)(nil).Words(classifier.Classifier{}),
		"no odds ratios: sites sent votes on public rows, which hold no outcomes": (*Coefficients)(nil).
			Words(classifier.Classifier{Lambda: 1, Output: classifier.VoteShare}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
