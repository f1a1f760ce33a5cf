package privacy

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// DiscreteLaplace adds to each coordinate independent integer noise with P[y] =
// (e^{1/t}−1)/(e^{1/t}+1)·e^{−|y|/t}, t = Scale.
//
// Proof note.
//   - Neighbours: replace one of the bound's units. Public: scale, bound, length.
//   - Lemma: P[v+Y = z]/P[v′+Y = z] = Πⱼ e^{(|zⱼ−v′ⱼ|−|zⱼ−vⱼ|)/t} ≤ e^{‖v−v′‖₁/t}, so a release is
//     pure ε with ε = L1/Scale, an exact rational.
//   - Numeric model: integers and rationals only; the sampler's law is exact given uniform bits.
//     Saturation at ±2⁶¹ is post-processing (see limit).
//   - The caller guarantees that L1 bounds the unweighted Σ|Δⱼ|. Weights are refused: they shape
//     Gaussian noise only.
type DiscreteLaplace struct {
	Scale       *big.Rat
	ChargedByL2 bool // charge ρ by the bound's L2sq: see byL2
}

// maxScaleBits keeps noise far from saturation: at scale 2⁴⁸, P[|Y| ≥ 2⁶¹] ≤ e^{−2¹³}.
const maxScaleBits = 48

// CalibrateLaplace returns noise whose release is pure ε: Scale = L1/ε, rounded up by a factor
// below 1+2⁻²⁰.
func CalibrateLaplace(b Bound, epsilon float64) (DiscreteLaplace, error) {
	if err := (Budget{Epsilon: epsilon}).Validate(); err != nil {
		return DiscreteLaplace{}, fmt.Errorf("calibrate discrete Laplace: %w", err)
	}
	if b.L1 <= 0 {
		return DiscreteLaplace{}, fmt.Errorf("calibrate discrete Laplace: the bound's L1 is %d, prove a positive one: %w", b.L1, ErrUnproven)
	}
	scale := new(big.Rat).SetFloat64(epsilon)
	scale.Quo(new(big.Rat).SetInt64(b.L1), scale)
	m := DiscreteLaplace{Scale: roundUp(scale)}
	_, err := m.cost(b)
	return m, err
}

// Name stands in a Published beside the exact "scale" t (L1/ε, rounded up) and, if ChargedByL2 is
// set, "rho".
func (dl DiscreteLaplace) Name() string { return "discrete-laplace" }

func (dl DiscreteLaplace) parameters() map[string]string {
	return withL2(map[string]string{"scale": dl.Scale.RatString()}, dl.ChargedByL2)
}

// checkScale refuses a scale or deviation that a sampler cannot use. about names it in errors.
func checkScale(about string, scale *big.Rat) error {
	if scale == nil || scale.Sign() <= 0 {
		return fmt.Errorf("check %s: it must be positive", about)
	}
	if scale.Num().BitLen() > 62 || scale.Denom().BitLen() > 62 ||
		scale.Cmp(power(maxScaleBits)) > 0 {
		return fmt.Errorf("check %s: %s is too large or too fine, keep it to 2^%d with numerator and denominator below 2^62", about, scale.RatString(), maxScaleBits)
	}
	return nil
}

func (dl DiscreteLaplace) check() error {
	return checkScale("scale of discrete Laplace noise", dl.Scale)
}

func (dl DiscreteLaplace) cost(b Bound) (Cost, error) {
	if err := dl.check(); err != nil {
		return Cost{}, err
	}
	if b.L1 <= 0 {
		return Cost{}, fmt.Errorf("discrete Laplace needs a proven L1 bound: %w", ErrUnproven)
	}
	if b.Weight != nil {
		return Cost{}, fmt.Errorf("discrete Laplace has no proof for weighted coordinates, leave weights out: %w", ErrUnproven)
	}
	epsilon := new(big.Rat).SetInt64(b.L1)
	return pureCost(b, epsilon.Quo(epsilon, dl.Scale), dl.Scale, power(0), dl.ChargedByL2), nil
}

