package privacy

import "math/big"

// A release of independent pure noise costs ε²/2 in ρ, and far less if no part of the vector moves
// far. DiscreteLaplace and KNorm with ChargeByL2 charge the smaller of two proved numbers.
//
// Proof note.
//   - Neighbours: replace one of the bound's units. Public: scale, blocks, bound, length.
//   - Lemma: let Y consist of independent runs Y_b, P[y_b] ∝ e^{−N(y_b)/s}, N symmetric and
//     subadditive, and N(Δ) ≤ c·‖Δ‖₂ for all integer Δ. Then releasing v+Y is ρ-zCDP with ρ =
//     c²·L2sq/(2s²). Let Δ be the difference of two neighbours. Run b alone changes every
//     probability by a factor of at most e^{ε_b}, ε_b = N(Δ_b)/s ≤ c·‖Δ_b‖₂/s, so its Rényi
//     divergence of order α is at most α·ε_b²/2, both ways (Bun & Steinke 2016, Proposition 3.3).
//     Runs are independent, so divergences add: α·Σ_b ε_b²/2 ≤ α·c²·Σ_b‖Δ_b‖₂²/(2s²) ≤
//     α·c²·L2sq/(2s²), because L2sq bounds Σⱼ Δⱼ² for this pair.
//   - DiscreteLaplace: a run is one number, N = |y|, c = 1. KNorm: N = ⌈F‖y‖₂⌉/F. An integer Δ_b is
//     0 or has ‖Δ_b‖₂ ≥ 1, so ⌈F‖Δ_b‖₂⌉ ≤ (F+1)·‖Δ_b‖₂ and c = 1+1/F.
//   - Both costs, pure ε and ρ, hold of the same release, so a ledger may count either, by a rule
//     fixed in advance (see rules). At a coarser unit they are k·ε and k²·ρ (Cost.At).
//   - Numeric model: exact rationals.
//   - Not covered, and charged ε²/2: noise whose numbers depend on each other (ZeroSumLaplace,
//     LaplacePrior, Dirichlet), a bound without L2sq, and mechanisms without ChargeByL2, as before
//     the rule. ChargeByL2 is a parameter, so old answers, ledger entries and plans keep their
//     cost.
const byL2 = "l2"

// pureCost returns the cost of pure ε noise of scale s under b. The lemma and c are at byL2.
func pureCost(b Bound, epsilon, s, c *big.Rat, l2 bool) Cost {
	cost := PureCost(b.Unit, b.PerParty, epsilon)
	if !l2 || b.L2sq <= 0 {
		return cost
	}
	rho := new(big.Rat).Quo(c, s)
	rho.Mul(rho, rho).Mul(rho, big.NewRat(b.L2sq, 2))
	if rho.Cmp(cost.Rho) < 0 {
		cost.Rho = rho
	}
	return cost
}

// withL2 adds the parameter that stands for ChargeByL2. Mechanisms that don't charge by L2 have no
// such parameter.
func withL2(parameters map[string]string, l2 bool) map[string]string {
	if l2 {
		parameters["rho"] = byL2
	}
	return parameters
}
