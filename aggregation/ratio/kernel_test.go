package ratio

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
)

func slowKernel(k Kernel, a, b []float64) float64 {
	if k.Name == "rbf" {
		return math.Exp(-k.Gamma * math.Pow(floats.Distance(a, b, 2), 2))
	}
	return embedding.Dot(a, b)
}

func TestKernelSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := normalRows(kernelBlock+9, 3, rng), normalRows(kernelBlock+2, 3, rng)
	for _, k := range []Kernel{RBF(0.3), Kernel{Name: "linear"}} {
		n, _ := x.Dims()
		m, _ := y.Dims()
		row, column := make([]float64, n), make([]float64, m)
		k.Sums(x, y, row, column)
		k.Sums(x, y, nil, nil)
		wantRow, wantColumn := make([]float64, n), make([]float64, m)
		for i := range n {
			for j := range m {
				v := slowKernel(k, x.RawRowView(i), y.RawRowView(j))
				wantRow[i] += v
				wantColumn[j] += v
			}
		}
		for i := range n {
			if math.Abs(row[i]-wantRow[i]) > 1e-9 {
				t.Fatalf("%s: row %d: %g, want %g", k.Name, i, row[i], wantRow[i])
			}
		}
		for j := range m {
			if math.Abs(column[j]-wantColumn[j]) > 1e-9 {
				t.Fatalf("%s: column %d: %g, want %g", k.Name, j, column[j], wantColumn[j])
			}
		}
	}
}

func TestGram(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	sets := []*mat.Dense{normalRows(5, 2, rng), normalRows(8, 2, rng), normalRows(3, 2, rng)}
	for _, k := range []Kernel{RBF(0.5), Kernel{Name: "linear"}} {
		g, scores := NewGram(k, sets)
		for i, x := range sets {
			n, _ := x.Dims()
			for j, y := range sets {
				m, _ := y.Dims()
				var v, u float64
				for a := range n {
					var s float64
					for b := range m {
						value := slowKernel(k, x.RawRowView(a), y.RawRowView(b))
						v += value / float64(n*m)
						s += value / float64(m)
						if a != b {
							u += value / float64(n*(n-1))
						}
					}
					if math.Abs(s-scores[i].At(a, j)) > 1e-10 {
						t.Fatalf("%s: score of row %d of set %d with %d", k.Name, a, i, j)
					}
				}
				if i != j {
					u = v
				}
				if math.Abs(g.VStatistic.At(i, j)-v) > 1e-10 ||
					math.Abs(g.UStatistic.At(i, j)-u) > 1e-10 {
					t.Fatalf("%s: G(%d,%d) = %g, %g; want %g, %g", k.Name, i, j,
						g.VStatistic.At(i, j),
						g.UStatistic.At(i, j), v, u)
				}
			}
		}
	}
}

// Noise of known variance leaves the diagonal right on average.
func TestEmbeddingGramWithNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	const d, sd, draws = 50, 0.3, 2000
	var sum, squares float64
	for range draws {
		phi := mat.NewDense(1, d, nil)
		phi.Set(0, 0, 0.5)
		for j := range d {
			phi.Set(0, j, phi.At(0, j)+sd*rng.NormFloat64())
		}
		v := EmbeddingGram(phi, []int{10}, []float64{1}, []float64{sd * sd}).VStatistic.At(0, 0)
		sum += v
		squares += v * v
	}
	mean := sum / draws
	// 6.1 standard errors: false alarm 1e-9.
	if tol := 6.1 * math.Sqrt((squares/draws-mean*mean)/draws); math.Abs(mean-0.25) > tol {
		t.Errorf("mean %.4f, want .25 ± %.4f", mean, tol)
	}
}

func TestKernelRefuses(t *testing.T) {
	for _, k := range []Kernel{{}, {Name: "poly"}, RBF(0), RBF(-1), RBF(math.NaN()),
		RBF(math.Inf(1))} {
		if k.Validate() == nil {
			t.Errorf("%+v: no error", k)
		}
	}
}

func TestMedianSquaredDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	if m, err := embedding.MedianSquaredDistance(mat.NewDense(3, 1, []float64{0, 1, 3}),
		rng); err != nil || m != 4 {
		t.Errorf("got %g, %v; want 4", m, err)
	}
	if _, err := embedding.MedianSquaredDistance(mat.NewDense(3, 1, nil), rng); err == nil {
		t.Error("equal rows: no error")
	}
	if m, err := embedding.MedianSquaredDistance(mat.NewDense(6, 1, []float64{0, 0, 0, 0, 0, 2}),
		rng); err != nil || m != 4 {
		t.Errorf("mostly equal rows: got %g, %v; want the largest, 4", m, err)
	}
}

func normalRows(n, d int, rng *rand.Rand) *mat.Dense {
	x := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			x.Set(i, j, rng.NormFloat64())
		}
	}
	return x
}

func embedderOf(t testing.TB, f embedding.Fourier) *embedding.Embedder {
	t.Helper()
	e, err := embedding.NewEmbedder(f)
	if err != nil {
		t.Fatal(err)
	}
	return e
}
