package privacy

import (
	"errors"
	"fmt"
	"math"
	"math/big"
)

// RandomisedResponse releases classes: coordinate j holds one of 0, …, K−1, K = Classes. It is
// published unchanged with probability p = Keep, else as one of the other classes, each with
// probability q = (1−p)/(K−1). Any other value means "no label" and is published as a uniform
// class.
//
// Proof note.
//   - Neighbours: replace one of the bound's units. Public: p, K, bound, length.
//   - Lemma: for every published class z, P[z | v] is p, q or, without a label, 1/K. As p + (K−1)q
//     = 1 and p ≥ 1/K, q ≤ 1/K ≤ p: the probabilities of two values differ by a factor of at most
//     p/q. Coordinates are independent, so a unit that changes at most Cells of them gets pure ε =
//     Cells·log(p/q).
//   - Numeric model: p is rational and drawn exactly, by comparing uniform bits with its digits; q
//     is drawn by an integer below K−1. Only the logarithm is irrational: the cost is the least
//     multiple of 2⁻⁴⁸ that is provably not below it (logAbove). A draw consumes its randomness in
//     the same way whatever the value.
//   - The caller guarantees Cells: one label is one coordinate.
//
// The exponential mechanism on a whole vector of labels is the same mechanism; see
// CalibrateExponential.
type RandomisedResponse struct {
	Classes int      // K
	Keep    *big.Rat // p, in (1/K, 1)
}

// maxResponseClasses lets a class fit into a byte, as in ballots.
const maxResponseClasses = 256

// responseBits is the precision of a calibrated p. Rounding to it moves ε ≤ 8 by less than 2⁻⁴⁸.
const responseBits = 60

// CalibrateResponse calibrates randomised response, the mechanism "rr". It returns the largest
// multiple of 2⁻⁶⁰ for p at which releasing one label is pure ε: e^ε/(e^ε+K−1), rounded towards
// 1/K.
func CalibrateResponse(classes int, epsilon float64) (RandomisedResponse, error) {
	if err := (Budget{Epsilon: epsilon}).Validate(); err != nil {
		return RandomisedResponse{}, fmt.Errorf("calibrate randomised response: %w", err)
	}
	if classes < 2 || classes > maxResponseClasses {
		return RandomisedResponse{}, fmt.Errorf("calibrate randomised response: %d classes, give 2 to %d", classes, maxResponseClasses)
	}
	odds := expBelow(roundDown(rational(epsilon))) // ≤ e^ε
	p := new(big.Rat).SetInt64(int64(classes - 1))
	p.Quo(odds, p.Add(odds, p)) // increases with odds, so rounding odds down rounds p down
	n := new(big.Int).Lsh(p.Num(), responseBits)
	n.Quo(n, p.Denom())
	m := RandomisedResponse{Classes: classes,
		Keep: new(big.Rat).SetFrac(n, new(big.Int).Lsh(big.NewInt(1), responseBits))}
	if err := m.check(); err != nil {
		return RandomisedResponse{}, fmt.Errorf("calibrate randomised response: epsilon %g is too small to tell %d classes apart: %w", epsilon, classes, err)
	}
	return m, nil
}

// CalibrateExponential is "em" as published (Bi & Suppakitpaisarn 2022): the exponential mechanism
// over all vectors of n labels with quality n − Hamming(v, z), of sensitivity 1, so P[z | v] ∝
// e^{ε(n−Hamming(v,z))/2}.
//
// Identity: EM(ε) = RR(ε/2), exactly, for every n and K. With t = e^{ε/2} the weight is Πⱼ t^{[zⱼ =
// vⱼ]}, a product over the labels, so its sum over all z is (t+K−1)ⁿ, whatever v is. Hence the
// labels are independent, each kept with probability t/(t+K−1). As the normaliser is the same for
// all data, the exponential mechanism's factor of two for it is not needed: a release really spends
// ε/2, which is its cost here.
func CalibrateExponential(classes int, epsilon float64) (RandomisedResponse, error) {
	if err := (Budget{Epsilon: epsilon}).Validate(); err != nil {
		return RandomisedResponse{}, fmt.Errorf("calibrate exponential mechanism: %w", err)
	}
	return CalibrateResponse(classes, epsilon/2)
}

// KeepProbability returns p, for post-processing.
func (r RandomisedResponse) KeepProbability() float64 { p, _ := r.Keep.Float64(); return p }

// Name stands in a Published beside "classes" and "keep", the exact probability that a label stays.
func (r RandomisedResponse) Name() string { return "randomised-response" }

func (r RandomisedResponse) parameters() map[string]string {
	return map[string]string{"classes": fmt.Sprint(r.Classes), "keep": r.Keep.RatString()}
}

