package ratio

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestSampleSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	y := make([]int, 1000)
	for i := range y {
		y[i] = i%4 - 1 // a quarter unlabelled
	}
	samples, err := SampleSets(y, SampleOptions{Classes: 3, Size: 90, Sets: 50}, rng)
	if err != nil || len(samples) != 50 {
		t.Fatal(err)
	}
	for _, s := range samples {
		var sum float64
		for k, q := range SharesOfLabels(y, s.Rows, 3) {
			sum += q
			if math.Abs(q-s.Shares[k]) > 1e-12 {
				t.Fatalf("shares %v are not those of the rows", s.Shares)
			}
		}
		seen := map[int]bool{}
		for _, r := range s.Rows {
			if y[r] < 0 || seen[r] {
				t.Fatalf("row %d is unlabelled or drawn twice", r)
			}
			seen[r] = true
		}
		if len(s.Rows) != 90 || math.Abs(sum-1) > 1e-9 {
			t.Fatalf("%d rows, shares sum to %g", len(s.Rows), sum)
		}
	}
	for _, s := range []SampleOptions{{}, {Classes: 9, Size: 100, Sets: 1}} {
		if _, err := SampleSets(y, s, rng); err == nil {
			t.Errorf("%+v: no error", s)
		}
	}
}

// A class may need more rows than there are; rows are then reused.
func TestSampleAtSharesReuses(t *testing.T) {
	s, err := SampleAtShares([]int{0, 1, 1}, []float64{.8, .2}, 10, rand.New(rand.NewPCG(1, 1)))
	if err != nil || len(s.Rows) != 10 || math.Abs(s.Shares[0]-.8) > 1e-12 {
		t.Errorf("%+v, %v", s, err)
	}
}

// The first coordinate of a uniform point on the simplex of c classes has mean 1/c and variance
// (c−1)/(c²(c+1)).
func TestUniformShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const c, n = 4, 20000
	var mean, second float64
	for range n {
		p := UniformShares(c, rng)
		mean += p[0] / n
		second += p[0] * p[0] / n
	}
	variance := float64(c-1) / (c * c * (c + 1))
	if tol := 6.1 * math.Sqrt(variance/n); math.Abs(mean-1./c) > tol { // false alarm 1e-9
		t.Errorf("mean %.4f, want .25 ± %.4f", mean, tol)
	}
	// Var(p²) ≤ E p⁴ = 24·Γ(4)/Γ(8) < .029.
	if tol := 6.1 * math.Sqrt(0.029/n); math.Abs(second-variance-1./c/c) > tol {
		t.Errorf("second moment %.4f, want %.4f ± %.4f", second, variance+1./c/c, tol)
	}
}
