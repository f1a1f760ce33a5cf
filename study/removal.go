package study

import (
	"fmt"
	"math"
	"math/big"

	"caucus/privacy"
)

// Remover is a kind with bounds under add/remove, the relation in which many tools state their ε:
// neighbours differ in the presence of one unit. Public sizes, such as the number of records in a
// sum, are equal in both neighbours: an empty record replaces a removed record, but nothing
// replaces a removed party. If a site has more records than its declared number and one is removed,
// a record that did not count takes its place. That is a replacement, so the relation is about the
// records that count. The same ε protects less than under replacement: a replacement is a removal
// and an addition.
type Remover interface {
	// Removal bounds the effect of removing a unit. b bounds the effect of replacing one.
	Removal(p Plan, b privacy.Bound) Removal
}

// Removal is what is known about removing one unit, beside the bound for replacing one.
type Removal struct {
	Bound *privacy.Bound // nil: no bound is proved
	// why no bound is proved, or why it equals the bound of replacement; else ""
	Reason string
}

// RemovalUnproved is a Removal without a bound.
func RemovalUnproved(format string, args ...any) Removal {
	return Removal{Reason: fmt.Sprintf(format, args...)}
}

// RemovalOfLabels is the Removal at unit label, where the relation does not exist.
func RemovalOfLabels() Removal {
	return RemovalUnproved("a label can be replaced, but not added or removed")
}

// RemovalUnchanged is the Removal of sums in which an empty record counts like any other. Removing
// a record then replaces it by the empty record, so b holds.
func RemovalUnchanged(b privacy.Bound) Removal {
	return Removal{&b, "the number of records is public, so an empty record, which counts too, takes the place of a removed one"}
}

// UnderRemoval returns the ε, at the plan's δ, of the plan's one publication under add/remove. why
// says why this ε is no smaller than under replacement. It returns 0 and the reason if no bound is
// proved, if there are several publications, or if the release's costs do not fit noise calibrated
// to the plan's ε. This ε is for comparison with other tools, and no ledger charges it.
func UnderRemoval(k Kind, p Plan, costs []ReleaseCost) (epsilon float64, why string) {
	by, is := k.(Remover)
	if !is {
		return 0, fmt.Sprintf("it is not proved for kind %s", p.Kind)
	}
	if len(costs) != 1 {
		return 0, fmt.Sprintf("it is proved for one publication, and the study has %d", len(costs))
	}
	r := by.Removal(p, costs[0].Bound)
	if r.Bound == nil {
		return 0, r.Reason
	}
	whole, okWhole := costs[0].epsilonWith(costs[0].Bound, p.Delta)
	epsilon, ok := costs[0].epsilonWith(*r.Bound, p.Delta)
	if !ok || !okWhole || !(math.Abs(whole-p.Epsilon) <= offCalibration*p.Epsilon) ||
		!(epsilon > 0 && epsilon <= whole) {
		return 0, "the noise costs another ε than the plan's, or its cost is not known"
	}
	return epsilon, r.Reason
}

// offCalibration is the largest accepted relative difference between the ε of integer noise and the
// plan's ε.
const offCalibration = 0.05

// epsilonWith returns the ε at δ of a publication's noise under bound b.
func (r ReleaseCost) epsilonWith(b privacy.Bound, delta float64) (epsilon float64, ok bool) {
	cost := privacy.Cost{Unit: r.Cost.Unit, Delta: r.Cost.Delta}
	switch r.Mechanism {
	case privacy.DiscreteGaussian{}.Name(): // ρ is L2²/2σ², so it grows as the bound's L2² does
		if r.Cost.Rho == nil || r.Cost.Rho.Sign() <= 0 || r.Bound.L2sq <= 0 {
			return 0, false
		}
		cost.Rho = new(big.Rat).Mul(r.Cost.Rho, big.NewRat(b.L2sq, r.Bound.L2sq))
	case privacy.DiscreteLaplace{}.Name(), privacy.KNorm{}.Name():
		m, err := privacy.MechanismOf(r.Mechanism, r.Parameters)
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
