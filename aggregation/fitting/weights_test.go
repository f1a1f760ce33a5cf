package fitting

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/solving"
)

// repeated returns x with row i repeated count[i] times, and for each new row the index of its
// original.
func repeated(x *mat.Dense, count []float64) (*mat.Dense, []int) {
	_, d := x.Dims()
	var of []int
	for i, c := range count {
		for range int(c) {
			of = append(of, i)
		}
	}
	out := mat.NewDense(len(of), d, nil)
	for i, row := range of {
		out.SetRow(i, x.RawRowView(row))
	}
	return out, of
}

// TestFitWeightsOfWeightedRows compares with a dumb copy: a row of weight k becomes k rows. Tilt, λ
// and every row's share of the weight are the same.
func TestFitWeightsOfWeightedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	d := designs(t)["blocks"]
	x := d.Rows(people(300, 0, rng))
	mean := newWeightLaw(d.Rows(people(3000, 0.6, rng)), nil).mean
	base := make([]float64, 300)
	for i := range base {
		base[i] = float64(1 + rng.IntN(5))
	}
	base[0] = 1 // the lightest row, so that both have the same ceiling
	copies, of := repeated(x, base)
	for _, lambda := range []float64{0, 0.01} {
		got := FitWeights(x, base, mean, IsotropicNoise(d.Cells(), 0.01), lambda, 0, rng)
		want := FitWeights(copies, nil, mean, IsotropicNoise(d.Cells(), 0.01), lambda, 0, rng)
		if got.Lambda != want.Lambda || got.Lambda == 0 {
			t.Errorf("λ = %g is chosen, %g of the copies", got.Lambda, want.Lambda)
		}
		share := make([]float64, 300)
		for i, w := range want.Weight {
			share[of[i]] += w / float64(len(of))
		}
		for i, w := range got.Weight {
			if math.Abs(w/300-share[i]) > 1e-6*share[i] {
				t.Fatalf("row %d has %g of the weight, %g as copies", i, w/300, share[i])
			}
		}
	}
	// keep is a share of the base's effective rows, not of all rows.
	_, before, _ := weightsOf(solving.RowsOf(x), base, mat.NewDense(d.Cells(), 1, nil))
	for _, keep := range []float64{0.3, 0.9} {
		if f := FitWeights(x, base, mean, IsotropicNoise(d.Cells(), 0.001), 0, keep,
			rng); f.EffectiveRows < keep*before {
			t.Errorf("%.0f rows stay effective of %.0f, want a share of %g", f.EffectiveRows, before, keep)
		}
	}
}

// TestDriftOfWeightedRows compares with the definition, over repeated rows and with the effective
// number of the weighted rows.
func TestDriftOfWeightedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	const n, records, sd = 200, 5000.0, 0.003
	x := mat.NewDense(n, 2, nil)
	base := make([]float64, n)
	sum, squares := 0.0, 0.0
	for i := range n {
		x.Set(i, 0, rng.NormFloat64()*0.2)
		x.Set(i, 1, x.At(i, 0)/2+rng.NormFloat64()*0.1)
		base[i] = float64(1 + rng.IntN(6))
		sum, squares = sum+base[i], squares+base[i]*base[i]
	}
	copies, of := repeated(x, base)
	var mean [2]float64
	var c [2][2]float64
	for i := range of {
		for j := range 2 {
			mean[j] += copies.At(i, j) / float64(len(of))
		}
	}
	for i := range of {
		for j := range 2 {
			for k := range 2 {
				c[j][k] += (copies.At(i, j) - mean[j]) * (copies.At(i,
					k) - mean[k]) / float64(len(of))
			}
		}
	}
	private := []float64{mean[0] + 0.02, mean[1] - 0.01}
	// The statistic is dᵀ(sd²I + (1/records + 1/effective)·C)⁻¹d: both matrices share C's
	// directions.
	f := 1/records + squares/(sum*sum)
	a, b, e := sd*sd+f*c[0][0], f*c[0][1], sd*sd+f*c[1][1]
	u, v := private[0]-mean[0], private[1]-mean[1]
	want := (e*u*u - 2*b*u*v + a*v*v) / (a*e - b*b)
	got := MeasureDrift(x, base, private, sd, records)
	if got.Directions != 2 || math.Abs(got.Statistic-want) > 1e-9*want {
		t.Errorf("drift %+v, want %.6f in 2 directions", got, want)
	}
}
