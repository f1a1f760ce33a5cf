package privacy

import (
	"errors"
	"math"
	"math/big"
	mathrand "math/rand/v2"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"caucus/internal/testlevel"
)

// vectors lists all vectors of n classes.
func vectors(n, classes int) [][]int64 {
	all := [][]int64{{}}
	for range n {
		var longer [][]int64
		for _, v := range all {
			for k := range classes {
				longer = append(longer, append(append([]int64{}, v...), int64(k)))
			}
		}
		all = longer
	}
	return all
}

func hamming(a, b []int64) int {
	n := 0
	for j := range a {
		if a[j] != b[j] {
			n++
		}
	}
	return n
}

func powerOf(x *big.Rat, n int) *big.Rat {
	p := big.NewRat(1, 1)
	for range n {
		p.Mul(p, x)
	}
	return p
}

// TestExponentialIsResponse checks the identity in exact rationals, over all inputs and outputs.
// t stands for e^{ε/2}.
func TestExponentialIsResponse(t *testing.T) {
	for _, c := range []struct{ n, classes int }{{1, 2}, {2, 2}, {5, 2}, {1, 3}, {3, 3}, {2, 5},
		{3, 4}} {
		for _, odds := range []*big.Rat{big.NewRat(21, 20), big.NewRat(5, 3), big.NewRat(7, 1)} {
			all := vectors(c.n, c.classes)
			keep := new(big.Rat).Add(odds, big.NewRat(int64(c.classes-1), 1))
			flip := new(big.Rat).Inv(keep)
			keep.Quo(odds, keep)
			for _, v := range all {
				total := new(big.Rat) // of the exponential mechanism
				for _, z := range all {
					total.Add(total, powerOf(odds, c.n-hamming(v, z)))
				}
				for _, z := range all {
					h := hamming(v, z)
					published := new(big.Rat).Quo(powerOf(odds, c.n-h), total)
					product := new(big.Rat).Mul(powerOf(keep, c.n-h), powerOf(flip, h))
					if published.Cmp(product) != 0 {
						t.Fatalf("n %d, %d classes, t %s: P[%v|%v] is %s, independent responses give %s", c.n, c.classes, odds, z, v, published, product)
					}
				}
			}
		}
	}
}

// TestResponseLaw: over all paths of its dice, the sampler has the law of the exponential
// mechanism at 2ε, and its largest loss is the stated cost.
func TestResponseLaw(t *testing.T) {
	for _, c := range []struct{ n, classes int }{{1, 2}, {3, 2}, {2, 3}, {1, 7}} {
		for _, epsilon := range []float64{0.1, 1, 3} {
			rr := must(CalibrateResponse(c.classes, epsilon))
			em := must(CalibrateExponential(c.classes, 2*epsilon))
			if rr.Keep.Cmp(em.Keep) != 0 {
				t.Errorf("em(%g) keeps %s, rr(%g) %s", 2*epsilon, em.Keep, epsilon, rr.Keep)
			}
			laws := map[[3]int64]map[[3]int64]float64{}
			key := func(v []int64) (k [3]int64) { copy(k[:], v); return k }
			all := vectors(c.n, c.classes)
			for _, v := range all {
				laws[key(v)] = law(t, func(d dice) [3]int64 {
					out, _ := em.draw(&secret{values: v}, d)
					return key(out)
				})
				total := 0.
				for _, z := range all {
					total += math.Exp(epsilon * float64(c.n-hamming(v, z)))
				}
				for _, z := range all {
					want := math.Exp(epsilon*float64(c.n-hamming(v, z))) / total
					if got := laws[key(v)][key(z)]; math.Abs(got-want) > 1e-12 {
						t.Errorf("%d classes, ε %g: P[%v|%v] = %.14f, want %.14f", c.classes,
							epsilon, z, v, got, want)
					}
				}
			}
			// The largest loss of one label, also of a missing label.
			missing := law(t, func(d dice) [3]int64 {
				v := append([]int64{-1}, all[0][1:]...)
				out, _ := rr.draw(&secret{values: v}, d)
				return key(out)
			})
			claimed := must(CostOf(rr, Bound{Unit: Label, L1: 1, Cells: 1}))
			spent, _ := claimed.Pure.Float64()
			worst := 0.
			for _, z := range all {
				for k := range c.classes {
					v := append([]int64{int64(k)}, all[0][1:]...)
					for _, other := range []map[[3]int64]float64{laws[key(all[0])], missing} {
						worst = max(worst, math.Abs(math.Log(laws[key(v)][key(z)]/other[key(z)])))
					}
				}
			}
			if math.Abs(worst-spent) > 1e-9 || spent > epsilon || spent < epsilon-1e-12 {
				t.Errorf("%d classes: largest loss %.13f, cost %.13f, asked %g", c.classes, worst, spent, epsilon)
			}
		}
	}
}

