package ratio

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/fitting"
)

// Compares with the best solution over every support, and checks the certificate.
func TestQuadraticOnSimplex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for trial := range 300 {
		c := 2 + trial%5
		root := mat.NewDense(c, c, nil)
		b := make([]float64, c)
		for i := range c {
			for j := range c {
				root.Set(i, j, rng.NormFloat64())
			}
			b[i] = 2 * rng.NormFloat64()
		}
		h := mat.NewSymDense(c, nil)
		h.SymOuterK(1, root)
		f := func(x []float64) float64 {
			v := mat.NewVecDense(c, x)
			return mat.Inner(v, h, v)/2 - mat.Dot(v, mat.NewVecDense(c, b))
		}
		x, gap := quadraticOnSimplex(h, b)
		want := math.Inf(1)
		for bits := 1; bits < 1<<c; bits++ {
			inside := make([]bool, c)
			for i := range inside {
				inside[i] = bits>>i&1 == 1
			}
			if z, ok := supportMinimum(h, b, inside, 1); ok && slices.Min(z) >= 0 {
				want = min(want, f(z))
			}
		}
		var sum float64
		for _, v := range x {
			sum += v
		}
		if math.Abs(sum-1) > 1e-9 || slices.Min(x) < 0 {
			t.Fatalf("x = %v is not on the simplex", x)
		}
		if f(x) > want+1e-8 || gap > 1e-8 || f(x)-want > gap+1e-8 {
			t.Fatalf("f = %.12g with gap %.3g, best support %.12g", f(x), gap, want)
		}
	}
}

// With the identity as metric the solution is the Euclidean projection.
func TestQuadraticIsProjection(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	for range 100 {
		c := 8
		h, b := mat.NewSymDense(c, nil), make([]float64, c)
		for k := range c {
			h.SetSym(k, k, 1)
			b[k] = rng.NormFloat64()
		}
		got, _ := quadraticOnSimplex(h, b)
		for k, w := range fitting.ProjectSimplex(b, 1) {
			if math.Abs(got[k]-w) > 1e-10 {
				t.Fatalf("got %v", got)
			}
		}
	}
}
