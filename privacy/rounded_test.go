package privacy

import (
	"errors"
	"math"
	"math/big"
	"testing"
)

// TestNormalProposal: k has probability ∝ e^{−k²/2}, by enumeration.
func TestNormalProposal(t *testing.T) {
	type result struct {
		k  uint64
		ok bool
	}
	got := law(t, func(d dice) result {
		k, ok := newNormal().propose(d)
		if !ok {
			return result{}
		}
		return result{k, true}
	})
	total := 0.
	for k := range 20 {
		total += math.Exp(-float64(k*k) / 2)
	}
	counts := 1 - got[result{}]
	for k := range uint64(9) {
		if want := math.Exp(-float64(k*k)/2) / total; math.Abs(got[result{k,
			true}]/counts-want) > 1e-13 {
			t.Errorf("P(%d) = %.15f, want %.15f", k, got[result{k, true}]/counts, want)
		}
	}
}

// TestNormalKeepLaw: on a coarse grid of uniforms (one digit; a tie is "not less") keep has a
// probability in closed form. With x = X/n, a falling chain of j uniforms has probability
// C(X,j)/nʲ, so keep has Σ(−r/n)ʲ·C(X,j) = (1−r/n)^X, which tends to e^{−xr}. The exact sampler
// runs the same algorithm with more digits.
func TestNormalKeepLaw(t *testing.T) {
	for _, n := range []uint64{2, 3, 4} {
		for k := range uint64(4) {
			for digit := range n {
				got := law(t, func(d dice) bool {
					g := &normal{base: n, most: 1}
					return g.keep(d, k, &uniform{[]uint64{digit}})
				})
				r := (2*float64(k) + float64(digit)/float64(n)) / (2*float64(k) + 2)
				if want := math.Pow(1-r/float64(n),
					float64(digit)); math.Abs(got[true]-want) > 1e-13 {
					t.Errorf("P[keep(%d, %d/%d)] = %.15f, want %.15f", k, digit, n, got[true], want)
				}
			}
		}
	}
}

// TestRoundingIsExact: given the digits, the rounded number is the integer nearest to σ(k+x),
// also if the first digits do not decide.
func TestRoundingIsExact(t *testing.T) {
	for _, c := range []struct {
		num, den int64
		k        uint64
		digits   []uint64 // base 16, then zeros
		want     uint64
	}{
		{1, 1, 0, []uint64{7, 15, 15, 15}, 0}, // just below 1/2
		{1, 1, 0, []uint64{8, 0, 0, 0, 1}, 1}, // just above
		{1, 1, 2, []uint64{8, 0, 0, 1}, 3},
		{7, 2, 1, []uint64{0, 0, 0, 0, 3}, 4},      // just above 3.5
		{100, 3, 2, []uint64{15, 15, 15, 15}, 100}, // just below 100
		{1, 1000, 3, []uint64{5, 5}, 0},
	} {
		g := &normal{base: 16}
		y := g.nearest(scripted(), c.k, &uniform{c.digits}, big.NewInt(c.num), big.NewInt(c.den))
		if y.low != c.want || y.high != 0 {
			t.Errorf("%d/%d·(%d+0.%v) rounds to %d, want %d", c.num, c.den, c.k, c.digits, y.low,
				c.want)
		}
	}
}

// TestRoundedGaussianDraws: χ² against Φ, false alarms 1e-10.
func TestRoundedGaussianDraws(t *testing.T) {
	for _, deviation := range []*big.Rat{big.NewRat(1, 3), big.NewRat(17, 8), big.NewRat(2000, 3)} {
		m := RoundedGaussian{deviation}
		draws, _ := m.draw(&secret{values: make([]int64, 40000)}, freshDice())
		s, _ := deviation.Float64()
		chiSquared(t, draws, int64(12*s)+12, func(y float64) float64 {
			y = math.Abs(y)
			return math.Erfc((y-.5)/s/math.Sqrt2)/2 - math.Erfc((y+.5)/s/math.Sqrt2)/2
		})
	}
}

