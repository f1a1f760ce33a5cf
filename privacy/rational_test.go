package privacy

import (
	"math"
	"math/big"
	"testing"
)

// TestUpper: the result is never below x, and no float64 lies between.
func TestUpper(t *testing.T) {
	tiny := new(big.Rat).Inv(power(200))
	for name, c := range map[string]struct {
		x    *big.Rat
		want float64
	}{
		"nothing":       {new(big.Rat), 0},
		"a float64":     {rational(.1), .1},
		"a little more": {new(big.Rat).Add(rational(.1), tiny), math.Nextafter(.1, 1)},
		"a little less": {new(big.Rat).Sub(rational(.1), tiny), .1},
		// Float64 rounds 1/3 down
		"a third":             {big.NewRat(1, 3), math.Nextafter(1./3, 1)},
		"a tenth":             {big.NewRat(1, 10), .1}, // and 1/10 up
		"below the smallest":  {new(big.Rat).Inv(power(2000)), math.SmallestNonzeroFloat64},
		"the largest":         {rational(math.MaxFloat64), math.MaxFloat64},
		"beyond the largest":  {power(1024), math.Inf(1)},
		"just beyond largest": {new(big.Rat).Add(rational(math.MaxFloat64), power(0)), math.Inf(1)},
	} {
		if got := upper(c.x); got != c.want {
			t.Errorf("%s: upper is %v, want %v", name, got, c.want)
		}
	}
}
