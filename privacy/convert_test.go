package privacy

import (
	"math"
	"testing"
)

// TestEpsilonOf compares with the least ε on a dense grid of orders α, and with the larger, simple
// bound ρ + 2√(ρ·log(1/δ)).
func TestEpsilonOf(t *testing.T) {
	for _, rho := range []float64{1e-9, 1e-4, 0.01, 0.5, 3, 40} {
		for _, delta := range []float64{1e-12, 1e-6, 1e-3, 0.1} {
			got := EpsilonOf(rho, delta)
			least := math.Inf(1)
			for log := -14.; log < 14; log += 0.001 {
				gap := math.Exp(log)
				alpha := 1 + gap
				// δ = e^{(α−1)(αρ−ε)}/(α−1)·(1−1/α)^α, solved for ε.
				least = min(least, alpha*rho+(-math.Log(delta)-log+alpha*math.Log(gap/alpha))/gap)
			}
			least = max(least, 0)
			if got < least*(1-1e-6)-1e-9 || got > least*(1+1e-6)+1e-9 {
				t.Errorf("EpsilonOf(%g, %g) = %.9g, grid gives %.9g", rho, delta, got, least)
			}
			if simple := rho + 2*math.Sqrt(-rho*math.Log(delta)); got > simple {
				t.Errorf("EpsilonOf(%g, %g) = %g, above the simple bound %g", rho, delta, got, simple)
			}
		}
	}
	for _, c := range []struct{ rho, delta, want float64 }{{1, 0, math.Inf(1)},
		{math.Inf(1), 0.1, math.Inf(1)}, {0, 0, 0}, {1, 1, 0}} {
		if got := EpsilonOf(c.rho, c.delta); got != c.want {
			t.Errorf("EpsilonOf(%g, %g) = %g, want %g", c.rho, c.delta, got, c.want)
		}
	}
}

// TestEpsilonOfHolds: a continuous Gaussian with ρ = 1/(2σ²) has the exact curve δ(ε) =
// Φ(1/2σ−εσ) − e^ε·Φ(−1/2σ−εσ). At EpsilonOf(ρ,δ) the curve is below δ.
func TestEpsilonOfHolds(t *testing.T) {
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	for _, rho := range []float64{1e-4, 0.01, 0.5, 3, 40} {
		for _, delta := range []float64{1e-12, 1e-6, 1e-3, 0.1} {
			sigma, epsilon := 1/math.Sqrt(2*rho), EpsilonOf(rho, delta)
			exact := phi(1/(2*sigma)-epsilon*sigma) - math.Exp(epsilon)*phi(-1/(2*sigma)-epsilon*sigma)
			if exact > delta {
				t.Errorf("ρ = %g, δ = %g: at ε = %g the exact δ is %g", rho, delta, epsilon, exact)
			}
		}
	}
}

func TestRhoOf(t *testing.T) {
	for _, epsilon := range []float64{1e-3, 0.1, 1, 10, 60} {
		for _, delta := range []float64{1e-12, 1e-6, 1e-3} {
			rho := RhoOf(Budget{epsilon, delta})
			if EpsilonOf(rho, delta*mainShare) > epsilon {
				t.Errorf("ρ of (%g, %g) passes it", epsilon, delta)
			}
			if back := EpsilonOf(rho, delta); delta < epsilon/100 && back < epsilon*0.998 {
				t.Errorf("ρ of (%g, %g) gives only %g", epsilon, delta, back)
			}
		}
	}
	if got := RhoOf(Budget{1, 0}); got != 0 {
		t.Errorf("ρ at δ = 0 is %g", got)
	}
	if got := RhoOf(Budget{1, 1e-6}); math.Abs(got-0.02432) > 1e-5 {
		t.Errorf("ρ of (1, 1e-6) = %g", got)
	}
}