// TestAnalyticDelta compares the closed form with the integral of the hockey-stick divergence
// between N(0,s²) and N(1,s²).
func TestAnalyticDelta(t *testing.T) {
	for _, c := range []struct{ s, epsilon float64 }{{20, .05}, {3, 1}, {1, 2}, {.3, 8}, {5, 1}} {
		sum, step := 0., c.s/4000
		for x := -14 * c.s; x < 14*c.s+1; x += step {
			p, q := math.Exp(-(x-1)*(x-1)/(2*c.s*c.s)), math.Exp(-x*x/(2*c.s*c.s))
			sum += max(0, p-math.Exp(c.epsilon)*q)
		}
		want := sum * step / (c.s * math.Sqrt(2*math.Pi))
		if got := AnalyticDelta(c.s, c.epsilon); got < want*(1-1e-4) || got > want*(1+1e-4)+1e-12 {
			t.Errorf("δ(%g) at s = %g is %g, the integral %g", c.epsilon, c.s, got, want)
		}
	}
}

// TestRoundedGaussianPrivacyLoss: for counts that move by (−1,+1), the exact δ(ε) of the rounded
// law is at most the requested δ and not far below. The discrete Gaussian calibrated by zCDP has
// more noise.
func TestRoundedGaussianPrivacyLoss(t *testing.T) {
	for _, g := range []Budget{{.3, .05}, {1, 1e-3}, {3, 1e-5}} {
		b := CountBound(Label, 2)
		m := must(CalibrateRoundedGaussian(b, g))
		s, _ := m.Deviation.Float64()
		reach := int64(9*s) + 3
		p := func(y int64) float64 {
			return math.Erfc((math.Abs(float64(y))-.5)/s/math.Sqrt2)/2 - math.Erfc((math.Abs(float64(y))+.5)/s/math.Sqrt2)/2
		}
		delta := 0.
		for a := -reach; a <= reach; a++ {
			for b := -reach; b <= reach; b++ {
				delta += max(0, p(a)*p(b)-math.Exp(g.Epsilon)*p(a-1)*p(b+1))
			}
		}
		if delta > g.Delta || delta < g.Delta/4 {
			t.Errorf("%+v: exact δ is %g", g, delta)
		}
		if z := must(CalibrateGaussian(b, g)); z.variance(b, 0, 2) < m.variance(b, 0, 2) {
			t.Errorf("%+v: zCDP needs variance %g, the analytic curve %g", g, z.variance(b, 0, 2), m.variance(b, 0, 2))
		}
		rho, _ := must(m.cost(b)).Rho.Float64()
		if want := 2 / (2 * s * s); math.Abs(rho-want) > 1e-12 {
			t.Errorf("ρ = %g, want %g", rho, want)
		}
	}
	for name, err := range map[string]error{
		"no L2sq": second(RoundedGaussian{big.NewRat(1, 1)}.cost(Bound{Unit: Label, L1: 2})),
		"weights": second(RoundedGaussian{big.NewRat(1, 1)}.cost(Bound{Unit: Label, L2sq: 2, Weight: []int64{1}})),
	} {
		if !errors.Is(err, ErrUnproven) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if second(CalibrateRoundedGaussian(CountBound(Label, 2), Budget{1, 0})) == nil {
		t.Error("delta 0 is accepted")
	}
}

// TestNormalRule: what a rule of the ledger for normal noise alone would change. Its charges add up
// in the exact curve too (Smith & Thakurta 2022), but the rule needs a fixed share of δ, which the
// others lose. With all of δ, normal noise would be 5 to 8 % smaller; with half of δ 3 to 4 %, and
// all other noise would be 2 to 4 % larger.
func TestNormalRule(t *testing.T) {
	const delta = 1e-6
	deviation := func(rho float64) float64 { return 1 / math.Sqrt(2*rho) }
	for _, epsilon := range []float64{.1, .3, 1, 3, 10} {
		today := deviation(RhoOf(Budget{epsilon, delta}))
		for _, share := range []float64{.5, .75, mainShare} {
			m := must(CalibrateRoundedGaussian(Bound{L2sq: 1 << 40},
				Budget{epsilon, delta * share}))
			s, _ := m.Deviation.Float64()
			normal := s / 0x1p20 / today
			other := math.NaN()
			if rest := mainShare - share; rest > 0 {
				other = deviation(rhoAt(epsilon, delta*rest)) / today
			}
			t.Logf("ε = %4g, %.3f of δ: normal noise × %.3f, all other × %.3f", epsilon, share, normal, other)
			if share == .5 && (normal < .955 || normal > .975 || other < 1.02 || other > 1.045) {
				t.Error("half of δ is worth more or less than the comment says")
			}
		}
	}
}

func BenchmarkRoundedGaussian(b *testing.B) {
	m := RoundedGaussian{big.NewRat(1000, 7)}
	s, d := &secret{values: make([]int64, 1000)}, freshDice()
	for b.Loop() {
		m.draw(s, d)
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "draws/s")
}
