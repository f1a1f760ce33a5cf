package ratio

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"caucus/study"
)

// TestDealing: rows sum to 1, sets have equal expected size, and set k is as skewed as the expected
// shares allow: scaling keeps every cross ratio T_jj·T_kk/(T_jk·T_kj).
func TestDealing(t *testing.T) {
	for _, c := range []struct {
		skew     float64
		expected []float64
	}{
		{.6, nil}, {.6, []float64{.5, .5}}, {.7, []float64{.9, .1}}, {.5, []float64{.5, .3, .15, .05}}, {.2, []float64{.98, .01, .01}},
	} {
		n := len(c.expected)
		expected := c.expected
		if expected == nil {
			n, expected = 3, []float64{1. / 3, 1. / 3, 1. / 3}
		}
		deal := DealProbabilities(c.skew, c.expected, n)
		for k := range n {
			if sum := floats.Sum(deal[k]); math.Abs(sum-1) > 1e-12 || floats.Min(deal[k]) < 0 {
				t.Errorf("%v: class %d is dealt %v", c, k, deal[k])
			}
			size := 0.
			for j := range n {
				size += expected[j] * deal[j][k]
			}
			if math.Abs(size-1/float64(n)) > 1e-9 {
				t.Errorf("%v: set %d holds %.4f of the records, want %.4f", c, k, size,
					1/float64(n))
			}
		}
		off := (1 - c.skew) / float64(n-1)
		want := c.skew * c.skew / (off * off)
		if got := deal[0][0] * deal[1][1] / (deal[0][1] * deal[1][0]); math.Abs(got/want-1) > 1e-6 {
			t.Errorf("%v: cross ratio %g, want %g", c, got, want)
		}
	}
	for _, bad := range [][]float64{{.5}, {.5, .6}, {1, 0}, {math.NaN(), 1}, {}} {
		if err := checkExpected(bad, 2); !errors.Is(err, study.ErrPlan) {
			t.Errorf("expected shares %v: %v", bad, err)
		}
	}
}
