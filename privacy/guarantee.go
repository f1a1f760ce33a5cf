package privacy

import (
	"math"
	"math/big"
)

// Guarantee is an (ε,δ) guarantee of a release for one unit.
type Guarantee struct {
	Unit   Unit
	Budget Budget // ε of any size: a guarantee may be useless
	// PerParty is a public maximum of the units that one party holds; neighbours hold equally many.
	// 0 means unknown: nothing is guaranteed at unit party. It is ignored if Unit is party.
	PerParty int64
	// PerPatient is a public maximum of the records of one patient that count, for unit record; 0:
	// unknown.
	PerPatient int64
}

// Compose returns what several releases guarantee together for one unit. It returns false if
// there is no guarantee: one release guarantees nothing, ε is not finite, or δ ≥ 1. Sums are
// exact, and rounded up once, to the next float64.
//
// Proof. The ε and δ of successive releases add up, even if a later release (with the ε and δ given
// here) is chosen after seeing earlier answers (Dwork & Roth, "The algorithmic foundations of
// differential privacy", 2014, Appendix B, Theorem B.1). For other units, see At.
func Compose(u Unit, all ...Guarantee) (Budget, bool) {
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

// At returns the guarantee at another unit; false if there is none. It holds in full at its own and
// finer units, k times from record or patient to a coarser unit (PerPatient or else PerParty from
// record to patient, PerParty to party), never from label to one (see Cost.At, also for what unit
// record means beside unit patient).
//
// Proof of k times. Let S be a set of outputs and D₀, …, D_k data sets, each differing from the
// next in one unit. P[M(D₀)∈S] ≤ e^ε·P[M(D₁)∈S] + δ, and k such steps give e^{kε}·P[M(D_k)∈S] +
// δ·Σ_{i<k} e^{iε}. The sum is (e^{kε}−1)/(e^ε−1) (Vadhan, "The complexity of differential
// privacy", 2017, Lemma 2.2).
func (g Guarantee) At(u Unit) (Budget, bool) { return Compose(u, g) }

// groupSlack covers the floating-point error of (e^{kε}−1)/(e^ε−1). Where that is finite, kε < 710,
// so rounding kε moves the result by a relative 710·2⁻⁵³ < 2⁻⁴³; three more operations add a few
// 2⁻⁵² each.
const groupSlack = 0x1p-42

func (g Guarantee) at(u Unit) (epsilon, delta *big.Rat, ok bool) {
	e, d, k := g.Budget.Epsilon, g.Budget.Delta, g.PerParty
	if u == Patient && g.PerPatient > 0 {
		k = g.PerPatient
	}
	switch {
	case !g.Unit.Valid() || !u.Valid() || !(e >= 0) || math.IsInf(e, 1) || !(d >= 0 && d < 1):
		return nil, nil, false
	case u <= g.Unit, g.Unit != Label && k == 1:
		return rational(e), rational(d), true
	case g.Unit == Label || k < 1:
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
