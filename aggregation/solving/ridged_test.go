package solving

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestGramIsOneCall: gram by blocks equals one call bit for bit, also if the last block is not
// full.
func TestGramIsOneCall(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, blockRows - 1, blockRows, blockRows + 1, 5*blockRows + 3} {
		x := mat.NewDense(n, 9, nil)
		for i := range x.RawMatrix().Data {
			x.RawMatrix().Data[i] = rng.NormFloat64()
		}
		var want mat.SymDense
		want.SymOuterK(1./float64(n), x.T())
		if got := Gram(1/float64(n), x); !mat.Equal(got, &want) {
			t.Errorf("%d rows: the sum differs from that of one call", n)
		}
	}
}

// TestNormsAreTheMetrics: norms by triangular factors equal those by eigenvectors, also for a
// second moment without full rank, as with one-hot columns beside an intercept.
func TestNormsAreTheMetrics(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, d = 2*blockRows + 5, 7
	x := mat.NewDense(n, d, nil)
	weight := make([]float64, n)
	for i := range n {
		weight[i] = rng.Float64()
		for j := range d - 1 {
			x.Set(i, j, rng.NormFloat64())
		}
		x.Set(i, d-1, x.At(i, 0)+x.At(i, 1))
	}
	const ridge = 4e-3
	var white mat.Dense
	white.Mul(x, SpectrumOf(x, weight).Power(-0.5, 1, ridge))
	for i, got := range NewRidgeCholesky(SecondMoment(x, weight), ridge).Norms(x) {
		if want := mat.Norm(white.RowView(i), 2); math.Abs(got-want) > 1e-9*want {
			t.Errorf("row %d: length %v, want %v", i, got, want)
		}
	}
}
