package main

import (
	"math"
	"testing"

	"caucus/privacy"
)

// TestSampledGaussianIsNumeric: the closed form at an integer order is the
// integral E[(mixture/normal)^α] that it stands for.
func TestSampledGaussianIsNumeric(t *testing.T) {
	for _, c := range []struct{ rate, sigma, order float64 }{{.01, 1, 2}, {.1, 2, 8}, {.3, .9, 4},
		{1, 1.5, 3}} {
		sum, step := 0.0, 1e-3
		for x := -40.0; x < 60; x += step {
			base := math.Exp(-x*x/(2*c.sigma*c.sigma)) / (c.sigma * math.Sqrt(2*math.Pi))
			if base == 0 {
				continue
			}
			ratio := 1 - c.rate + c.rate*math.Exp((2*x-1)/(2*c.sigma*c.sigma))
			sum += step * base * math.Pow(ratio, c.order)
		}
		want := math.Log(sum) / (c.order - 1)
		if got := sampledGaussian(c.rate, c.sigma, c.order); math.Abs(got-want) > 1e-6*(1+want) {
			t.Errorf("%+v: divergence %.8f, the integral gives %.8f", c, got, want)
		}
	}
}

// TestSampledNoiseFits: the noise found keeps the budget, a twentieth less does
// not, and without sampling it agrees with the accountant of privacy/.
func TestSampledNoiseFits(t *testing.T) {
	b := privacy.Budget{Epsilon: 1, Delta: 1e-6}
	spent := func(rate, sigma float64, steps int) float64 {
		curve := make([]float64, len(renyiOrders))
		for i, a := range renyiOrders {
			curve[i] = float64(steps) * sampledGaussian(rate, sigma, a)
		}
		return epsilonOfRenyi(curve, b.Delta)
	}
	sigma := sampledNoise(.02, 200, b)
	if e := spent(.02, sigma, 200); e > b.Epsilon {
		t.Errorf("noise %v spends ε = %v of %v", sigma, e, b.Epsilon)
	}
	if e := spent(.02, sigma/1.05, 200); e <= b.Epsilon {
		t.Errorf("a twentieth less noise than %v would still do", sigma)
	}
	whole := sampledNoise(1, 10, b)
	if want := math.Sqrt(10 / (2 * privacy.RhoOf(b))); whole < .98*want || whole > 1.05*want {
		t.Errorf("without sampling, noise %v; from ρ it is %v", whole, want)
	}
}
