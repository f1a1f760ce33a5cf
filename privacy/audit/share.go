package audit

import "math"

// leastShare returns Clopper & Pearson's lower bound on a probability after k successes of n: the p
// at which k or more successes have probability level. The errors of bisection and of atLeast only
// lower it.
func leastShare(k, n int, level float64) float64 {
	if k <= 0 {
		return 0
	}
	low, high := 0., float64(k)/float64(n)
	for range 100 {
		if p := (low + high) / 2; atLeast(k, n, p) <= level*(1-tailError) {
			low = p
		} else {
			high = p
		}
	}
	return low
}

// mostShare returns Clopper & Pearson's upper bound: 1 minus the lower bound on the share of
// failures.
func mostShare(k, n int, level float64) float64 { return 1 - leastShare(n-k, n, level) }

// tailError bounds the relative error of atLeast for n up to 2²⁹. Its first term has three
// log-gammas and two more logarithms, each at most 2·10¹⁰ and accurate to a relative 2·10⁻¹⁶.
const tailError = 3e-5

// atLeast returns P[X ≥ k], X ~ Binomial(n, p), p < k/n, 1 ≤ k ≤ n. After P[X = k], each
// probability is the one before it times
//
//	(n−j)/(j+1) · p/(1−p),  j = k, k+1, …,
//
// which is below 1 and decreasing. So the omitted terms sum to less than a geometric series, which
// is added.
func atLeast(k, n int, p float64) float64 {
	if p <= 0 {
		return 0
	}
	odds := p / (1 - p)
	sum, term := 1., 1.
	for j := k; j < n; j++ {
		ratio := float64(n-j) / float64(j+1) * odds
		if rest := term * ratio / (1 - ratio); rest < 1e-15*sum {
			sum += rest
			break
		}
		term *= ratio
		sum += term
	}
	return sum * binomial(k, n, p)
}

func binomial(k, n int, p float64) float64 {
	g := func(x int) float64 { l, _ := math.Lgamma(float64(x + 1)); return l }
	return math.Exp(g(n) - g(k) - g(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}