// recursion computes the paper's sampler: log P[q = i], by its recursion over the number of kept
// labels.
func recursion(n, classes int, epsilon float64) []float64 {
	k := math.Log(float64(classes - 1))
	log := make([]float64, n+1)
	log[0] = float64(n) * (k - math.Log(math.Exp(epsilon/2)+float64(classes-1)))
	for i := 1; i <= n; i++ {
		log[i] = math.Log(float64(n-i+1)) - math.Log(float64(i)) + epsilon/2 - k + log[i-1]
	}
	for i := range log {
		log[i] = math.Exp(log[i])
	}
	return log
}

// TestRecursion: the published sampler (draw the quality by the recursion, then choose the kept
// labels) agrees with independent responses: its quality is binomial to 1e-12, and 20,000 draws
// of em follow it (χ², false alarms 1e-10).
func TestRecursion(t *testing.T) {
	for _, c := range []struct {
		n, classes int
		epsilon    float64
	}{{1, 2, 1}, {40, 2, 0.5}, {40, 4, 2}, {300, 3, 1}} {
		m := must(CalibrateExponential(c.classes, c.epsilon))
		pmf := recursion(c.n, c.classes, c.epsilon)
		b := distuv.Binomial{N: float64(c.n), P: m.KeepProbability()}
		for i, p := range pmf {
			if math.Abs(p-b.Prob(float64(i))) > 1e-11 {
				t.Errorf("n %d, %d classes: P[q=%d] = %.14f, binomial %.14f", c.n, c.classes, i, p, b.Prob(float64(i)))
			}
		}
		values := make([]int64, c.n)
		rng := mathrand.New(mathrand.NewPCG(1, uint64(c.n)))
		for j := range values {
			values[j] = rng.Int64N(int64(c.classes))
		}
		var kept []int64
		for range testlevel.N(t, 5000, 20_000) {
			z, _ := m.draw(&secret{values: values}, freshDice())
			kept = append(kept, int64(c.n-hamming(values, z)))
		}
		chiSquared(t, kept, int64(c.n), func(q float64) float64 {
			if q < 0 {
				return 0
			}
			return pmf[int(q)]
		})
	}
}

func TestCalibrateResponse(t *testing.T) {
	for _, classes := range []int{2, 3, 10, 256} {
		for _, epsilon := range []float64{1e-3, 0.1, 1. / 3, 1, 5, 20, 64} {
			m := must(CalibrateResponse(classes, epsilon))
			cost := must(CostOf(m, Bound{Unit: Label, L1: 1, Cells: 1}))
			if cost.Pure.Cmp(rational(epsilon)) > 0 {
				t.Errorf("%d classes, epsilon %g spends %s", classes, epsilon,
					cost.Pure.FloatString(15))
			}
			want := math.Exp(epsilon) / (math.Exp(epsilon) + float64(classes-1))
			if got := m.KeepProbability(); math.Abs(got-want) > 1e-14 {
				t.Errorf("%d classes, epsilon %g: keep %.16f, want %.16f", classes, epsilon, got,
					want)
			}
			exact := new(big.Rat).Mul(m.Keep,
				new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), responseBits)))
			if !exact.IsInt() {
				t.Errorf("keep %s is not on the lattice", m.Keep)
			}
		}
	}
	for _, epsilon := range []float64{0, -1, math.NaN(), math.Inf(1), 65, 1e-20} {
		if _, err := CalibrateResponse(2, epsilon); err == nil {
			t.Errorf("rr accepted epsilon %g", epsilon)
		}
		if _, err := CalibrateExponential(2, epsilon); err == nil {
			t.Errorf("em accepted epsilon %g", epsilon)
		}
	}
	for _, classes := range []int{-1, 0, 1, 257} {
		if _, err := CalibrateResponse(classes, 1); err == nil {
			t.Errorf("%d classes were accepted", classes)
		}
	}
	m := must(CalibrateResponse(2, 1))
	for name, b := range map[string]Bound{"no cells": {Unit: Label, L1: 1},
		"weights": {Unit: Label, L1: 1, Cells: 1, Weight: []int64{2}}} {
		if _, err := CostOf(m, b); !errors.Is(err, ErrUnproven) {
			t.Errorf("%s: %v, want ErrUnproven", name, err)
		}
	}
}

