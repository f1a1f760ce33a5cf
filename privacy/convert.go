package privacy

import "math"

// mainShare is the share of δ that the first of a ledger's rules gets (see rules). RhoOf calibrates
// to this share, so that one release at (ε,δ) fits a limit of (ε,δ). All of δ would need 0.06 %
// less noise at δ = 10⁻⁶.
const mainShare = 63. / 64

// slack is added to ε against floating-point error. A few dozen operations on numbers of moderate
// size are accurate to a relative 1e-14.
const slack = 1e-10

// EpsilonOf returns an ε such that every ρ-zCDP mechanism is (ε,δ)-private. By Canonne, Kamath &
// Steinke 2020, Corollary 13, solved for ε, every order α > 1 gives such an ε:
//
//	ε(α) = αρ + (log(1/δ) + (α−1)·log(1−1/α) − log α)/(α−1)
//
// A golden-section search on log(α−1) looks for the smallest. As any α is valid, an inexact search
// costs a little noise, never privacy. δ ≤ 0 or an infinite ρ gives +Inf.
func EpsilonOf(rho, delta float64) float64 {
	switch {
	case rho <= 0:
		return 0
	case !(delta > 0) || !(rho < math.Inf(1)):
		return math.Inf(1)
	case delta >= 1:
		return 0
	}
	at := func(logGap float64) float64 {
		gap := math.Exp(logGap) // α − 1
		return (1+gap)*rho + (-math.Log(delta)-math.Log1p(gap))/gap - math.Log1p(1/gap)
	}
	// The best α is near 1 + √(log(1/δ)/ρ): search four decades either side; keep the guess if
	// better.
	guess := math.Log(-math.Log(delta)/rho) / 2
	best := min(at(guess), goldenSection(at, guess-9, guess+9))
	return max(0, best+slack*(1+math.Abs(best)))
}

// RhoOf returns the largest ρ, up to rounding, with EpsilonOf(ρ, 63δ/64) ≤ ε; 0 if δ is 0.
func RhoOf(g Budget) float64 { return rhoAt(g.Epsilon, g.Delta*mainShare) }

// rhoAt bisects for the largest ρ with EpsilonOf(ρ, delta) ≤ epsilon, and rounds it down.
func rhoAt(epsilon, delta float64) float64 {
	if !(epsilon > 0) || !(delta > 0) {
		return 0
	}
	// The search stops at ρ = ε, where the privacy loss is already ε on average. A larger ρ needs a
	// useless δ.
	low, high := 0., epsilon
	if delta >= 1 || EpsilonOf(high, delta) <= epsilon {
		return high
	}
	for range 64 {
		middle := (low + high) / 2
		if EpsilonOf(middle, delta) <= epsilon {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}

// goldenSection returns the least value of f that it meets on [low, high]: the minimum if f has one
// valley there. 40 steps shrink the interval by 10⁸, and a minimum is flat, so the value is
// accurate to about 10⁻¹⁵.
func goldenSection(f func(float64) float64, low, high float64) float64 {
	const g = 0.6180339887498949 // (√5−1)/2
	a, b := high-g*(high-low), low+g*(high-low)
	fa, fb := f(a), f(b)
	for range 40 {
		if fa < fb {
			high, b, fb = b, a, fa
			a = high - g*(high-low)
			fa = f(a)
		} else {
			low, a, fa = a, b, fb
			b = low + g*(high-low)
			fb = f(b)
		}
	}
	return min(fa, fb)
}