func (r RandomisedResponse) check() error {
	if r.Classes < 2 || r.Classes > maxResponseClasses {
		return fmt.Errorf("check randomised response: %d classes, give 2 to %d", r.Classes, maxResponseClasses)
	}
	if r.Keep == nil || r.Keep.Cmp(big.NewRat(1, int64(r.Classes))) <= 0 ||
		r.Keep.Cmp(big.NewRat(1, 1)) >= 0 {
		return fmt.Errorf("check randomised response: the probability to keep a label must lie between 1/%d and 1", r.Classes)
	}
	if r.Keep.Denom().BitLen() > 63 {
		return errors.New("check randomised response: the probability to keep a label is too fine, keep its denominator below 2^63")
	}
	return nil
}

func (r RandomisedResponse) odds() *big.Rat {
	rest := new(big.Rat).Sub(big.NewRat(1, 1), r.Keep)
	x := new(big.Rat).SetInt64(int64(r.Classes - 1))
	return x.Mul(x, r.Keep).Quo(x, rest)
}

func (r RandomisedResponse) cost(b Bound) (Cost, error) {
	if err := r.check(); err != nil {
		return Cost{}, err
	}
	if b.Cells <= 0 {
		return Cost{}, fmt.Errorf("randomised response needs a proven number of changed cells: %w", ErrUnproven)
	}
	if b.Weight != nil {
		return Cost{}, fmt.Errorf("randomised response has no use for weights, leave them out: %w", ErrUnproven)
	}
	epsilon := new(big.Rat).SetInt64(int64(b.Cells))
	return PureCost(b.Unit, b.PerParty, epsilon.Mul(epsilon, logAbove(r.odds()))), nil
}

func (r RandomisedResponse) simulationOnly() bool { return false }

func (r RandomisedResponse) draw(s *secret, d dice) ([]int64, []float64) {
	var p ratio
	p.setSmall(r.Keep.Num().Uint64(), r.Keep.Denom().Uint64())
	out := make([]int64, len(s.values))
	for j, v := range s.values {
		out[j] = r.respond(v, d, &p)
	}
	return out, nil
}

// respond makes the same draws whatever the value, then chooses among them.
func (r RandomisedResponse) respond(v int64, d dice, p *ratio) int64 {
	k := int64(r.Classes)
	kept, other, uniform := d.flip(p, 1), int64(d.below(uint64(k-1))), int64(d.below(uint64(k)))
	switch {
	case v < 0 || v >= k:
		return uniform
	case kept:
		return v
	case other >= v:
		return other + 1
	}
	return other
}

// variance is the largest variance of one label's unbiased count of class k, ([z = k] − q)/(p − q):
// p(1−p)/(p−q)² if the label is k, q(1−q)/(p−q)² if it is not.
func (r RandomisedResponse) variance(Bound, int, int) float64 {
	p := r.KeepProbability()
	q := (1 - p) / float64(r.Classes-1)
	return max(p*(1-p), q*(1-q)) / ((p - q) * (p - q))
}

// Logarithms are multiples of 2^−epsilonBits. expBelow rounds its terms to multiples of 2^−expBits.
const (
	epsilonBits = 48
	expBits     = 192
)

// roundDown is the largest multiple of 2⁻⁴⁸ that is at most x ≥ 0.
func roundDown(x *big.Rat) *big.Rat {
	n := new(big.Int).Lsh(x.Num(), epsilonBits)
	return new(big.Rat).SetFrac(n.Quo(n, x.Denom()), new(big.Int).Lsh(big.NewInt(1), epsilonBits))
}

// expBelow is a rational at most eˣ, for x ≥ 0, and less than a relative 2⁻¹⁰⁰ below it: Σ xᵏ/k!
// (all terms are positive), each term rounded down to a multiple of 2⁻¹⁹². It does not decrease as
// x grows, because no term does.
func expBelow(x *big.Rat) *big.Rat {
	term := new(big.Int).Lsh(big.NewInt(1), expBits)
	sum := new(big.Int)
	den := new(big.Int)
	for k := int64(1); term.Sign() > 0; k++ {
		sum.Add(sum, term)
		term.Mul(term, x.Num())
		term.Quo(term, den.Mul(x.Denom(), big.NewInt(k)))
	}
	return new(big.Rat).SetFrac(sum, new(big.Int).Lsh(big.NewInt(1), expBits))
}

// logAbove is the least multiple e of 2⁻⁴⁸ with expBelow(e) ≥ r ≥ 1, so log r ≤ e. The search's
// floating-point start does not affect it.
func logAbove(r *big.Rat) *big.Rat {
	step := new(big.Rat).SetFrac(big.NewInt(1), new(big.Int).Lsh(big.NewInt(1), epsilonBits))
	x, _ := r.Float64()
	e := roundDown(rational(max(0, math.Log(x))))
	for expBelow(e).Cmp(r) < 0 {
		e.Add(e, step)
	}
	for e.Sign() > 0 {
		below := new(big.Rat).Sub(e, step)
		if expBelow(below).Cmp(r) < 0 {
			break
		}
		e = below
	}
	return e
}
