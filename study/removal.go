package study

import (
	"fmt"
	"math"
	"math/big"

	"caucus/privacy"
)

// Remover is a kind that says what its bounds are by the weaker relation by which many
// tools state their ε: neighbours differ by one unit being counted or not (add or
// remove). Public sizes, such as how many records a sum is over, are the same in both: at a
// record's place stands an empty one, at a party's nothing. Of a site that holds more
// records than it declared, or than a plan takes, another takes the place of one that is
// gone, which is a replacement; the relation is of the records that count. It protects
// less by the same number: a replacement is a removal and an addition.
type Remover interface {
	// Removal is what taking a unit away moves, of what replacing it moves by b.
	Removal(p Plan, b privacy.Bound) Removal
}

// Removal is a bound by add or remove.
type Removal struct {
	// Bound is nil where nothing is proved.
	Bound *privacy.Bound
	// Why says why nothing is, or why the bound is no less than that of replacing; "" of
	// a smaller one.
	Why string
}

// Unproved is a Removal of which nothing is proved, and says why.
func Unproved(format string, args ...any) Removal { return Removal{Why: fmt.Sprintf(format, args...)} }

// OfLabels is the Removal at unit label: there is no such relation.
func OfLabels() Removal {
	return Unproved("the unit is a label, which another replaces and nothing takes away: its record stays")
}

// Unchanged is the Removal of sums that count an empty record as any other: taking one
// away is then to replace it by the empty one, and b holds.
func Unchanged(b privacy.Bound) Removal {
	return Removal{&b, "how many records there are is public, so an empty one, which is counted, takes the place of one that is gone"}
}

// UnderRemoval is the ε, at the plan's δ, that the plan's one publication has where units
// are taken away instead of replaced, and why it is no less where it is not; 0 where it is
// not stated, and why: it is not proved, there are several publications, or the costs,
// which a release states of itself, are not those of noise for the plan's ε. It is for
// comparing with others' figures, and no ledger charges it.
func UnderRemoval(k Kind, p Plan, costs []ReleaseCost) (epsilon float64, why string) {
	by, is := k.(Remover)
	if !is {
		return 0, fmt.Sprintf("nothing is proved of it for kind %s", p.Kind)
	}
	if len(costs) != 1 {
		return 0, fmt.Sprintf("it is proved of one publication, and the study has %d", len(costs))
	}
	r := by.Removal(p, costs[0].Bound)
	if r.Bound == nil {
		return 0, r.Why
	}
	whole, okWhole := costs[0].epsilonWith(costs[0].Bound, p.Delta)
	epsilon, ok := costs[0].epsilonWith(*r.Bound, p.Delta)
	if !ok || !okWhole || !(math.Abs(whole-p.Epsilon) <= offCalibration*p.Epsilon) || !(epsilon > 0 && epsilon <= whole) {
		return 0, "its costs are not those of noise for its ε"
	}
	return epsilon, r.Why
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
