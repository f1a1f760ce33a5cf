package dataset

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestFourier: rows have norm 1 before the intercept, inner products equal the kernel up to 6 standard
// errors (a pair's cosine has variance at most 1/2; false alarms 2e-9 for fresh seeds), and the seed
// determines the map.
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

// TestRowsAlone: a mapped row does not depend, to the last bit, on the rows beside it. The bounds on what
// one record adds rest on this.
func TestRowsAlone(t *testing.T) {
	const n, d = 300, 144
	rng := rand.New(rand.NewPCG(1, 2))
	x := mat.NewDense(n, d, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = rng.Float64()
	}
	identity := Map{Kind: IdentityMap, Inputs: d, Scale: 12}
	fourier, err := FitFourier(identity, 64, Fourier{Gamma: 5, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	pca, err := FitPCA(x, 80)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]Map{"identity": identity, "fourier": fourier, "pca": pca} {
		all := m.Apply(x)
		for _, rows := range []int{1, 64, 65, 193, 257} {
			some := m.Apply(x.Slice(0, rows, 0, d).(*mat.Dense))
			if !mat.Equal(some, all.Slice(0, rows, 0, m.Dim())) {
				t.Errorf("%s: among %d rows a row has other features than among %d", name, rows, n)
			}
		}
	}
}
