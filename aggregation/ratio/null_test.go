package ratio

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestNullQuantile: sums of weighted squares, very uneven ones included, exceed the threshold as
// often as the level says. 400,000 draws at 1e-3 give 400 ± 20; the tolerance of half the level is
// 10 standard errors. With two moments alone the rate would double.
func TestNullQuantile(t *testing.T) {
	const draws, level = 400_000, 1e-3
	for name, decay := range map[string]float64{"even": 1, "uneven": 0.7,
		"one direction rules": 0.3} {
		r := rand.New(rand.NewPCG(4, 4))
		values := make([]float64, 10)
		total, square, cube := 0.0, 0.0, 0.0
		for i := range values {
			values[i] = math.Pow(decay, float64(i))
			total += values[i]
		}
		for i := range values {
			values[i] /= total
			square += values[i] * values[i]
			cube += values[i] * values[i] * values[i]
		}
		at, two := nullQuantile(square, cube,
			1-level), distuv.ChiSquared{K: 1 / square}.Quantile(1-level)*square
		above, aboveTwo := 0, 0
		for range draws {
			sum := 0.0
			for _, v := range values {
				z := r.NormFloat64()
				sum += v * z * z
			}
			if sum > at {
				above++
			}
			if sum > two {
				aboveTwo++
			}
		}
		t.Logf("%s: %.2g above, by two moments %.2g", name, float64(above)/draws,
			float64(aboveTwo)/draws)
		if share := float64(above) / draws; share < level/2 || share > 1.5*level {
			t.Errorf("%s: a share of %.2g is above the quantile for %g", name, share, level)
		}
	}
	for _, damaged := range []float64{0, math.NaN(), math.Inf(1), -1} {
		if q := nullQuantile(damaged, damaged, 0.999); q > 1 {
			t.Errorf("of %v: %v", damaged, q)
		}
	}
}

// TestDoubtedSaysNothing: for a target that no mixture explains, intervals are [0,1].
func TestDoubtedSaysNothing(t *testing.T) {
	w := newWorld(2, 4, 1.5, 4)
	sets := w.sets(10, 60)
	foreign := w.set(100, .5, .5)
	for i := range 100 {
		for j := range 4 {
			foreign.Rows.Set(i, j, foreign.Rows.At(i, j)+3)
		}
	}
	m, err := Fit(sets, Options{Kernel: RBF(0.1)})
	if err != nil {
		t.Fatal(err)
	}
	e, err := m.Estimate(foreign)
	if err != nil {
		t.Fatal(err)
	}
	if !hasWarning(e.Warnings, PoorFit) {
		t.Fatalf("not doubted: %+v", e.GoodnessOfFit)
	}
	for k := range e.Shares {
		if e.Low[k] != 0 || e.High[k] != 1 {
			t.Errorf("class %d: %v to %v", k, e.Low[k], e.High[k])
		}
	}
}
