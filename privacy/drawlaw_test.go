package privacy

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"caucus/internal/testlevel"
)

// loaded dice succeed with fixed, wrong probabilities. They take draws far into the tails, such
// as ten standard deviations, where honest dice hardly ever go.
type loaded struct{ rng *rand.Rand }

func (l loaded) below(n uint64) uint64    { return l.rng.Uint64N(n) }
func (l loaded) flip(*ratio, uint64) bool { return l.rng.Float64() < 0.6 }
func (l loaded) decay(*ratio) bool        { return l.rng.Float64() < 0.9 }
func loadedDice(seed uint64) dice         { return loaded{rand.New(rand.NewPCG(seed, 3))} }
func seededDice(seed uint64) dice {
	return newDice(rand.NewChaCha8([32]byte{byte(seed), 8}))
}
func sameRest(a, b dice) bool { return a.below(1<<62) == b.below(1<<62) }
func drawOf(m Mechanism, v []int64, b Bound, d dice) []int64 {
	out, _ := m.draw(&secret{values: v, bound: b}, d)
	return out
}

// blockAlone draws one number, run or block of counts and adds it to the vector's. It repeats the
// trial whose law the tests beside it enumerate until a trial is accepted, and keeps no state
// between draws.
func blockAlone(t *testing.T, m Mechanism, v []int64, at int, b Bound, d dice) []int64 {
	t.Helper()
	one := func(trial func() (noise, bool)) []int64 {
		for {
			if y, ok := trial(); ok {
				return []int64{addNoise(v[at], y)}
			}
		}
	}
	laplace := func(scale *big.Rat) func() (noise, bool) {
		return func() (noise, bool) {
			return laplaceTrial(d, new(ratio), scale.Num().Uint64(), scale.Denom().Uint64())
		}
	}
	until := func(trial func() (noise, bool)) func() (noise, bool) {
		return func() (noise, bool) {
			for {
				if y, ok := trial(); ok {
					return y, true
				}
			}
		}
	}
	add := func(ys []noise) (out []int64) {
		for j, y := range ys {
			out = append(out, addNoise(v[at+j], y))
		}
		return out
	}
	switch m := m.(type) {
	case DiscreteLaplace:
		return one(laplace(m.Scale))
	case DiscreteGaussian:
		return one(func() (noise, bool) {
			var g gaussian
			g.set(m.Variance, b.weight(at))
			return g.trial(d)
		})
	case RoundedGaussian:
		return one(func() (noise, bool) {
			g := newNormal()
			k, x, ok := g.trial(d)
			if !ok {
				return noise{}, false
			}
			return noise{g.nearest(d, k, &x, m.Deviation.Num(), m.Deviation.Denom()),
				d.below(2) == 1}, true
		})
	case KNorm:
		width := len(v) / int(m.Blocks)
		if longer := len(v) % int(m.Blocks); at < longer*(width+1) {
			width++
		}
		for {
			p := m.proposal(width)
			r := run{next: until(laplace(p))}
			r.set(m.Scale, p, width)
			if r.trial(d) {
				return add(r.y)
			}
		}
	case ZeroSumLaplace:
		for {
			z := zeroSum{t: m.Scale.Num().Uint64(), step: m.Scale.Denom().Uint64(),
				next: until(laplace(m.Scale))}
			if y, ok := z.round(d, b.block(len(v))); ok {
				return add(y)
			}
		}
	case LaplacePrior, Dirichlet:
		c := b.block(len(v))
		return drawOf(m, v[at:at+c], Bound{Block: c}, d)
	case RandomisedResponse:
		var p ratio
		p.setSmall(m.Keep.Num().Uint64(), m.Keep.Denom().Uint64())
		return []int64{m.respond(v[at], d, &p)}
	}
	t.Fatalf("%s: no trial is known", m.Name())
	return nil
}

// TestDrawIsTrials: draw on a vector of 240 numbers takes the same rolls, in order, as drawing
// its numbers, runs or blocks one by one with blockAlone, whose trials have the laws computed by
// TestLaplaceLaw, TestGaussianLaw, TestKNormLaw, TestZeroSumLaw, TestUrnLaw, TestResponseLaw and
// the tests of rounded_test.go. So with exact dice, draw's law is the product of the laws of
// accepted trials, and the numbers are independent. Loaded dice check the same far out in the
// tails, where no sample goes.
func TestDrawIsTrials(t *testing.T) {
	trials := must(RealTrials())
	for _, m := range []Mechanism{
		KNorm{Scale: big.NewRat(7, 2), Blocks: 21}, // runs of 12 and of 11
		DiscreteGaussian{big.NewRat(1, 3)}, DiscreteLaplace{Scale: big.NewRat(1, 3)},
	} {
		trials = append(trials, Trial{Mechanism: m, Data: [2][]int64{make([]int64, realNumbers)}})
	}
	for _, trial := range trials {
		m, v, far := trial.Mechanism, trial.Data[0], 0.
		seeds := uint64(10)
		if _, slow := m.(Dirichlet); slow { // a Dirichlet draw has no tails
			seeds = 1
		}
		for seed := range seeds {
			for _, roll := range []func(uint64) dice{seededDice, loadedDice} {
				whole, parts := roll(seed), roll(seed)
				got := drawOf(m, v, trial.Bound, whole)
				var want []int64
				for len(want) < len(v) {
					want = append(want, blockAlone(t, m, v, len(want), trial.Bound, parts)...)
				}
				if !slices.Equal(got, want) {
					t.Fatalf("%s, %s, seed %d: drawn %v, alone %v", m.Name(), trial.Pair, seed, got,
						want)
				}
				if !sameRest(whole, parts) {
					t.Fatalf("%s, %s, seed %d: the vector took other rolls than its parts", m.Name(), trial.Pair, seed)
				}
				for j := range got {
					far = max(far,
						math.Abs(float64(got[j]-v[j]))/math.Sqrt(m.variance(trial.Bound, j,
							len(v))))
				}
			}
		}
		t.Logf("%-20s %-52s up to %.1f standard deviations", m.Name(), trial.Pair, far)
		switch m.(type) {
		case LaplacePrior, Dirichlet, RandomisedResponse: // bounded
		default:
			if far < 6 {
				t.Errorf("%s, %s: the loaded dice reach %.1f standard deviations only", m.Name(), trial.Pair, far)
			}
		}
	}
}

