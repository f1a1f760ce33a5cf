package dataset

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestFourier: rows have norm 1 before the intercept, inner products are the
// kernel up to 6 standard errors (a pair's cosine has variance at most 1/2; so
// the tolerance is exceeded once in 5·10⁸ for fresh seeds), and the seed decides.
func TestFourier(t *testing.T) {
	first := Map{Kind: IdentityMap, Inputs: 3, Scale: 2}
	const features = 20_000
	m, err := FitFourier(first, features, Fourier{Gamma: 0.7, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	x := mat.NewDense(3, 3, []float64{0, 0.5, 1, 1, 1, 0, 0.2, 0.5, 0.9})
	z := m.Features(x)
	for i := range 3 {
		for j := range 3 {
			squared := 0.0
			for k := range 3 {
				squared += (x.At(i, k) - x.At(j, k)) * (x.At(i, k) - x.At(j, k)) / 4
			}
			want, got := math.Exp(-0.7*squared), mat.Dot(z.RowView(i), z.RowView(j))
			tol := 1e-9
			if i != j {
				tol = 6 * math.Sqrt(0.5/(features/2))
			}
			if math.Abs(got-want) > tol {
				t.Errorf("⟨z%d, z%d⟩ = %g, kernel %g ± %g", i, j, got, want, tol)
			}
		}
	}
	other := m
	other.Fourier = &Fourier{Gamma: 0.7, Seed: 6}
	if mat.Equal(other.Features(x), z) || !mat.Equal(m.Features(x), z) {
		t.Error("the seed does not decide")
	}
	for i := range 3 {
		if norm := mat.Norm(m.Apply(x).RowView(i), 2); !(norm <= 1) {
			t.Errorf("norm %g", norm)
		}
	}
	for _, bad := range []struct {
		features int
		gamma    float64
	}{{3, 1}, {0, 1}, {4, 0}, {4, math.NaN()}, {4, math.Inf(1)}} {
		if _, err := FitFourier(first, bad.features, Fourier{Gamma: bad.gamma}); err == nil {
			t.Errorf("%+v was accepted", bad)
		}
	}
}
