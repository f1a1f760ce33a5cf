package audit

import (
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// coin returns the number of the data set with probability keep, otherwise the other number.
func coin(rng *rand.Rand, keep float64) Draw {
	return IntegerDraw(func(neighbour int) []int64 {
		if rng.Float64() < keep {
			return []int64{int64(neighbour)}
		}
		return []int64{int64(1 - neighbour)}
	})
}

// TestAuditFalseAlarms: on answers whose ε is exact, of one coin and of sixteen, 300 audits with a
// false-alarm rate of 0.2 raise 60 alarms on average at most; 121 or more have probability below
// 1e-13 (binomial tail), and draws are seeded. If each of the sixteen coins' events had the whole
// rate, most audits would raise an alarm.
func TestAuditFalseAlarms(t *testing.T) {
	for name, c := range map[string]struct {
		draw    func(*rand.Rand) Draw
		epsilon float64
	}{
		"a coin": {func(rng *rand.Rand) Draw { return coin(rng, 3./4) }, math.Log(3)},
		"sixteen fair coins": {func(rng *rand.Rand) Draw {
			return IntegerDraw(func(int) []int64 {
				out := make([]int64, 16)
				for j := range out {
					out[j] = rng.Int64N(2)
				}
				return out
			})
		}, 0},
	} {
		draw, raised := c.draw(rand.New(rand.NewPCG(1, 1))), 0
		for range 300 {
			f, err := Audit{Samples: 200, FalseAlarm: 0.2}.Run(draw)
			if err != nil {
				t.Fatal(err)
			}
			if f.Exceeds(c.epsilon) {
				raised++
			}
		}
		if raised > 120 {
			t.Errorf("%s: %d of 300 honest audits raise an alarm, 60 are allowed for", name, raised)
		}
		t.Logf("%s: %d of 300 audits raise an alarm at a false-alarm rate of 0.2", name, raised)
	}
}

// TestAuditDelta: an event of probability at most δ is no evidence.
func TestAuditDelta(t *testing.T) {
	for delta, refuted := range map[float64]bool{0: true, .05: true, .25: false} {
		a := Default()
		a.Samples, a.Delta = 4000, delta
		rng := rand.New(rand.NewPCG(2, 2))
		f, err := a.Run(IntegerDraw(func(n int) []int64 { // one answer in five reveals data set 1
			if n == 1 && rng.IntN(5) == 0 {
				return []int64{1}
			}
			return []int64{0}
		}))
		if err != nil {
			t.Fatal(err)
		}
		if f.Delta != delta || f.Exceeds(.1) != refuted {
			t.Errorf("δ = %v: shows %.3f at δ = %v by %s", delta, f.Epsilon, f.Delta, f.Event)
		}
	}
}

// TestAuditFinds: the audit tells two data sets apart by each of these leaks. Draws are seeded, so
// that no run misses a leak by bad luck.
func TestAuditFinds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	cases := map[string]struct {
		draw  Draw
		least float64 // least ε to show
		most  float64 // most
	}{
		"a fair coin":                  {coin(rng, .5), 0, 1e-9},
		"a coin of ε = log 9":          {coin(rng, .9), 1.6, math.Log(9)},
		"noise that never comes again": {func(int) []float64 { return []float64{rng.NormFloat64(), rng.NormFloat64()} }, 0, 1e-9},
		"the number itself":            {func(n int) []float64 { return []float64{float64(n)} }, 3, 99},
		"a refusal":                    {func(n int) []float64 { return make([]float64, 1-n) }, 3, 99},
		"a lowest bit":                 {func(n int) []float64 { return []float64{float64(2*rng.IntN(1<<40) + n)} }, 3, 99},
		"the tenth of ten":             {func(n int) []float64 { return append(make([]float64, 9), rng.Float64()+float64(n)) }, 3, 99},
		"a sum of two":                 {func(n int) []float64 { x := 1e6 * rng.NormFloat64(); return []float64{x, float64(n) - x} }, 3, 99},
		"how long the answer is":       {func(n int) []float64 { return make([]float64, 3+n) }, 3, 99},
		"nothing is ever said":         {func(int) []float64 { return nil }, 0, 0},
		"not a number":                 {func(n int) []float64 { return []float64{math.NaN()} }, 0, 0},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) { // in order: they share their draws
		c := cases[name]
		a := Default()
		a.Samples = 4000
		f, err := a.Run(c.draw)
		if err != nil {
			t.Fatal(err)
		}
		if f.Epsilon < c.least || f.Epsilon > c.most {
			t.Errorf("%s: shows %.3f by %s, want %.3f to %.3f", name, f.Epsilon, f.Event, c.least,
				c.most)
		}
	}
}

