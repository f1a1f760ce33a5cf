package dataset

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// keptOf returns the share of a column, -1 if it is not listed.
func keptOf(all []KeptShare, column string) float64 {
	for _, k := range all {
		if k.Column == column {
			return k.Share
		}
	}
	return -1
}

// With three independent numbers and a copy of one, the first direction keeps the pair. Whitening
// and the scale of columns change nothing.
func TestKept(t *testing.T) {
	s := parse(t, `
label: {column: y, classes: [a, b]}
features:
  - {columns: [a, twin, b, constant], kind: numeric, min: 0, max: 1}
  - {column: c, kind: categorical, levels: [x, z]}
`)
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 4000
	x := mat.NewDense(n, 7, nil)
	for i := range n {
		a := rng.Float64()
		x.SetRow(i, []float64{a, 1 - a/2, rng.Float64(), 0.5, 0, 0, 0})
		x.Set(i, 4+rng.IntN(2), 1)
	}
	one, err := FitFAMD(s, x, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	kept := one.KeptShares(s, x)
	// Sample correlations of independent columns exceed 6.1/√4000 = .1 once in 10⁹ times, and the
	// seed is fixed, so b and c keep below .01.
	for column, want := range map[string]float64{"a": 1, "twin": 1, "b": 0, "c": 0,
		"constant": -1} {
		if got := keptOf(kept, column); math.Abs(got-want) > 0.02 {
			t.Errorf("%s: kept %v, want about %v", column, got, want)
		}
	}
	if kept[len(kept)-1].Share < kept[0].Share {
		t.Error("what is kept most of comes first")
	}
	whole, err := FitFAMD(s, x, 7, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range whole.KeptShares(s, x) {
		if math.Abs(k.Share-1) > 1e-6 { // directions are rounded to single precision
			t.Errorf("all components keep %v of %s", k.Share, k.Column)
		}
	}
	if got, want := KeptText(whole.KeptShares(s, x)),
		"keeps each column's variance in the pool"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := KeptText([]KeptShare{{"a", 0.031}, {"b", 0.5}, {"c", 1}}), "keeps 51 % of a column's variance in the pool on average, least of a 3 %, b 50 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if Identity(s).KeptShares(s, x) != nil || one.KeptShares(s, &mat.Dense{}) != nil {
		t.Error("a map that keeps all, or no rows, says something")
	}
}
