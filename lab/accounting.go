package main

import (
	"math"

	"caucus/privacy"
)

// Rényi accounting for the rivals. A curve holds the Rényi divergence at each
// of the orders; curves of releases from the same records add (Mironov 2017).

// renyiOrders are those that the accountants of the rivals' authors use, thinned.
var renyiOrders = func() []float64 {
	var out []float64
	for a := 2; a <= 64; a++ {
		out = append(out, float64(a))
	}
	return append(out, 80, 96, 128, 192, 256, 384, 512, 1024, 2048, 4096)
}()

// epsilonOfRenyi converts a curve to (ε,δ) (Canonne, Kamath & Steinke 2020, Proposition 12).
func epsilonOfRenyi(divergence []float64, delta float64) float64 {
	best := math.Inf(1)
	for i, a := range renyiOrders {
		e := divergence[i] + math.Log1p(-1/a) - (math.Log(delta)+math.Log(a))/(a-1)
		best = math.Min(best, e)
	}
	return math.Max(best, 0)
}

// sampledGaussian is the divergence at integer order a of one step of the Gaussian mechanism with
// noise of standard deviation sigma times the sensitivity, on a Poisson sample at a rate, for
// adding or removing a record (Mironov, Talwar & Zhang 2019, Equation 5).
func sampledGaussian(rate, sigma, a float64) float64 {
	if rate >= 1 {
		return a / (2 * sigma * sigma)
	}
	sum := math.Inf(-1)
	for k := 0.0; k <= a; k++ {
		c, _ := math.Lgamma(a + 1)
		d, _ := math.Lgamma(k + 1)
		e, _ := math.Lgamma(a - k + 1)
		sum = logAdd(sum, c-d-e+k*math.Log(rate)+(a-k)*math.Log1p(-rate)+k*(k-1)/(2*sigma*sigma))
	}
	return math.Max(0, sum/(a-1))
}

// sampledNoise is the least sigma, to a hundredth, at which so many steps are
// (ε,δ) for adding or removing a record.
func sampledNoise(rate float64, steps int, b privacy.Budget) float64 {
	private := func(sigma float64) bool {
		best := math.Inf(1)
		for _, a := range renyiOrders {
			if a > 512 {
				break // the sum is long, and never the best order here
			}
			e := float64(steps)*sampledGaussian(rate, sigma, a) +
				math.Log1p(-1/a) - (math.Log(b.Delta)+math.Log(a))/(a-1)
			best = math.Min(best, e)
		}
		return best <= b.Epsilon
	}
	low, high := 0.2, 0.4
	for !private(high) {
		low, high = high, 2*high
		if high > 1e6 {
			return high
		}
	}
	for high/low > 1.01 {
		if middle := math.Sqrt(low * high); private(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return high
}

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(b, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}
