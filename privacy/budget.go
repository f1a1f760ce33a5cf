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