// tail counts noise at least this far out, beside the expected frequency.
type tail struct {
	beyond float64 // standard deviations
	seen   int
	want   float64 // probability
}

// tailsOf counts noise beyond 0, ½, …, 5½ standard deviations and computes the probabilities from
// the exact law.
func tailsOf(noise []int64, deviation float64, weight func(y float64) float64) []tail {
	var out []tail
	total, reach := weight(0), math.Ceil(60*deviation)
	for y := 1.; y <= reach; y++ {
		total += 2 * weight(y)
	}
	for k := 0.5; k < 6; k += 0.5 {
		c := tail{beyond: k}
		for y := math.Floor(k*deviation) + 1; y <= reach; y++ {
			c.want += 2 * weight(y) / total
		}
		for _, y := range noise {
			if math.Abs(float64(y)) > k*deviation {
				c.seen++
			}
		}
		out = append(out, c)
	}
	return out
}

// wrongTail returns the first tail whose count has probability below level/2 on its side: exact
// binomial tails, by the incomplete beta function.
func wrongTail(tails []tail, n int, level float64) (tail, bool) {
	for _, c := range tails {
		law := distuv.Binomial{N: float64(n), P: c.want}
		if law.CDF(float64(c.seen)) < level/2 ||
			(c.seen > 0 && 1-law.CDF(float64(c.seen-1)) < level/2) {
			return c, true
		}
	}
	return tail{}, false
}

// cut draws Gaussian noise again if it is beyond some standard deviations.
func cut(m DiscreteGaussian, beyond float64, n int, d dice) []int64 {
	v, _ := m.Variance.Float64()
	var g gaussian
	g.set(m.Variance, 1)
	out := make([]int64, 0, n)
	for len(out) < n {
		if y := addNoise(0, g.draw(d)); float64(y*y) <= beyond*beyond*v {
			out = append(out, y)
		}
	}
	return out
}

// TestTails: the tails of Gaussian noise have the probabilities of the exact law, and the test
// finds the mistake of cut. Beyond 4 standard deviations (probability 6.3·10⁻⁵), 38 of 600,000
// draws are expected; beyond 4.5 (6.7·10⁻⁶), 30 of 4.5 million. An honest sampler has none with
// probability 10⁻¹³. So the test finds a law cut there, or nearer. False alarms: 4e-13 for each of
// 11 thresholds and two laws, 8.8e-12 in all.
func TestTails(t *testing.T) {
	const level = 4e-13
	numbers, beyond := testlevel.N(t, 600_000, 4_500_000), 4.
	if testlevel.Long() {
		beyond = 4.5
	}
	m := DiscreteGaussian{big.NewRat(40_000, 1)}
	law := func(y float64) float64 { return math.Exp(-y * y / 80_000) }
	// Through a ledger, which could also spoil a draw.
	ledger := must(Open(NewMemoryJournal(), Config{}))
	var honest []int64
	for k := range 20 {
		s := must(NewSensitive(make([]int64, numbers/20), Bound{Unit: Record, L2sq: 1}))
		honest = append(honest, must(ledger.Release(t.Context(), fmt.Sprint(k), s, m)).Values...)
	}
	if c, wrong := wrongTail(tailsOf(honest, 200, law), numbers, level); wrong {
		t.Errorf("%d of %d numbers are beyond %.1f standard deviations, %.1f are expected", c.seen, numbers, c.beyond, c.want*float64(numbers))
	}
	if _, wrong := wrongTail(tailsOf(cut(m, beyond, numbers, seededDice(1)), 200, law), numbers,
		level); !wrong {
		t.Errorf("a Gaussian that is drawn again beyond %v standard deviations is not found", beyond)
	}
	const some = 200_000
	laplace := drawOf(DiscreteLaplace{Scale: big.NewRat(20, 1)}, make([]int64, some), Bound{},
		freshDice())
	if c, wrong := wrongTail(tailsOf(laplace, 20*math.Sqrt2, func(y float64) float64 {
		return math.Exp(-y / 20)
	}), some, level); wrong {
		t.Errorf("Laplace: %d of %d numbers are beyond %.1f standard deviations, %.1f are expected", c.seen, some, c.beyond, c.want*some)
	}
}
