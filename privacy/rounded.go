package privacy

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// RoundedGaussian adds to each coordinate independent normal noise of standard deviation Deviation,
// rounded to the nearest integer.
//
// Proof note.
//   - Neighbours: replace one of the bound's units. Public: deviation, bound, length.
//   - Lemma: for integers v, v + round(N) = round(v + N), so the release is post-processing of the
//     Gaussian mechanism on real numbers. So it is ρ-zCDP with ρ = L2sq/(2σ²) (Bun & Steinke 2016,
//     Proposition 1.6), an exact rational, which the ledger counts. Alone it is (ε,δ) with δ =
//     Φ(Δ/2σ−εσ/Δ) − e^ε·Φ(−Δ/2σ−εσ/Δ), Δ = √L2sq, the least δ possible (Balle & Wang 2018, Theorem
//     8), which calibration uses.
//   - Numeric model: the normal number is sampled exactly, with as many digits as rounding needs
//     (normal.go); integers and rationals only. Only calibration uses floating point, rounded
//     towards privacy. Saturation at ±2⁶¹ is post-processing (see limit).
//   - The caller guarantees that L2sq bounds ‖Δ‖² for all integer differences Δ. Bounds with
//     weights are refused.
//
// A ledger adds up ρ and converts the sum to ε. So a release calibrated here to a ledger's whole
// (ε,δ) does not fit that ledger, which computes a larger ε for it. There is no ledger rule for
// normal noise alone, because it would need a share of δ. With half of δ, normal noise is 3 to 4 %
// smaller, all other 2 to 4 % larger (TestNormalRule).
type RoundedGaussian struct{ Deviation *big.Rat }

// CalibrateRoundedGaussian returns the least deviation at which one release is (ε,δ) by
// AnalyticDelta, rounded up by a factor below 1+2⁻²⁰.
func CalibrateRoundedGaussian(b Bound, g Budget) (RoundedGaussian, error) {
	if err := g.Validate(); err != nil {
		return RoundedGaussian{}, fmt.Errorf("calibrate rounded Gaussian: %w", err)
	}
	if g.Delta == 0 {
		return RoundedGaussian{}, errors.New("calibrate rounded Gaussian: delta is 0, which no Gaussian reaches; give a positive delta or use the Laplace")
	}
	if b.L2sq <= 0 {
		return RoundedGaussian{}, fmt.Errorf("calibrate rounded Gaussian: the bound's L2sq is %d, prove a positive one: %w", b.L2sq, ErrUnproven)
	}
	// Search the deviation in units of Δ, between 2⁻¹⁰ (ε ≤ 64) and the classical one (below 2⁶⁰
	// for floats).
	low, high := 0x1p-10, 0x1p60
	for range 100 {
		middle := math.Sqrt(low * high)
		if AnalyticDelta(middle, g.Epsilon) <= g.Delta {
			high = middle
		} else {
			low = middle
		}
	}
	deviation := rational(high * math.Sqrt(float64(b.L2sq)) * (1 + 1e-12))
	m := RoundedGaussian{Deviation: roundUp(deviation)}
	_, err := m.cost(b)
	return m, err
}

// AnalyticDelta is δ(ε) of the Gaussian mechanism on real numbers with standard deviation s times
// the sensitivity, rounded up: Φ(1/2s−εs) − e^ε·Φ(−1/2s−εs). Both terms are accurate to a relative
// 1e-13.
func AnalyticDelta(s, epsilon float64) float64 {
	upper := math.Erfc((epsilon*s-1/(2*s))/math.Sqrt2) / 2
	lower := math.Exp(epsilon) * math.Erfc((epsilon*s+1/(2*s))/math.Sqrt2) / 2
	// At an argument of size x, erfc is off by x² relative rounding errors.
	x := epsilon*s + 1/(2*s)
	slack := 1e-13 + 4e-16*x*x
	return upper*(1+slack) - lower*(1-slack)
}

// Name stands in a Published beside "deviation", the exact σ before rounding.
func (r RoundedGaussian) Name() string { return "rounded-gaussian" }

func (r RoundedGaussian) parameters() map[string]string {
	return map[string]string{"deviation": r.Deviation.RatString()}
}

func (r RoundedGaussian) check() error {
	return checkScale("deviation of rounded Gaussian noise", r.Deviation)
}

func (r RoundedGaussian) cost(b Bound) (Cost, error) {
	if err := r.check(); err != nil {
		return Cost{}, err
	}
	if b.L2sq <= 0 {
		return Cost{}, fmt.Errorf("rounded Gaussian needs a proven L2sq bound: %w", ErrUnproven)
	}
	if b.Weight != nil {
		return Cost{}, fmt.Errorf("rounded Gaussian has no proof for weighted coordinates, leave weights out: %w", ErrUnproven)
	}
	rho := new(big.Rat).SetFrac64(b.L2sq, 2)
	rho.Quo(rho, r.Deviation).Quo(rho, r.Deviation)
	return ConcentratedCost(b.Unit, b.PerParty, rho), nil
}

func (r RoundedGaussian) simulationOnly() bool { return false }

func (r RoundedGaussian) draw(s *secret, d dice) ([]int64, []float64) {
	g, out := newNormal(), make([]int64, len(s.values))
	for j, v := range s.values {
		out[j] = addNoise(v, g.rounded(d, r.Deviation.Num(), r.Deviation.Denom()))
	}
	return out, nil
}

// variance is σ² + 1/12, an upper bound (exact to 10⁻⁷ once σ ≥ 1).
func (r RoundedGaussian) variance(Bound, int, int) float64 {
	s, _ := r.Deviation.Float64()
	return s*s + 1./12
}
