package privacy

import (
	"errors"
	"fmt"
	"math/big"
	"strconv"
)

// KNorm adds integer noise with P[y] ∝ e^{−N(y)/(F·Scale)}, where
//
//	N(y) = Σ_b ⌈F·‖y_b‖₂⌉,  F = 2¹⁶,
//
// and the y_b are Blocks runs of y of nearly equal length, longer runs first. It is the K-norm
// mechanism (Hardt & Talwar 2010) on integers, with K the unit ball of Σ_b‖y_b‖₂. Where L1 = √n·L2,
// runs of 12 give .54 times the variance of discrete Laplace noise; a single run, however long,
// would give .50.
//
// Proof note.
//   - Neighbours: replace one of the bound's units. Public: scale, blocks, bound, length.
//   - Lemma: N is subadditive, because norms and ⌈·⌉ are. So P[v+Y = z]/P[v′+Y = z] =
//     e^{(N(z−v′)−N(z−v))/(F·Scale)} ≤ e^{N(v−v′)/(F·Scale)}. With Δ = v−v′, each ⌈F‖Δ_b‖⌉ <
//     F‖Δ_b‖+1, and Σ_b‖Δ_b‖ ≤ √(Blocks·L2sq) (Cauchy & Schwarz). N is an integer, so N(Δ) ≤
//     ⌈F·√(Blocks·L2sq)⌉+Blocks−1. A release is pure ε with ε that number over F·Scale, an exact
//     rational.
//   - Sampler: in a run of m, propose independent discrete Laplace numbers of a scale t ≥ √m·Scale
//     and accept with probability e^{−γ}, γ = ⌈F‖y‖₂⌉/(F·Scale) − ‖y‖₁/t. γ ≥ 0 because ‖y‖₁ ≤
//     √m·‖y‖₂. Accepted runs have P ∝ e^{−‖y‖₁/t−γ}.
//   - Numeric model: integers and rationals only; the law is exact given uniform bits. Saturation
//     at ±2⁶¹ is post-processing (see limit).
//   - The caller guarantees integer Δ with L2sq bounding the unweighted Σ Δⱼ². Weights are refused.
type KNorm struct {
	Scale       *big.Rat
	Blocks      int64
	ChargedByL2 bool // charge ρ by the bound's L2sq: see byL2
}

const (
	// widestRun bounds a run's length: a proposal of 12 numbers is accepted once in 19 times, one
	// of 16 once in 57, one of 32 once in 4,600.
	widestRun = 12
	// normFineness is log₂F.
	normFineness = 16
	// leastScaleBits refuses scales below 2⁻²⁰, because numbers would grow. L2 ≥ 1 and ε ≤ 64 need
	// none.
	leastScaleBits = 20
)

// CalibrateKNorm returns noise for n numbers whose release is pure ε, with the least Scale, rounded
// up by a factor below 1+2⁻²⁰.
func CalibrateKNorm(b Bound, n int, epsilon float64) (KNorm, error) {
	if err := (Budget{Epsilon: epsilon}).Validate(); err != nil {
		return KNorm{}, fmt.Errorf("calibrate K-norm: %w", err)
	}
	if b.L2sq <= 0 {
		return KNorm{}, fmt.Errorf("calibrate K-norm: the bound's L2sq is %d, prove a positive one: %w", b.L2sq, ErrUnproven)
	}
	if n < 1 {
		return KNorm{}, errors.New("calibrate K-norm: a vector has one number or more")
	}
	m := KNorm{Blocks: leastBlocks(n)}
	scale := m.moves(b)
	m.Scale = roundUp(scale.Quo(scale, rational(epsilon)))
	_, err := m.cost(b)
	return m, err
}

// CalibratePure returns the pure ε noise with the least variance on n numbers of equal weight:
// DiscreteLaplace if the bound's L1 is small, otherwise KNorm. The choice compares rationals that
// depend only on the bound, n and ε, so all machines choose the same.
func CalibratePure(b Bound, n int, epsilon float64) (Mechanism, error) {
	norm, normErr := CalibrateKNorm(b, n, epsilon)
	laplace, laplaceErr := CalibrateLaplace(b, epsilon)
	switch {
	case normErr != nil:
		return mechanismOr(laplace, laplaceErr)
	case laplaceErr != nil:
		return norm, nil
	}
	// On real numbers the variances would be (m+1)·Scale², in a run of m, and 2·Scale².
	ratio := new(big.Rat).Quo(norm.Scale, laplace.Scale)
	ratio.Mul(ratio, ratio).Mul(ratio, big.NewRat(int64(norm.width(0, n)+1), 2))
	if ratio.Cmp(big.NewRat(1, 1)) < 0 {
		return norm, nil
	}
	return laplace, nil
}

// ChargeByL2 returns m with ρ charged by L2sq, or m itself if the lemma at byL2 does not cover its
// noise.
func ChargeByL2(m Mechanism) Mechanism {
	switch m := m.(type) {
	case DiscreteLaplace:
		m.ChargedByL2 = true
		return m
	case KNorm:
		m.ChargedByL2 = true
		return m
	}
	return m
}

// Name stands in a Published beside the exact "scale" and "blocks", and, if ChargedByL2 is set,
// "rho".
func (k KNorm) Name() string { return "k-norm" }

func (k KNorm) parameters() map[string]string {
	return withL2(map[string]string{"scale": k.Scale.RatString(),
		"blocks": strconv.FormatInt(k.Blocks, 10)}, k.ChargedByL2)
}

