package privacy

import (
	"fmt"
	"math"
)

// Budget is an (ε,δ) guarantee: P[M(D)∈S] ≤ e^ε·P[M(D′)∈S] + δ for all neighbours D, D′ and all
// sets S.
type Budget struct {
	Epsilon float64 // above 0
	Delta   float64 // in [0,1); 0: pure ε
}

// maxEpsilon: at ε = 64 one answer may reveal a unit with odds of e⁶⁴ ≈ 10²⁷ to one.
const maxEpsilon = 64

// mostPromising is the largest ε that goes without a word. Above it, a reader of two minds may
// become more than 99.3 % sure: e⁵/(1 + e⁵).
const mostPromising = 5

// EpsilonWords says in a sentence how little an ε above 5 promises at a unit; "" for others. A
// reader who holds two things about a unit for as likely as each other is e^ε/(1+e^ε) sure at most
// after an answer, but for δ.
func EpsilonWords(u Unit, epsilon float64) string {
	if epsilon <= mostPromising {
		return ""
	}
	sure := "certain"
	if p := 100 / (1 + math.Exp(-epsilon)); p < 99.99 {
		sure = fmt.Sprintf("%.4g %% sure", p)
	}
	return fmt.Sprintf("ε = %g promises little: who is in two minds about a %s may become %s by what is released, at ε = 1 only 73 %%", epsilon, u, sure)
}

// Validate requires 0 < Epsilon ≤ 64 and 0 ≤ Delta < 1; NaN fails. Delta 0 asks for pure ε.
func (b Budget) Validate() error {
	if !(b.Epsilon > 0) || b.Epsilon > maxEpsilon {
		return fmt.Errorf("check budget: epsilon is %v, give a number above 0 and at most %d", b.Epsilon, maxEpsilon)
	}
	if !(b.Delta >= 0) || b.Delta >= 1 || math.IsNaN(b.Delta) {
		return fmt.Errorf("check budget: delta is %v, give a number from 0 (pure epsilon) to below 1", b.Delta)
	}
	return nil
}
