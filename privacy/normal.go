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

func (g *normal) digit(d dice, u *uniform, i int) uint64 {
	for len(u.digits) <= i {
		u.digits = append(u.digits, d.below(g.base))
	}
	return u.digits[i]
}

func (g *normal) less(d dice, a, b *uniform) bool {
	for i := 0; g.most == 0 || i < g.most; i++ {
		if x, y := g.digit(d, a, i), g.digit(d, b, i); x != y {
			return x < y
		}
	}
	return false
}

// trial proposes k with probability ∝ e^{−k/2}, accepts it with probability e^{−k(k−1)/2}, and
// accepts uniform digits x with probability e^{−x(2k+x)/2}: e^{−(k+x)²/2} in all.
func (g *normal) trial(d dice) (k uint64, x uniform, ok bool) {
	if k, ok = g.propose(d); !ok {
		return 0, x, false
	}
	for range k + 1 {
		if !g.keep(d, k, &x) {
			return 0, x, false
		}
	}
	return k, x, true
}

// propose returns k with probability ∝ e^{−k²/2}, given ok.
func (g *normal) propose(d dice) (k uint64, ok bool) {
	g.p.setSmall(1, 2)
	for d.decay(&g.p) {
		k++
	}
	if k < 2 {
		return k, true
	}
	g.p.set(new(big.Int).SetUint64(k*(k-1)/2), big.NewInt(1))
	return k, d.decay(&g.p)
}

// keep is true with probability e^{−x·r}, r = (2k+x)/(2k+2). Count the fresh uniforms n that keep
// falling, x > z₁ > z₂ > …, each also passing a coin of probability r. P[n ≥ j] = (xr)ʲ/j!, so P[n
// even] = e^{−xr}.
func (g *normal) keep(d dice, k uint64, x *uniform) bool {
	even := true
	for y := x; ; even = !even {
		z := new(uniform)
		if !g.less(d, z, y) || !g.coin(d, k, x) {
			return even
		}
		y = z
	}
}

func (g *normal) coin(d dice, k uint64, x *uniform) bool {
	switch c := d.below(2*k + 2); {
	case c < 2*k:
		return true
	case c == 2*k:
		return g.less(d, new(uniform), x)
	}
	return false
}

// rounded draws a normal number times num/den and rounds it to the nearest integer.
func (g *normal) rounded(d dice, num, den *big.Int) noise {
	for {
		if k, x, ok := g.trial(d); ok {
			return noise{size: g.nearest(d, k, &x, num, den), negative: d.below(2) == 1}
		}
	}
}

// nearest returns the integer nearest to num/den·(k+x). It reveals digits of x until the integer is
// certain.
func (g *normal) nearest(d dice, k uint64, x *uniform, num, den *big.Int) natural {
	// k+x lies in [low, low+1)/unit, unit = baseⁱ after i digits.
	low, unit, base := new(big.Int).SetUint64(k), big.NewInt(1), new(big.Int).SetUint64(g.base)
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
		low.Mul(low, base).Add(low, last.SetUint64(g.digit(d, x, i)))
		unit.Mul(unit, base)
	}
}
