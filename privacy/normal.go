package privacy

import "math/big"

// normal draws exact standard normal numbers ±(k+x), k an integer and x a uniform fraction.
// Digits of x are drawn only when a comparison needs them: algorithm N of Karney, "Sampling
// exactly from the normal distribution" (2016).
type normal struct {
	base uint64 // 2³²; digits are below it
	most int    // most digits of x; 0: no limit. Tests set it to enumerate all outcomes
	p    ratio
}

func newNormal() *normal { return &normal{base: 1 << 32} }

// uniform is a number in [0,1), given by its first digits.
type uniform struct{ digits []uint64 }

func (n *normal) digit(d dice, u *uniform, i int) uint64 {
	for len(u.digits) <= i {
		u.digits = append(u.digits, d.below(n.base))
	}
	return u.digits[i]
}

func (n *normal) less(d dice, a, b *uniform) bool {
	for i := 0; n.most == 0 || i < n.most; i++ {
		if x, y := n.digit(d, a, i), n.digit(d, b, i); x != y {
			return x < y
		}
	}
	return false
}

// trial proposes k with probability ∝ e^{−k/2}, accepts it with probability e^{−k(k−1)/2}, and
// accepts uniform digits x with probability e^{−x(2k+x)/2}: e^{−(k+x)²/2} in all.
func (n *normal) trial(d dice) (k uint64, x uniform, ok bool) {
	if k, ok = n.propose(d); !ok {
		return 0, x, false
	}
	for range k + 1 {
		if !n.keep(d, k, &x) {
			return 0, x, false
		}
	}
	return k, x, true
}

// propose returns k with probability ∝ e^{−k²/2}, given ok.
func (n *normal) propose(d dice) (k uint64, ok bool) {
	n.p.setSmall(1, 2)
	for d.decay(&n.p) {
		k++
	}
	if k < 2 {
		return k, true
	}
	n.p.set(new(big.Int).SetUint64(k*(k-1)/2), big.NewInt(1))
	return k, d.decay(&n.p)
}

// keep is true with probability e^{−x·r}, r = (2k+x)/(2k+2). Count the fresh uniforms n that keep
// falling, x > z₁ > z₂ > …, each also passing a coin of probability r. P[n ≥ j] = (xr)ʲ/j!, so P[n
// even] = e^{−xr}.
func (n *normal) keep(d dice, k uint64, x *uniform) bool {
	even := true
	for y := x; ; even = !even {
		z := new(uniform)
		if !n.less(d, z, y) || !n.coin(d, k, x) {
			return even
		}
		y = z
	}
}

func (n *normal) coin(d dice, k uint64, x *uniform) bool {
	switch c := d.below(2*k + 2); {
	case c < 2*k:
		return true
	case c == 2*k:
		return n.less(d, new(uniform), x)
	}
	return false
}

// rounded draws a normal number times num/den and rounds it to the nearest integer.
func (n *normal) rounded(d dice, num, den *big.Int) noise {
	for {
		if k, x, ok := n.trial(d); ok {
			return noise{size: n.nearest(d, k, &x, num, den), negative: d.below(2) == 1}
		}
	}
}

// nearest returns the integer nearest to num/den·(k+x). It reveals digits of x until the integer is
// certain.
func (n *normal) nearest(d dice, k uint64, x *uniform, num, den *big.Int) natural {
	// k+x lies in [low, low+1)/unit, unit = baseⁱ after i digits.
	low, unit, base := new(big.Int).SetUint64(k), big.NewInt(1), new(big.Int).SetUint64(n.base)
	scaled, denominator, first, last := new(big.Int), new(big.Int), new(big.Int), new(big.Int)
	for i := 0; ; i++ {
		// Round num/den times either end v of the interval: ⌊(2·num·v + den)/(2·den)⌋. −1: k+x is
		// below the upper end.
		denominator.Mul(den, unit)
		scaled.Mul(num, low).Lsh(scaled, 1).Add(scaled, denominator)
		denominator.Lsh(denominator, 1)
		first.Quo(scaled, denominator)
		scaled.Add(scaled, last.Lsh(num, 1)).Sub(scaled, big.NewInt(1))
		if last.Quo(scaled, denominator); first.Cmp(last) == 0 {
			return naturalOf(first)
		}
		low.Mul(low, base).Add(low, last.SetUint64(n.digit(d, x, i)))
		unit.Mul(unit, base)
	}
}
