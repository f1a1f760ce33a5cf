package main

import (
	"math"
	"math/rand/v2"

	"caucus/aggregation"
	"caucus/privacy"
)

// Confident-GNMax (Papernot, Song, Mironov, Raghunathan, Talwar & Erlingsson
// 2018): for a row of the pool, answer if the largest count plus N(0, σ₁²) is
// at least T, and then with the class of largest count plus N(0, σ₂²).

// confidentGNMax are the constants of a run.
type confidentGNMax struct{ Threshold, Sigma1, Sigma2 float64 }

// pateGrid is the declared grid, in shares of the number of teachers: the noise of the answer, that
// of the check four times as much, a threshold of .6 (their experiments use .6 to .7 and 3 to 5
// times).
func pateGrid(teachers float64) (grid []confidentGNMax) {
	for _, s := range []float64{.02, .04, .08, .15, .3, .6, 1.2, 2.5} {
		grid = append(grid, confidentGNMax{Threshold: .6 * teachers, Sigma1: 4 * s * teachers,
			Sigma2: s * teachers})
	}
	return grid
}

// label answers rows of the pool in random order until the budget is spent and returns each row's
// class, −1 where it was not answered. Accounting is data-dependent for answers (their Theorem 6)
// and data-independent for checks; the ε so computed is itself not private, in this rival's favour.
func (c confidentGNMax) label(t *aggregation.Tally, b privacy.Budget, rng *rand.Rand) []int {
	answer := make([]int, t.Rows())
	for i := range answer {
		answer[i] = -1
	}
	spent := make([]float64, len(renyiOrders))
	for _, i := range rng.Perm(t.Rows()) {
		next := make([]float64, len(spent))
		for j, a := range renyiOrders {
			next[j] = spent[j] + a/(2*c.Sigma1*c.Sigma1)
		}
		if epsilonOfRenyi(next, b.Delta) > b.Epsilon {
			return answer
		}
		spent = next
		top := 0
		for k := range t.Classes() {
			if t.Count(i, k) > t.Count(i, top) {
				top = k
			}
		}
		if float64(t.Count(i, top))+c.Sigma1*rng.NormFloat64() < c.Threshold {
			continue
		}
		price := gnmaxDivergence(c.wrong(t, i, top), c.Sigma2)
		next = make([]float64, len(spent))
		for j := range next {
			next[j] = spent[j] + price[j]
		}
		if epsilonOfRenyi(next, b.Delta) > b.Epsilon {
			return answer
		}
		spent = next
		best := math.Inf(-1)
		for k := range t.Classes() {
			if v := float64(t.Count(i, k)) + c.Sigma2*rng.NormFloat64(); v > best {
				best, answer[i] = v, k
			}
		}
	}
	return answer
}

// wrong is the logarithm of a bound on the probability that the answer is not
// the largest class (their Proposition 7).
func (c confidentGNMax) wrong(t *aggregation.Tally, i, top int) float64 {
	q := math.Inf(-1)
	for k := range t.Classes() {
		if k == top {
			continue
		}
		gap := float64(t.Count(i, top)-t.Count(i, k)) / (2 * c.Sigma2)
		if e := math.Erfc(gap); e > 0 {
			q = logAdd(q, math.Log(e/2))
		} else { // erfc(x) ≤ exp(−x²)
			q = logAdd(q, -gap*gap-math.Ln2)
		}
	}
	return math.Min(q, math.Log1p(-1/float64(t.Classes())))
}

// gnmaxDivergence is the Rényi curve of one answer of GNMax, whose largest class is missed with
// probability at most e^logq: the smaller of α/σ² and Theorem 6 with the orders of their
// Proposition 10.
func gnmaxDivergence(logq, sigma float64) []float64 {
	v := sigma * sigma
	out := make([]float64, len(renyiOrders))
	for i, a := range renyiOrders {
		out[i] = a / v
	}
	if !(logq < 0) {
		return out
	}
	mu2 := math.Sqrt(v * -logq)
	mu1 := mu2 + 1
	rdp1, rdp2 := mu1/v, mu2/v
	limit := (mu2-1)*rdp2 - mu2*(math.Log(1+1/(mu1-1))+math.Log(1+1/(mu2-1)))
	if mu2 <= 1 || logq > limit || -logq <= rdp2 {
		return out
	}
	log1q := math.Log1p(-math.Exp(logq))
	for i, a := range renyiOrders {
		if a >= mu1 {
			continue
		}
		under := (logq + rdp2) * (1 - 1/mu2)
		logA := (a - 1) * (log1q - math.Log(-math.Expm1(under)))
		logB := (a - 1) * (rdp1 - logq/(mu1-1))
		out[i] = math.Min(out[i], logAdd(log1q+logA, logq+logB)/(a-1))
	}
	return out
}

// pateLabels runs the grid and keeps the run whose answers agree most with the plurality of the
// votes: a choice that looks at private votes, in this rival's favour.
func pateLabels(t *aggregation.Tally, b privacy.Budget, rng *rand.Rand) (best []int, answered int) {
	bestScore := math.Inf(-1)
	for _, c := range pateGrid(float64(t.Ballots())) {
		labels := c.label(t, b, rng)
		score, n := 0.0, 0
		for i, k := range labels {
			if k < 0 {
				continue
			}
			n++
			right := true
			for j := range t.Classes() {
				right = right && t.Count(i, j) <= t.Count(i, k)
			}
			if right {
				score++
			} else {
				score -= 1 / float64(t.Classes()-1)
			}
		}
		if score > bestScore {
			best, bestScore, answered = labels, score, n
		}
	}
	return best, answered
}