func TestAuditRefuses(t *testing.T) {
	for name, a := range map[string]Audit{
		"few samples":        {Samples: 99, FalseAlarm: .1},
		"too many samples":   {Samples: 1<<30 + 1, FalseAlarm: .1},
		"a negative δ":       {Samples: 100, Delta: -.1, FalseAlarm: .1},
		"δ of 1":             {Samples: 100, Delta: 1, FalseAlarm: .1},
		"no number for δ":    {Samples: 100, Delta: math.NaN(), FalseAlarm: .1},
		"a rate of 0":        {Samples: 100},
		"a rate of 1":        {Samples: 100, FalseAlarm: 1},
		"no number for rate": {Samples: 100, FalseAlarm: math.NaN()},
	} {
		if _, err := a.Run(func(int) []float64 {
			t.Fatalf("%s: draws", name)
			return nil
		}); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

// TestShareBounds: at the bounds, the exact binomial tails are at most the level, and close to it.
func TestShareBounds(t *testing.T) {
	tail := func(k, n int, p float64) float64 { // P[X ≥ k]
		const precision = 300
		sum, success := new(big.Float).SetPrec(precision),
			new(big.Float).SetPrec(precision).SetFloat64(p)
		failure := new(big.Float).SetPrec(precision).Sub(big.NewFloat(1), success)
		term := new(big.Float).SetPrec(precision).SetInt64(1) // P[X = n]
		for range n {
			term.Mul(term, success)
		}
		for x := n; x >= k; x-- {
			sum.Add(sum, term)
			term.Mul(term, failure).Quo(term, success)
			term.Mul(term, big.NewFloat(float64(x))).Quo(term, big.NewFloat(float64(n-x+1)))
		}
		out, _ := sum.Float64()
		return out
	}
	for _, c := range []struct{ k, n int }{{1, 1}, {1, 10}, {5, 10}, {10, 10}, {1, 2000}, {3, 2000},
		{1000, 2000}, {1999, 2000}, {2000, 2000}} {
		for _, level := range []float64{0.1, 1e-6, 1e-13} {
			low := leastShare(c.k, c.n, level)
			if got := tail(c.k, c.n, low); got > level || got < 0.9999*level {
				t.Errorf("%d of %d at %g: at %g the tail is %g", c.k, c.n, level, low, got)
			}
			if high := mostShare(c.n-c.k, c.n, level); math.Abs(high-(1-low)) > 1e-15 {
				t.Errorf("%d of %d at %g: upper bound %g, want %g", c.n-c.k, c.n, level, high,
					1-low)
			}
		}
	}
	if leastShare(0, 10, 0.1) != 0 || mostShare(10, 10, 0.1) != 1 {
		t.Error("nothing of ten must give 0, all of ten 1")
	}
	// The largest input: half of 2²⁹ successes, and a single one.
	for _, k := range []int{1, 1 << 28} {
		if low, share := leastShare(k, 1<<29, 1e-13), float64(k)/(1<<29); low <= 0 || low >= share {
			t.Errorf("%d of 2^29: at least %g", k, low)
		}
	}
}