func (dl DiscreteLaplace) simulationOnly() bool { return false }

func (dl DiscreteLaplace) draw(s *secret, d dice) ([]int64, []float64) {
	return addNoises(dl, s, d), nil
}

func (dl DiscreteLaplace) noises(_ Bound, n int, d dice, add func(int, noise)) {
	t, step := dl.Scale.Num().Uint64(), dl.Scale.Denom().Uint64()
	var p ratio
	for j := range n {
		add(j, drawLaplace(d, &p, t, step))
	}
}

// variance is 2q/(1−q)², q = e^{−1/t}.
func (dl DiscreteLaplace) variance(_ Bound, _, _ int) float64 {
	t, _ := dl.Scale.Float64()
	sinh := math.Sinh(1 / (2 * t))
	return 1 / (2 * sinh * sinh)
}

// natural is an integer below 2¹²⁸, so that even noise at the far end of the tail stays exact.
type natural struct{ high, low uint64 }

func (n natural) into(x *big.Int) *big.Int {
	if n.high == 0 {
		return x.SetUint64(n.low)
	}
	x.Lsh(x.SetUint64(n.high), 64)
	return x.Or(x, new(big.Int).SetUint64(n.low))
}

type noise struct {
	size     natural
	negative bool
}

// additive is a mechanism that adds noise whose law does not depend on the values.
type additive interface {
	Mechanism
	// noises draws the exact noise of n coordinates, in order.
	noises(b Bound, n int, d dice, add func(j int, y noise))
}

func drawLaplace(d dice, p *ratio, t, step uint64) noise {
	for {
		if y, ok := laplaceTrial(d, p, t, step); ok {
			return y
		}
	}
}

// laplaceTrial is one round of Algorithm 2 of Canonne, Kamath & Steinke 2020 for scale t/step.
// Accept U uniform below t with probability e^{−U/t}, and let V count successes of probability
// e^{−1}: then U+tV has P[x] ∝ e^{−x/t}, x = 0, 1, 2, …. Dividing by step gives P[y] ∝
// e^{−y·step/t}. A fair sign follows; −0 is refused, so that 0 does not count twice. Given ok, y
// has DiscreteLaplace's law.
func laplaceTrial(d dice, p *ratio, t, step uint64) (y noise, ok bool) {
	u := d.below(t)
	p.setSmall(u, t)
	if !d.decay(p) {
		return noise{}, false
	}
	v := uint64(0) // counts one success at a time, so it cannot wrap
	p.whole, p.head = 1, 0
	p.rest.SetUint64(0)
	for d.decay(p) {
		v++
	}
	high, low := bits.Mul64(t, v)
	low, carry := bits.Add64(low, u, 0)
	high += carry
	y.size.high, high = high/step, high%step
	y.size.low, _ = bits.Div64(high, low, step)
	y.negative = d.below(2) == 1
	return y, !(y.negative && y.size == natural{})
}

// addNoise returns v + y, clamped. As |v| ≤ 2⁶¹, cutting noise at 2⁶² does not change the result.
func addNoise(v int64, y noise) int64 {
	size := noiseLimit
	if y.size.high == 0 && y.size.low < uint64(noiseLimit) {
		size = int64(y.size.low)
	}
	if y.negative {
		size = -size
	}
	return clamp(v+size, limit)
}

func addNoises(m additive, s *secret, d dice) []int64 {
	out := make([]int64, len(s.values))
	m.noises(s.bound, len(out), d, func(j int, y noise) { out[j] = addNoise(s.values[j], y) })
	return out
}

// naturalOf returns |x|, but at most 2⁶⁴, which is enough because addNoise cuts at 2⁶² anyway.
func naturalOf(x *big.Int) natural {
	if x.BitLen() > 64 {
		return natural{high: 1}
	}
	return natural{low: low64(new(big.Int).Abs(x))}
}