func (k KNorm) check() error {
	if k.Scale == nil || k.Scale.Cmp(new(big.Rat).Inv(power(leastScaleBits))) < 0 ||
		k.Scale.Cmp(power(maxScaleBits)) > 0 ||
		k.Scale.Num().BitLen() > 62 || k.Scale.Denom().BitLen() > 62 {
		return fmt.Errorf("check K-norm: the scale must be from 2^-%d to 2^%d, with numerator and denominator below 2^62", leastScaleBits, maxScaleBits)
	}
	if k.Blocks < 1 || k.Blocks > 1<<31 {
		return fmt.Errorf("check K-norm: %d blocks, give 1 or more", k.Blocks)
	}
	return nil
}

func leastBlocks(n int) int64 { return int64((n + widestRun - 1) / widestRun) }

// fits refuses runs that take too long to draw.
func (k KNorm) fits(n int) error {
	if least := leastBlocks(n); k.Blocks < least {
		return fmt.Errorf("draw K-norm noise: %d blocks are too few to draw %d numbers, use %d or more", k.Blocks, n, least)
	}
	return nil
}

// moves returns the proof's bound on N(Δ)/F: (⌈F·√(Blocks·L2sq)⌉+Blocks−1)/F.
func (k KNorm) moves(b Bound) *big.Rat {
	blocks := big.NewInt(k.Blocks)
	x := new(big.Int).Mul(blocks, big.NewInt(b.L2sq))
	x = ceilSqrt(x.Lsh(x, 2*normFineness))
	x.Add(x, blocks).Sub(x, big.NewInt(1))
	return new(big.Rat).SetFrac(x, new(big.Int).Lsh(big.NewInt(1), normFineness))
}

func (k KNorm) cost(b Bound) (Cost, error) {
	if err := k.check(); err != nil {
		return Cost{}, err
	}
	if b.L2sq <= 0 {
		return Cost{}, fmt.Errorf("the K-norm mechanism needs a proven L2sq bound: %w", ErrUnproven)
	}
	if b.Weight != nil {
		return Cost{}, fmt.Errorf("the K-norm mechanism has no proof for weighted coordinates, leave weights out: %w", ErrUnproven)
	}
	epsilon := k.moves(b)
	c := new(big.Rat).SetFrac64(1<<normFineness+1, 1<<normFineness)
	return pureCost(b, epsilon.Quo(epsilon, k.Scale), k.Scale, c, k.ChargedByL2), nil
}

func (k KNorm) simulationOnly() bool { return false }

func (k KNorm) width(j, n int) int {
	width, longer := int64(n)/k.Blocks, int64(n)%k.Blocks
	if int64(j) < longer*(width+1) {
		width++
	}
	return int(width)
}

func (k KNorm) draw(s *secret, d dice) ([]int64, []float64) { return addNoises(k, s, d), nil }

func (k KNorm) noises(_ Bound, n int, d dice, add func(int, noise)) {
	var p ratio
	var r run
	for at := 0; at < n; {
		if width := k.width(at, n); width != len(r.y) {
			t := k.proposal(width)
			r.set(k.Scale, t, width)
			r.next = func() (noise, bool) {
				return drawLaplace(d, &p, t.Num().Uint64(), t.Denom().Uint64()), true
			}
		}
		for !r.trial(d) {
		}
		for _, y := range r.y {
			add(at, y)
			at++
		}
	}
}

// proposal is t: √width·Scale, rounded up by a factor below 1+2⁻¹⁹.
func (k KNorm) proposal(width int) *big.Rat {
	root := ceilSqrt(new(big.Int).Lsh(big.NewInt(int64(width)), 2*21))
	t := new(big.Rat).SetFrac(root, new(big.Int).Lsh(big.NewInt(1), 21))
	return roundUp(t.Mul(t, k.Scale))
}

// variance returns (m+1)·Scale² in a run of m: E r²/m of the density on real numbers, whose radius
// r is Gamma(m). Once Scale ≥ 3 the discrete law's variance is lower by less than 1 %.
func (k KNorm) variance(_ Bound, j, n int) float64 {
	s, _ := k.Scale.Float64()
	return float64(k.width(j, n)+1) * s * s
}

// run draws y with P ∝ e^{−⌈F‖y‖₂⌉/(F·scale)}. It proposes discrete Laplace numbers of scale t,
// from next.
type run struct {
	y    []noise
	next func() (noise, bool)

	a, b, den      big.Int // γ = (a·⌈F‖y‖₂⌉ − b·‖y‖₁)/den
	one, two, size big.Int
	p              ratio
}

// set prepares for scale n/d and t = u/v: a = d·u, b = F·n·v, den = F·n·u.
func (r *run) set(scale, t *big.Rat, width int) {
	r.y = make([]noise, width)
	r.a.Mul(scale.Denom(), t.Num())
	r.b.Mul(scale.Num(), t.Denom())
	r.b.Lsh(&r.b, normFineness)
	r.den.Mul(scale.Num(), t.Num())
	r.den.Lsh(&r.den, normFineness)
}

// trial makes one proposal and reports whether it is accepted. An accepted y has the law of run.
func (r *run) trial(d dice) bool {
	r.one.SetUint64(0)
	r.two.SetUint64(0)
	for j := range r.y {
		var ok bool
		if r.y[j], ok = r.next(); !ok {
			return false
		}
		size := r.y[j].size.into(&r.size)
		r.one.Add(&r.one, size)
		r.two.Add(&r.two, size.Mul(size, size))
	}
	norm := ceilSqrt(r.two.Lsh(&r.two, 2*normFineness))
	norm.Mul(norm, &r.a)
	r.p.set(norm.Sub(norm, r.one.Mul(&r.one, &r.b)), &r.den)
	return d.decay(&r.p)
}

func ceilSqrt(x *big.Int) *big.Int {
	root := new(big.Int).Sqrt(x)
	if square := new(big.Int).Mul(root, root); square.Cmp(x) < 0 {
		root.Add(root, big.NewInt(1))
	}
	return root
}
