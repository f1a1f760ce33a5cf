package privacy

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"

	"caucus/internal/testlevel"
)

// zeroSumLaw returns the exact law of an accepted block of three at scale num/step.
func zeroSumLaw(t *testing.T, num, step uint64) map[[2]int64]float64 {
	got := law(t, func(d dice) [3]int64 {
		var p ratio
		z := zeroSum{t: num, step: step, next: func() (noise, bool) {
			return laplaceTrial(d, &p, num, step)
		}}
		y, ok := z.round(d, 3)
		if !ok {
			return [3]int64{}
		}
		return [3]int64{1, addNoise(0, y[0]), addNoise(0, y[1])}
	})
	out, counts := map[[2]int64]float64{}, 1-got[[3]int64{}]
	for r, p := range got {
		if r[0] == 1 {
			out[[2]int64{r[1], r[2]}] += p / counts
		}
	}
	return out
}

// TestZeroSumLaw: by enumeration, the sampler has the law of three discrete Laplace numbers given
// that they sum to zero.
func TestZeroSumLaw(t *testing.T) {
	for _, f := range [][2]uint64{{1, 2}, {1, 1}, {2, 3}} {
		got := zeroSumLaw(t, f[0], f[1])
		scale := float64(f[0]) / float64(f[1])
		weight := func(a, b int64) float64 {
			return math.Exp(-(math.Abs(float64(a)) + math.Abs(float64(b)) +
				math.Abs(float64(a+b))) / scale)
		}
		total, square := 0., 0.
		for a := int64(-80); a <= 80; a++ {
			for b := int64(-80); b <= 80; b++ {
				total += weight(a, b)
				square += weight(a, b) * float64(a*a)
			}
		}
		for a := int64(-9); a <= 9; a++ {
			for b := int64(-9); b <= 9; b++ {
				if want := weight(a, b) / total; math.Abs(got[[2]int64{a, b}]-want) > 1e-10 {
					t.Fatalf("scale %v: P(%d,%d,·) = %.14f, want %.14f", scale, a, b,
						got[[2]int64{a, b}], want)
				}
			}
		}
		m := ZeroSumLaplace{new(big.Rat).SetFrac64(int64(f[0]), int64(f[1]))}
		if v := m.variance(Bound{}, 0, 3); math.Abs(v-square/total) > 1e-9*v {
			t.Errorf("scale %v: variance %.12f, the law's is %.12f", scale, v, square/total)
		}
	}
}

// TestZeroSumPrivacyLoss: over all answers, the largest loss of neighbours equals the stated ε.
func TestZeroSumPrivacyLoss(t *testing.T) {
	got := zeroSumLaw(t, 2, 1)
	claimed, _ := must(ZeroSumLaplace{big.NewRat(2, 1)}.cost(CountBound(Label, 3))).Pure.Float64()
	worst := 0.
	for _, move := range [][2]int64{{1, -1}, {-1, 1}, {1, 0}, {0, 1}, {-1, 0}, {0, -1}} {
		for a := int64(-4); a <= 4; a++ {
			for b := int64(-4); b <= 4; b++ {
				worst = max(worst,
					math.Log(got[[2]int64{a, b}]/got[[2]int64{a - move[0], b - move[1]}]))
			}
		}
	}
	if claimed != 1 || math.Abs(worst-claimed) > 1e-9 {
		t.Errorf("largest privacy loss %.12f, cost claims %v", worst, claimed)
	}
}

// TestZeroSumVariance compares with sums over the law, for two to six classes.
func TestZeroSumVariance(t *testing.T) {
	for _, scale := range []float64{.5, 3, 15, 40}[:testlevel.N(t, 3, 4)] {
		for c := 2; c <= 6; c++ {
			reach := int(50*scale) + 20
			one := func(y int) float64 { return math.Exp(-math.Abs(float64(y)) / scale) }
			rest := []float64{1} // law of the sum of c−1, from −k·reach
			for range c - 1 {
				next := make([]float64, len(rest)+2*reach)
				for i, p := range rest {
					if p > 1e-18 {
						for y := -reach; y <= reach; y++ {
							next[i+y+reach] += p * one(y)
						}
					}
				}
				rest = next
				if len(rest) > 8000 {
					break
				}
			}
			if len(rest) != 1+2*reach*(c-1) {
				continue // too long to sum; smaller scales cover the classes
			}
			square, total := 0., 0.
			for y := -reach; y <= reach; y++ {
				p := one(y) * rest[-y+reach*(c-1)]
				square, total = square+float64(y*y)*p, total+p
			}
			m := ZeroSumLaplace{new(big.Rat).SetFloat64(scale)}
			if v := m.variance(Bound{}, 0, c); math.Abs(v-square/total) > 1e-6*v {
				t.Errorf("scale %g, %d classes: variance %.9g, want %.9g", scale, c, v,
					square/total)
			}
		}
	}
}

// TestZeroSumDraws: blocks keep their sums, and one count has the right law at a scale that
// cannot be enumerated (χ², false alarms 1e-10).
func TestZeroSumDraws(t *testing.T) {
	// scale 40; two classes: y and −y, P ∝ e^{−2|y|/40}
	m := must(CalibrateZeroSumLaplace(CountBound(Label, 2), .05))
	s := &secret{values: make([]int64, 40000), bound: CountBound(Label, 2)}
	draws, _ := m.draw(s, freshDice())
	var first []int64
	for j := 0; j < len(draws); j += 2 {
		if draws[j]+draws[j+1] != 0 {
			t.Fatalf("block %d sums to %d", j/2, draws[j]+draws[j+1])
		}
		first = append(first, draws[j])
	}
	scale, _ := m.Scale.Float64()
	chiSquared(t, first, 2000, func(y float64) float64 {
		return math.Exp(-2 * math.Abs(y) / scale)
	})
}

func TestZeroSumRefusals(t *testing.T) {
	m := ZeroSumLaplace{big.NewRat(2, 1)}
	for name, b := range map[string]Bound{
		"keeps no sum": {Unit: Label, L1: 2}, "blocks of one": {Unit: Label, L1: 2, KeepsSum: true, Block: 1},
		"no L1": {Unit: Label, L2sq: 2, KeepsSum: true},
	} {
		if err := second(m.cost(b)); !errors.Is(err, ErrUnproven) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Bound{Unit: Label, L1: 2, Block: 3}).Validate(4); err == nil {
		t.Error("a block that does not divide the vector is accepted")
	}
}

func BenchmarkZeroSum(b *testing.B) {
	for _, c := range []int{2, 10} {
		b.Run(fmt.Sprint(c), func(b *testing.B) {
			m := must(CalibrateZeroSumLaplace(CountBound(Label, c), .05))
			s, d := &secret{values: make([]int64, c), bound: CountBound(Label, c)}, freshDice()
			for b.Loop() {
				m.draw(s, d)
			}
		})
	}
}
