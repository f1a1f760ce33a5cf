package study

import (
	"math"
	"math/big"

	"caucus/privacy"
)

// Remover is a kind that has proofs for the weaker relation by which many tools state
// their ε: neighbours differ by one unit's part being in the sums or not (add or remove;
// of public sizes, such as how many records a sum is over, both have the same, as if the
// unit's place were empty). It protects less by the same number: a replacement is a
// removal and an addition.
type Remover interface {
	// Removal is the bound on what taking a unit's part away moves, of what replacing it
	// moves by b; false where nothing is proved of that.
	Removal(p Plan, b privacy.Bound) (privacy.Bound, bool)
}

// UnderRemoval is the ε, at the plan's δ, that the plan's one publication has where units
// are taken away instead of replaced; false where that is not proved, there are several, or
// the costs, which a release states of itself, are not those of noise for the plan's ε. It
// is for comparing with others' figures, and no ledger charges it.
func UnderRemoval(k Kind, p Plan, costs []ReleaseCost) (epsilon float64, ok bool) {
	by, is := k.(Remover)
	if !is || len(costs) != 1 {
		return 0, false
	}
	b, ok := by.Removal(p, costs[0].Bound)
	if !ok {
		return 0, false
	}
	whole, okWhole := costs[0].epsilonWith(costs[0].Bound, p.Delta)
	epsilon, ok = costs[0].epsilonWith(b, p.Delta)
	if !ok || !okWhole || !(math.Abs(whole-p.Epsilon) <= offCalibration*p.Epsilon) || !(epsilon > 0 && epsilon <= whole) {
		return 0, false
	}
	return epsilon, true
}

// offCalibration is how far noise in integers may be from exactly a plan's ε.
const offCalibration = 0.05

// epsilonWith is the ε at δ of a publication's noise, were its bound b.
func (c ReleaseCost) epsilonWith(b privacy.Bound, delta float64) (epsilon float64, ok bool) {
	cost := privacy.Cost{Unit: c.Cost.Unit, Delta: c.Cost.Delta}
	switch c.Mechanism {
	case privacy.DiscreteGaussian{}.Name(): // ρ is L2²/2σ²
		if c.Cost.Rho == nil || c.Cost.Rho.Sign() <= 0 || c.Bound.L2sq <= 0 {
			return 0, false
		}
		cost.Rho = new(big.Rat).Mul(c.Cost.Rho, big.NewRat(b.L2sq, c.Bound.L2sq))
	case privacy.DiscreteLaplace{}.Name(): // ε is L1/scale
		if c.Cost.Pure == nil || c.Cost.Pure.Sign() <= 0 || c.Bound.L1 <= 0 {
			return 0, false
		}
		cost.Pure = new(big.Rat).Mul(c.Cost.Pure, big.NewRat(b.L1, c.Bound.L1))
	case privacy.KNorm{}.Name():
		m, err := privacy.ReadKNorm(c.Parameters)
		if err != nil {
			return 0, false
		}
		if cost, err = privacy.CostOf(m, b); err != nil {
			return 0, false
		}
	default:
		return 0, false
	}
	return privacy.EpsilonAt(cost, delta), true
}
