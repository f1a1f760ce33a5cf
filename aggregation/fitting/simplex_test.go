package fitting

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// slowProjection bisects the threshold θ of max(v−θ, 0).
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
	if got := ProjectSimplex([]float64{1e300, 0, -1e300}, 1); !slices.Equal(got,
		[]float64{1, 0, 0}) {
		t.Errorf("got %v", got)
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
