package dataset

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// plane returns n points around a centre that vary in two directions of four, much more in the
// first.
func plane(n int) *mat.Dense {
	rng := rand.New(rand.NewPCG(1, 2))
	x := mat.NewDense(n, 4, nil)
	for i := range n {
		u, v := 0.3*(2*rng.Float64()-1), 0.03*(2*rng.Float64()-1)
		x.SetRow(i, []float64{0.5 + u, 0.5 + u, 0.5 + v, 0.5 - v})
	}
	return x
}

func TestFitPCA(t *testing.T) {
	x := plane(2000) // more than one block of the covariance
	m, err := FitPCA(x, 4, 0)
	if err != nil {
		t.Fatal(err)
	}
	if m.Outputs != 2 {
		t.Fatalf("%d directions kept, the points span 2", m.Outputs)
	}
	h := float32(math.Sqrt(0.5))
	for i, want := range []float32{h, 0, h, 0, 0, h, 0, -h} {
		// u and v are nearly uncorrelated in the sample. Rounding decides which of two equally
		// large entries is the larger, and so the sign.
		if got := m.Directions[i]; math.Abs(math.Abs(float64(got))-math.Abs(float64(want))) > 0.01 {
			t.Errorf("direction entry %d = %v, want ±%v", i, got, want)
		}
	}
	// Half of the rows may be clipped to the unit ball: see scaleQuantile.
	z, clipped := m.Apply(x), 0
	for i := range 2000 {
		if row := z.RawRowView(i); math.Hypot(row[0], row[1]) > 1/math.Sqrt2-1e-9 {
			clipped++
		}
	}
	if clipped < 990 || clipped > 1001 {
		t.Errorf("%d of 2000 rows at the boundary, want about 1000", clipped)
	}
	again, err := FitPCA(x, 2, 0)
	if err != nil || !mat.Equal(again.Apply(x), z) {
		t.Errorf("another fit gave another map: %v", err)
	}
}

// The variances of the mapped pool are proportional to λ^(1−whiten).
func TestFitPCAWhitened(t *testing.T) {
	x := plane(2000)
	for _, c := range []struct{ whiten, ratio float64 }{{0, 100}, {0.5, 10}, {1, 1}} {
		m, err := FitPCA(x, 2, c.whiten)
		if err != nil {
			t.Fatal(err)
		}
		m.Scale *= 100 // far from clipping
		z := m.Apply(x)
		got := stat.Variance(mat.Col(nil, 0, z), nil) / stat.Variance(mat.Col(nil, 1, z), nil)
		// u and v are independent draws of the same shape: the ratio of their sample variances has
		// a relative standard deviation below 3 %. The seed is fixed.
		if math.Abs(got/c.ratio-1) > 0.15 {
			t.Errorf("whiten %v: variance ratio %v, want about %v", c.whiten, got, c.ratio)
		}
	}
}

// covariance agrees with its definition, across the edge of a block.
func TestCovariance(t *testing.T) {
	x := plane(1500)
	mean := make([]float64, 4)
	for j := range mean {
		mean[j] = stat.Mean(mat.Col(nil, j, x), nil)
	}
	got := covariance(x, mean)
	for i := range 4 {
		for j := range 4 {
			want := stat.Covariance(mat.Col(nil, i, x), mat.Col(nil, j, x), nil) * 1499 / 1500
			if math.Abs(got.At(i, j)-want) > 1e-12 {
				t.Errorf("covariance %d,%d = %v, want %v", i, j, got.At(i, j), want)
			}
		}
	}
}

func TestFitPCAErrors(t *testing.T) {
	nan := plane(5)
	nan.Set(2, 1, math.NaN())
	for want, fit := range map[string]func() (Map, error){
		"ask for at least 1": func() (Map, error) { return FitPCA(plane(5), 0, 0) },
		"needs at least 2":   func() (Map, error) { return FitPCA(plane(1), 1, 0) },
		"all rows of the": func() (Map, error) {
			return FitPCA(mat.NewDense(3, 3, []float64{.1, .2, .3, .1, .2, .3, .1, .2, .3}), 1, 0)
		},
		"column 1 of the":     func() (Map, error) { return FitPCA(nan, 1, 0) },
		"whiten is 2":         func() (Map, error) { return FitPCA(plane(5), 1, 2) },
		"the pool has 0 rows": func() (Map, error) { return FitPCA(&mat.Dense{}, 1, 0) },
	} {
		if _, err := fit(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func BenchmarkFitPCA(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := mat.NewDense(15000, 784, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = rng.Float64()
	}
	b.Run("fit", func(b *testing.B) {
		for b.Loop() {
			if _, err := FitPCA(x, 40, 0); err != nil {
				b.Fatal(err)
			}
		}
	})
	m, err := FitPCA(x, 40, 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("apply", func(b *testing.B) {
		for b.Loop() {
			m.Apply(x)
		}
	})
}
