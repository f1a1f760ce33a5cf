package privacy

import (
	"math"
	"math/big"
)

// Guarantee is what a release is said to give: (ε,δ) for one unit.
type Guarantee struct {
	Unit   Unit
	Budget Budget // ε of any size: a guarantee may be useless
	// PerParty is the public number of these units that one party holds at
	// most, both neighbours as many. 0: unknown, and then nothing is guaranteed
	// at unit party. For unit party itself it is ignored.
	PerParty int64
}

// Together returns what several releases guarantee for one unit, and false if
// they guarantee nothing: one of them does not, ε is not finite, or δ is 1 and
// more. Sums are exact, and rounded up once, to the next float64.
//
// Proof. Releases made one after the other add ε to ε and δ to δ, also where a
// later one was chosen in view of earlier answers, at the ε and δ given here
// (Dwork & Roth, "The algorithmic foundations of differential privacy", 2014,
// Appendix B, Theorem B.1). Between units, see At.
func Together(u Unit, all ...Guarantee) (Budget, bool) {
	epsilon, delta := new(big.Rat), new(big.Rat)
	for _, g := range all {
		e, d, ok := g.at(u)
		if !ok {
			return Budget{}, false
		}
		epsilon.Add(epsilon, e)
		delta.Add(delta, d)
	}
	b := Budget{Epsilon: upper(epsilon), Delta: upper(delta)}
	if math.IsInf(b.Epsilon, 1) || b.Delta >= 1 {
		return Budget{}, false
	}
	return b, true
}

// At returns the guarantee at another unit, and false if there is none. It
// holds in full at its own and finer units, from record to party k = PerParty
// times, and never from label upwards, as Cost.At explains.
//
// Proof of k times. Let S be a set of outputs and D₀, …, D_k data sets of which
// neighbours differ in one record. P[M(D₀)∈S] ≤ e^ε·P[M(D₁)∈S] + δ, and k such
// steps give e^{kε}·P[M(D_k)∈S] + δ·Σ_{i<k} e^{iε}; the sum is
// (e^{kε}−1)/(e^ε−1) (Vadhan, "The complexity of differential privacy", 2017,
// Lemma 2.2).
func (g Guarantee) At(u Unit) (Budget, bool) { return Together(u, g) }

// groupSlack covers the floating-point error of (e^{kε}−1)/(e^ε−1): kε is below
// 710 where that is finite, so its rounding moves the result by 710·2⁻⁵³ < 2⁻⁴³
// of it, and three more operations by a few 2⁻⁵² each.
const groupSlack = 0x1p-42

// at is At before rounding.
func (g Guarantee) at(u Unit) (epsilon, delta *big.Rat, ok bool) {
	e, d, k := g.Budget.Epsilon, g.Budget.Delta, g.PerParty
	switch {
	case !g.Unit.Valid() || !u.Valid() || !(e >= 0) || math.IsInf(e, 1) || !(d >= 0 && d < 1):
		return nil, nil, false
	case u <= g.Unit, g.Unit == Record && k == 1:
		return rational(e), rational(d), true
	case g.Unit != Record || k < 1:
		return nil, nil, false
	}
	count := new(big.Rat).SetInt64(k)
	epsilon, delta = count.Mul(count, rational(e)), rational(d)
	if d > 0 {
		steps := float64(k)
		if e > 0 {
			steps = math.Expm1(float64(k)*e) / math.Expm1(e)
		}
		steps *= 1 + groupSlack
		if math.IsInf(steps, 1) || math.IsNaN(steps) {
			return nil, nil, false
		}
		delta.Mul(delta, rational(steps))
	}
	return epsilon, delta, true
}
