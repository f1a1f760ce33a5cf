package privacy

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// ZeroSumLaplace adds to each block of c counts integer noise that sums to zero: P[y] ∝ e^{−‖y‖₁/t}
// on {y : Σy = 0}, t = Scale, discrete Laplace noise conditioned on a zero sum. Public totals stay
// exact.
//
// Proof note.
//   - Neighbours: replace one of the bound's units. Public: scale, bound, block, length, and block
//     sums.
//   - Lemma: neighbours v, v′ have equal block sums (KeepsSum, Block), so z is a possible output of
//     both or of neither. The normaliser does not depend on v and cancels: P[v+Y = z]/P[v′+Y = z] ≤
//     e^{‖v−v′‖₁/t}. A release is pure ε with ε = L1/Scale, an exact rational.
//   - Sampler: draw c−1 discrete Laplace numbers with sum s and accept them with probability
//     e^{−|s|/t}; the last number is −s. Accepted vectors have P ∝ e^{−(Σ|yᵢ|+|s|)/t}.
//   - Numeric model: integers and rationals only. Saturation at ±2⁶¹ is post-processing (see
//     limit).
//   - The caller guarantees L1, and that block sums are public and within 2⁶¹.
type ZeroSumLaplace struct{ Scale *big.Rat }

// CalibrateZeroSumLaplace returns pure ε noise: Scale = L1/ε, rounded up by a factor below 1+2⁻²⁰.
func CalibrateZeroSumLaplace(b Bound, epsilon float64) (ZeroSumLaplace, error) {
	l, err := CalibrateLaplace(b, epsilon)
	if err != nil {
		return ZeroSumLaplace{}, err
	}
	m := ZeroSumLaplace{l.Scale}
	_, err = m.cost(b)
	return m, err
}

// Name stands in a Published beside the exact "scale" t, which CalibrateZeroSumLaplace takes from
// L1/ε, rounded up.
func (zsl ZeroSumLaplace) Name() string { return "zero-sum-laplace" }

func (zsl ZeroSumLaplace) parameters() map[string]string { return zsl.independent().parameters() }

func (zsl ZeroSumLaplace) check() error { return zsl.independent().check() }

func (zsl ZeroSumLaplace) independent() DiscreteLaplace { return DiscreteLaplace{Scale: zsl.Scale} }

func (zsl ZeroSumLaplace) cost(b Bound) (Cost, error) {
	if !b.KeepsSum {
		return Cost{}, fmt.Errorf("zero-sum Laplace needs a bound that keeps the sum: %w", ErrUnproven)
	}
	if b.Block == 1 {
		return Cost{}, fmt.Errorf("zero-sum Laplace has nothing to hide in blocks of one count: %w", ErrUnproven)
	}
	return zsl.independent().cost(b)
}

func (zsl ZeroSumLaplace) simulationOnly() bool { return false }

func (zsl ZeroSumLaplace) draw(s *secret, d dice) ([]int64, []float64) {
	t, step := zsl.Scale.Num().Uint64(), zsl.Scale.Denom().Uint64()
	c := s.bound.block(len(s.values))
	out := make([]int64, 0, len(s.values))
	var p ratio
	z := zeroSum{t: t, step: step, next: func() (noise, bool) {
		return drawLaplace(d, &p, t, step), true
	}}
	for at := 0; at < len(s.values); at += c {
		for {
			y, ok := z.round(d, c)
			if !ok {
				continue
			}
			for j, y := range y {
				out = append(out, addNoise(s.values[at+j], y))
			}
			break
		}
	}
	return out, nil
}

// steps counts rounds. A round draws c numbers for a block, and about one round in √(πc) is
// accepted.
func (zsl ZeroSumLaplace) steps(b Bound, n int) float64 {
	return float64(n) * 2000 * math.Sqrt(math.Pi*float64(b.block(n)))
}

// zeroSum draws blocks that sum to zero from numbers of scale t/step that next proposes.
type zeroSum struct {
	t, step uint64
	next    func() (noise, bool)
	p       ratio
	size    big.Int
}

func (z *zeroSum) round(d dice, c int) ([]noise, bool) {
	y := make([]noise, c)
	sum := new(big.Int)
	for j := range c - 1 {
		var ok bool
		if y[j], ok = z.next(); !ok {
			return nil, false
		}
		if y[j].negative {
			sum.Sub(sum, y[j].size.into(&z.size))
		} else {
			sum.Add(sum, y[j].size.into(&z.size))
		}
	}
	y[c-1] = noise{size: naturalOf(sum), negative: sum.Sign() > 0}
	num := sum.Abs(sum)
	z.p.set(num.Mul(num, new(big.Int).SetUint64(z.step)), new(big.Int).SetUint64(z.t))
	return y, d.decay(&z.p)
}

// variance of one count. With φ the characteristic function of the discrete Laplace, E[Y₁²;
// ΣY=0] = −(1/2π)∫φ″φ^{c−1} and P[ΣY=0] = (1/2π)∫φᶜ. The substitution tan(θ/2) = √b·tan ψ,
// b = ((1−q)/(1+q))², q = e^{−1/t}, makes φ = cos²ψ + b·sin²ψ and dθ ∝ dψ/φ. Both integrands are
// then trigonometric polynomials of degree c+1 in 2ψ, which the trapezoid rule integrates exactly
// with more points. Covariances are −variance/(c−1).
func (zsl ZeroSumLaplace) variance(b Bound, _, n int) float64 {
	t, _ := zsl.Scale.Float64()
	c := b.block(n)
	q, gap := math.Exp(-1/t), -math.Expm1(-1/t)
	ratio := gap / (1 + q)
	flat := ratio * ratio
	points := c + 3
	var square, mass float64
	for i := range points {
		sin, cos := math.Sincos(math.Pi * (float64(i) + 0.5) / float64(points))
		s2, c2 := sin*sin, cos*cos
		phi := c2 + flat*s2
		second := 2*q*(2*c2-phi)*phi/(gap*gap) - 32*q*q*flat*s2*c2*phi/(gap*gap*gap*gap)
		square += second * math.Pow(phi, float64(c-2))
		mass += math.Pow(phi, float64(c-1))
	}
	return square / mass
}

var errShortBlock = errors.New("check count mechanism: a block has at least two classes")
