package privacy

import (
	"errors"
	"fmt"
	"math/big"
)

// DiscreteGaussian adds to coordinate j independent integer noise with P[y] ∝ e^{−y²/(2σⱼ²)}, σⱼ² =
// Variance/wⱼ (wⱼ is the bound's weight, or 1).
//
// Proof note.
//   - Neighbours: replace one of the bound's units. Public: variance, weights, bound, length.
//   - Lemma: moving coordinate j by an integer Δⱼ costs Rényi divergence at most αΔⱼ²/(2σⱼ²) at
//     every order α (Canonne, Kamath & Steinke 2020, Theorem 4 with Corollary 16 for products), and
//     coordinates add. So a release is ρ-zCDP with ρ = Σ Δⱼ²wⱼ/(2·Variance) ≤ L2sq/(2·Variance), an
//     exact rational.
//   - Numeric model: integers and rationals only; the law is exact given uniform bits. Saturation
//     at ±2⁶¹ is post-processing (see limit).
//   - The caller guarantees that Δ is integer and that L2sq bounds Σ wⱼΔⱼ².
type DiscreteGaussian struct{ Variance *big.Rat }

// maxVarianceBits keeps σ ≤ 2⁴⁸, far from saturation. maxFineness limits the length of a draw's
// integers.
const (
	maxVarianceBits = 96
	maxFineness     = 128
)

// CalibrateGaussian returns noise whose release is ρ-zCDP with ρ = RhoOf(g), hence (ε,δ): Variance
// = L2sq/(2ρ), rounded up by a factor below 1+2⁻²⁰.
func CalibrateGaussian(b Bound, g Budget) (DiscreteGaussian, error) {
	if err := g.Validate(); err != nil {
		return DiscreteGaussian{}, fmt.Errorf("calibrate discrete Gaussian: %w", err)
	}
	if g.Delta == 0 {
		return DiscreteGaussian{}, errors.New("calibrate discrete Gaussian: delta is 0, which no Gaussian reaches; give a positive delta or use the Laplace")
	}
	if b.L2sq <= 0 {
		return DiscreteGaussian{}, fmt.Errorf("calibrate discrete Gaussian: the bound's L2sq is %d, prove a positive one: %w", b.L2sq, ErrUnproven)
	}
	rho := new(big.Rat).SetFloat64(RhoOf(g))
	if rho == nil || rho.Sign() <= 0 {
		return DiscreteGaussian{}, fmt.Errorf("calibrate discrete Gaussian: no noise reaches epsilon %g at delta %g, allow more", g.Epsilon, g.Delta)
	}
	variance := new(big.Rat).SetFrac64(b.L2sq, 2)
	m := DiscreteGaussian{Variance: roundUp(variance.Quo(variance, rho))}
	_, err := m.cost(b)
	return m, err
}

// Name stands in a Published beside one parameter, "variance": the exact σ² as a fraction.
func (dg DiscreteGaussian) Name() string { return "discrete-gaussian" }

func (dg DiscreteGaussian) parameters() map[string]string {
	return map[string]string{"variance": dg.Variance.RatString()}
}

func (dg DiscreteGaussian) check() error {
	if dg.Variance == nil || dg.Variance.Sign() <= 0 {
		return errors.New("check discrete Gaussian: the variance must be positive")
	}
	if dg.Variance.Cmp(power(maxVarianceBits)) > 0 || dg.Variance.Num().BitLen() > maxFineness ||
		dg.Variance.Denom().BitLen() > maxFineness {
		return fmt.Errorf("check discrete Gaussian: variance %s is too large or too fine, keep it to 2^%d with numerator and denominator below 2^%d", dg.Variance.RatString(), maxVarianceBits, maxFineness)
	}
	return nil
}

func (dg DiscreteGaussian) cost(b Bound) (Cost, error) {
	if err := dg.check(); err != nil {
		return Cost{}, err
	}
	if b.L2sq <= 0 {
		return Cost{}, fmt.Errorf("discrete Gaussian needs a proven L2sq bound: %w", ErrUnproven)
	}
	rho := new(big.Rat).SetFrac64(b.L2sq, 2)
	return ConcentratedCost(b.Unit, b.PerParty, rho.Quo(rho, dg.Variance)), nil
}

func (dg DiscreteGaussian) simulationOnly() bool { return false }

func (dg DiscreteGaussian) draw(s *secret, d dice) ([]int64, []float64) {
	return addNoises(dg, s, d), nil
}

func (dg DiscreteGaussian) noises(b Bound, n int, d dice, add func(int, noise)) {
	var g gaussian
	last := int64(0)
	for j := range n {
		if w := b.weight(j); w != last {
			g.set(dg.Variance, w)
			last = w
		}
		add(j, g.draw(d))
	}
}

// variance returns σ²/wⱼ. The discrete law's variance never exceeds it, and is within 10⁻⁷ of it
// once σ² ≥ 1.
func (dg DiscreteGaussian) variance(b Bound, j, _ int) float64 {
	v, _ := dg.Variance.Float64()
	return v / float64(b.weight(j))
}

type gaussian struct {
	a, b, tb, den big.Int // σ² = a/b, tb = t·b, den = 2abt²
	t             uint64
	proposal, p   ratio
	gap           big.Int
}

// set prepares σ² = a/b = variance/weight and t = ⌊σ⌋+1.
func (g *gaussian) set(variance *big.Rat, weight int64) {
	g.a.Set(variance.Num())
	g.b.Mul(variance.Denom(), big.NewInt(weight))
	t := new(big.Int).Quo(&g.a, &g.b)
	g.t = t.Sqrt(t).Uint64() + 1 // ⌊√⌊x⌋⌋ = ⌊√x⌋
	t.SetUint64(g.t)
	g.tb.Mul(t, &g.b)
	g.den.Mul(&g.a, &g.tb)
	g.den.Mul(&g.den, t).Lsh(&g.den, 1)
}

func (g *gaussian) draw(d dice) noise {
	for {
		if y, ok := g.trial(d); ok {
			return y
		}
	}
}

// trial is one round of Algorithm 3 of Canonne, Kamath & Steinke 2020, in integers. It proposes y
// from the discrete Laplace of scale t and accepts with probability e^{−γ}, γ = (|y|−σ²/t)²/(2σ²) =
// (|y|tb−a)²/(2abt²), because e^{−|y|/t−γ} ∝ e^{−y²/(2σ²)}. Given ok, y has DiscreteGaussian's law.
func (g *gaussian) trial(d dice) (y noise, ok bool) {
	y, ok = laplaceTrial(d, &g.proposal, g.t, 1)
	if !ok {
		return noise{}, false
	}
	gap := y.size.into(&g.gap)
	gap.Mul(gap, &g.tb)
	gap.Sub(gap, &g.a)
	g.p.set(gap.Mul(gap, gap), &g.den)
	return y, d.decay(&g.p)
}