// TestLogAbove: the result is never below the logarithm, and above it by less than 2⁻⁴⁷.
func TestLogAbove(t *testing.T) {
	for _, r := range []*big.Rat{big.NewRat(1, 1), big.NewRat(3, 2), big.NewRat(1<<50+1, 1<<50),
		big.NewRat(1<<60, 3)} {
		e, _ := logAbove(r).Float64()
		x, _ := r.Float64()
		if want := math.Log(x); e < want-1e-15 || e > want+0x1p-47 {
			t.Errorf("log %s ≤ %.17g, want %.17g", r, e, want)
		}
		if r.Cmp(expBelow(logAbove(r))) > 0 {
			t.Errorf("log %s: not proven", r)
		}
	}
	if got, _ := expBelow(big.NewRat(2, 1)).Float64(); got != math.Exp(2) {
		t.Errorf("e² = %.17g", got)
	}
}

func TestResponsePublished(t *testing.T) {
	b := Bound{Unit: Label, L1: 3, L2sq: 9, Cells: 1}
	m := must(CalibrateResponse(3, 0.5))
	l := must(Open(NewMemoryJournal(), Config{Limits: map[Unit]Budget{Label: {Epsilon: 0.5}}}))
	p := must(l.Release(ctx, "labels", must(NewSensitive([]int64{0, 1, 2, -1, 7}, b)), m))
	for _, v := range p.Values {
		if v < 0 || v > 2 {
			t.Errorf("published class %d", v)
		}
	}
	back, err := ParsePublished(must(p.MarshalBinary()))
	if err != nil || !reflect.DeepEqual(p, back) {
		t.Errorf("%+v becomes %+v, %v", p, back, err)
	}
	if want := 0.5 * 0.5; p.Variance(0) < want { // far above: few labels are kept
		t.Errorf("variance %g", p.Variance(0))
	}
	if _, err := l.Release(ctx, "again", must(NewSensitive([]int64{0}, b)), m); !errors.Is(err,
		ErrBudget) {
		t.Errorf("a second release of the same labels: %v", err)
	}
	record := must(Open(NewMemoryJournal(), Config{Limits: map[Unit]Budget{Record: {Epsilon: 9}}}))
	if _, err := record.Release(ctx, "labels", must(NewSensitive([]int64{0}, b)),
		m); !errors.Is(err, ErrUnproven) {
		t.Errorf("labels under a limit for records: %v, want ErrUnproven", err)
	}
	for name, parameters := range map[string]map[string]string{
		"none": {}, "no keep": {"classes": "2"}, "three": {"classes": "2", "keep": "2/3", "x": "1"},
		"not lowest": {"classes": "2", "keep": "4/6"}, "below 1/K": {"classes": "2", "keep": "1/3"},
		"certain": {"classes": "2", "keep": "1"}, "zero padded": {"classes": "02", "keep": "2/3"},
		"signed": {"classes": "2", "keep": "+2/3"}, "decimal": {"classes": "2", "keep": "0.6"},
		"too fine": {"classes": "2", "keep": "9223372036854775809/9223372036854775810"}, "one class": {"classes": "1", "keep": "2/3"},
	} {
		if _, err := MechanismOf("randomised-response", parameters); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
