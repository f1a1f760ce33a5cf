package solving

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestRows: rows that are mostly 0 give what the library computes with all their entries, to
// rounding.
func TestRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x := mat.NewDense(300, 40, nil)
	for i := range 300 {
		for range 4 {
			x.Set(i, rng.IntN(40), rng.NormFloat64())
		}
	}
	weight, b := make([]float64, 300), make([]float64, 40)
	for i := range weight {
		weight[i] = rng.ExpFloat64()
	}
	for j := range b {
		b[j] = rng.NormFloat64()
	}
	for _, w := range [][]float64{nil, weight} {
		few, all := RowsOf(x), &Rows{x: x}
		if few.ends == nil || RowsOf(mat.NewDense(1, 2, []float64{1, 0})).ends != nil {
			t.Fatal("sparse rows are not known as such")
		}
		if !mat.EqualApprox(few.SecondMoment(w), all.SecondMoment(w), 1e-14) {
			t.Error("another second moment")
		}
		var have, want [2][]float64
		for k, r := range []*Rows{few, all} {
			to := []*[2][]float64{&have, &want}[k]
			to[0], to[1] = make([]float64, 300), make([]float64, 40)
			r.Times(to[0], b)
			r.Sum(to[1], 2, w)
		}
		for k := range have {
			if !floats.EqualApprox(have[k], want[k], 1e-12) {
				t.Errorf("product %d: %v, want %v", k, have[k], want[k])
			}
		}
	}
}
