package privacy

import (
	"math"
	"math/big"
)

// rational returns x exactly, for finite x.
func rational(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }

// upper returns the least float64 ≥ x, for x ≥ 0; +Inf if there is none.
func upper(x *big.Rat) float64 {
	f, _ := x.Float64() // the nearest
	if math.IsInf(f, 1) || rational(f).Cmp(x) >= 0 {
		return f
	}
	return math.Nextafter(f, math.Inf(1))
}

func power(k uint) *big.Rat { return new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), k)) }

// roundUp returns the least n/2ᵏ ≥ x > 0, with the smallest k ≥ 0 that leaves n at least 21 bits.
// The result is below x·(1+2⁻²⁰) and quick to sample with.
func roundUp(x *big.Rat) *big.Rat {
	k := max(0, 21-(x.Num().BitLen()-x.Denom().BitLen()))
	den := new(big.Int).Lsh(big.NewInt(1), uint(k))
	num := new(big.Int).Mul(x.Num(), den)
	num.Add(num, x.Denom()).Sub(num, big.NewInt(1))
	return new(big.Rat).SetFrac(num.Quo(num, x.Denom()), den)
}
