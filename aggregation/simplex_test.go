package aggregation

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// The dumb copy: bisect the threshold θ of max(v−θ, 0).
func slowProjection(v []float64, mass float64) []float64 {
	low, high := slices.Min(v)-mass, slices.Max(v)
	for range 200 {
		theta, sum := (low+high)/2, 0.0
		for _, x := range v {
			sum += max(x-theta, 0)
		}
		if sum > mass {
			low = theta
		} else {
			high = theta
		}
	}
	out := make([]float64, len(v))
	for k, x := range v {
		out[k] = max(x-(low+high)/2, 0)
	}
	return out
}

func TestProjectSimplex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.SliceOfN(rapid.Float64Range(-100, 100), 1, 12).Draw(t, "v")
		mass := rapid.Float64Range(0.01, 50).Draw(t, "mass")
		got, want := ProjectSimplex(v, mass), slowProjection(v, mass)
		var sum float64
		for k, x := range got {
			sum += x
			if x < 0 || math.Abs(x-want[k]) > 1e-9 {
				t.Fatalf("project %v to mass %g = %v, want %v", v, mass, got, want)
			}
		}
		if math.Abs(sum-mass) > 1e-9 {
			t.Fatalf("sum %g, want %g", sum, mass)
		}
	})
}

func TestProjectSimplexHuge(t *testing.T) {
	if got := ProjectSimplex([]float64{1e300, 0, -1e300}, 1); !slices.Equal(got, []float64{1, 0, 0}) {
		t.Errorf("got %v", got)
	}
}

func TestProjectCounts(t *testing.T) {
	for _, c := range []struct {
		noisy []int64
		size  int64
		want  []float64
	}{
		{[]int64{3, 4, 5}, 12, []float64{3, 4, 5}}, // already there: unchanged
		{[]int64{-2, 8, 6}, 12, []float64{0, 7, 5}},
		{[]int64{5, 5}, 12, []float64{6, 6}},
		{[]int64{-100, -100, 50}, 12, []float64{0, 0, 12}},
	} {
		if got := ProjectCounts(c.noisy, c.size); !slices.Equal(got, c.want) {
			t.Errorf("%v of %d: got %v, want %v", c.noisy, c.size, got, c.want)
		}
	}
}

func TestProjectSimplexRefuses(t *testing.T) {
	for _, v := range [][]float64{nil, {math.NaN()}, {math.Inf(1)}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: no panic", v)
				}
			}()
			ProjectSimplex(v, 1)
		}()
	}
}

// Against the best over every support, solved alone; and the certificate.
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

// With the identity as metric it is the Euclidean projection.
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
		for k, w := range ProjectSimplex(b, 1) {
			if math.Abs(got[k]-w) > 1e-10 {
				t.Fatalf("got %v", got)
			}
		}
	}
}
