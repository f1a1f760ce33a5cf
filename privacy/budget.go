package privacy

import (
	"fmt"
	"math"
)

// Budget is an (ε,δ) guarantee asked for or allowed: for neighbouring data D
// and D′ and every set S of outputs, P[M(D)∈S] ≤ e^ε·P[M(D′)∈S] + δ.
type Budget struct {
	Epsilon float64 // ε, above 0
	Delta   float64 // δ, in [0,1); 0 asks for pure ε
}

// maxEpsilon refuses guarantees that say nothing: at ε = 64 one answer may
// betray a unit with odds of 10²⁷ to one.
const maxEpsilon = 64

// Validate says which field is wrong and what to do.
func (g Budget) Validate() error {
	if !(g.Epsilon > 0) || g.Epsilon > maxEpsilon {
		return fmt.Errorf("check budget: epsilon is %v, give a number above 0 and at most %d", g.Epsilon, maxEpsilon)
	}
	if !(g.Delta >= 0) || g.Delta >= 1 || math.IsNaN(g.Delta) {
		return fmt.Errorf("check budget: delta is %v, give a number from 0 (pure epsilon) to below 1", g.Delta)
	}
	return nil
}
