package privacy

import (
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// pair holds the outcome of a trial for a run of two.
type pair struct {
	a, b int64
	ok   bool
}

// knormLaw returns the law of a trial of a run of two, with proposals of scale t.
func knormLaw(t *testing.T, scale, proposal *big.Rat) map[pair]float64 {
	t.Helper()
	return law(t, func(d dice) pair {
		var p ratio
		r := run{next: func() (noise, bool) {
			return laplaceTrial(d, &p, proposal.Num().Uint64(), proposal.Denom().Uint64())
		}}
		r.set(scale, proposal, 2)
		if !r.trial(d) {
			return pair{}
		}
		return pair{addNoise(0, r.y[0]), addNoise(0, r.y[1]), true}
	})
}

// knormOf returns ⌈F‖y‖₂⌉, in floating point, exact for small y.
func knormOf(a, b int64) float64 {
	x := 0x1p16 * math.Hypot(float64(a), float64(b))
	if r := math.Round(x); math.Abs(x-r) < 1e-6 {
		return r
	}
	return math.Ceil(x)
}

// TestKNormLaw: an accepted trial has the law P ∝ e^{−⌈F‖y‖⌉/(F·Scale)}.
func TestKNormLaw(t *testing.T) {
	for _, c := range []struct{ scale, proposal *big.Rat }{
		{big.NewRat(1, 1), big.NewRat(3, 2)}, {big.NewRat(4, 5), big.NewRat(2, 1)}, {big.NewRat(1, 3), big.NewRat(1, 2)},
	} {
		got := knormLaw(t, c.scale, c.proposal)
		scale, _ := c.scale.Float64()
		counts := 1 - got[pair{}]
		total := 0.
		for a := int64(-200); a <= 200; a++ {
			for b := int64(-200); b <= 200; b++ {
				total += math.Exp(-knormOf(a, b) / 0x1p16 / scale)
			}
		}
		worst := 0.
		for a := int64(-12); a <= 12; a++ {
			for b := int64(-12); b <= 12; b++ {
				worst = max(worst,
					math.Abs(got[pair{a, b, true}]/counts-math.Exp(-knormOf(a,
						b)/0x1p16/scale)/total))
			}
		}
		if worst > 1e-9 {
			t.Errorf("scale %v: a probability is off by %g", c.scale, worst)
		}
	}
}

// TestKNormPrivacyLoss: computed from the sampler's law, the largest privacy loss of neighbours
// that use the whole bound is at most the stated cost, and below it only by the rounding of norms.
func TestKNormPrivacyLoss(t *testing.T) {
	got := knormLaw(t, big.NewRat(1, 1), big.NewRat(3, 2))
	loss := func(moved [2]int64) float64 {
		worst := 0.
		for a := int64(-6); a <= 6; a++ {
			for b := int64(-6); b <= 6; b++ {
				p, q := got[pair{a, b, true}], got[pair{a - moved[0], b - moved[1], true}]
				worst = max(worst, math.Abs(math.Log(p/q)))
			}
		}
		return worst
	}
	// One run: Δ = (2,1), L2² = 5. Two runs that move alike, by (1,1) each: L2² = 4.
	for _, c := range []struct {
		l2sq, blocks int64
		shown        float64
	}{
		{5, 1, loss([2]int64{2, 1})},
		{4, 2, 2 * loss([2]int64{1, 1})},
	} {
		cost := must(KNorm{Scale: big.NewRat(1, 1),
			Blocks: c.blocks}.cost(Bound{Unit: Record, L2sq: c.l2sq}))
		claimed, _ := cost.Pure.Float64()
		if c.shown > claimed+1e-9 || c.shown < claimed-1e-4 {
			t.Errorf("L2² %d in %d runs: largest privacy loss %.12f, cost claims %.12f", c.l2sq, c.blocks, c.shown, claimed)
		}
	}
}

// TestKNormMoves: in exact arithmetic, N(Δ) over random Δ within the bound never exceeds the
// number that the cost uses, and equals it if all runs move alike.
func TestKNormMoves(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		runs, width := 1+rng.IntN(5), 1+rng.IntN(4)
		norms, l2sq := new(big.Int), int64(0)
		for range runs {
			square := int64(0)
			for range width {
				d := int64(rng.IntN(7)) - 3
				square += d * d
			}
			l2sq += square
			x := big.NewInt(square)
			norms.Add(norms, ceilSqrt(x.Lsh(x, 2*normFineness)))
		}
		m := KNorm{Blocks: int64(runs)}
		claimed := m.moves(Bound{L2sq: max(l2sq, 1)})
		if moved := new(big.Rat).SetFrac(norms,
			big.NewInt(1<<normFineness)); moved.Cmp(claimed) > 0 {
			t.Fatalf("%d runs of %d move by %v, the cost rests on %v", runs, width, moved, claimed)
		}
	}
	// Three runs that move by ‖(1,1)‖ each.
	x := ceilSqrt(new(big.Int).Lsh(big.NewInt(2), 2*normFineness))
	x.Mul(x, big.NewInt(3))
	reached := new(big.Rat).SetFrac(x, big.NewInt(1<<normFineness))
	if gap := new(big.Rat).Sub(KNorm{Blocks: 3}.moves(Bound{L2sq: 6}),
		reached); gap.Cmp(big.NewRat(3, 1<<normFineness)) > 0 || gap.Sign() < 0 {
		t.Errorf("three runs reach %v, %v below what the cost rests on", reached, gap)
	}
}

// TestKNormProposal: the proposal's scale is at least √m·Scale, so that γ ≥ 0, and hardly more.
func TestKNormProposal(t *testing.T) {
	for _, scale := range []*big.Rat{big.NewRat(1, 1<<20), big.NewRat(1, 64), big.NewRat(3, 7),
		big.NewRat(1048577, 1<<10), power(48)} {
		for width := 1; width <= widestRun; width++ {
			p := KNorm{Scale: scale}.proposal(width)
			root := new(big.Rat).Quo(p, scale)
			square := new(big.Rat).Mul(root, root)
			least := new(big.Rat).SetInt64(int64(width))
			most := new(big.Rat).Mul(least, new(big.Rat).Add(power(0), new(big.Rat).Inv(power(17))))
			if square.Cmp(least) < 0 || square.Cmp(most) > 0 {
				t.Errorf("scale %v, a run of %d: the proposal's scale is %v times it", scale, width, root)
			}
			if p.Num().BitLen() > 62 || p.Denom().BitLen() > 62 {
				t.Errorf("scale %v, a run of %d: the proposal's scale %v is too long to draw with", scale, width, p)
			}
		}
	}
}

// TestKNormDraws: in a run of m, the radius has the law Gamma(m) and no direction is preferred,
// for the widest runs and for a vector with runs of two lengths. False alarms: 1e-9.
func TestKNormDraws(t *testing.T) {
	const runs = 4000
	m := KNorm{Scale: big.NewRat(1000, 1), Blocks: runs}
	v, _ := m.draw(&secret{values: make([]int64, runs*widestRun)}, freshDice())
	checkRuns(t, slices.Collect(slices.Chunk(v, widestRun)), 1000)

	m.Blocks = 2 // of 13 numbers: runs of 7 and 6
	var long, short [][]int64
	d := freshDice()
	for range runs {
		v, _ := m.draw(&secret{values: make([]int64, 13)}, d)
		long, short = append(long, v[:7]), append(short, v[7:])
	}
	checkRuns(t, long, 1000)
	checkRuns(t, short, 1000)
}

// checkRuns has false alarms of 3e-10.
func checkRuns(t *testing.T, runs [][]int64, scale float64) {
	t.Helper()
	width, n := float64(len(runs[0])), float64(len(runs))
	law := distuv.Gamma{Alpha: width, Beta: 1}
	bins := make([]float64, 30)
	share, corner, first := 0., 0., 0.
	for _, run := range runs {
		square, one := 0., 0.
		for _, y := range run {
			square += float64(y) * float64(y)
			one += math.Abs(float64(y))
		}
		radius := math.Sqrt(square)
		bins[min(len(bins)-1, int(float64(len(bins))*law.CDF(radius/scale)))]++
		share += float64(run[0]) * float64(run[0]) / square / n
		corner += one / radius / n
		first += float64(run[0]) / scale / n
	}
	statistic := 0.
	for _, have := range bins {
		want := n / float64(len(bins))
		statistic += (have - want) * (have - want) / want
	}
	if bound := (distuv.ChiSquared{K: float64(len(bins) - 1)}).Quantile(1 - 5e-11); statistic > bound {
		t.Errorf("runs of %g: the radius has χ² = %.1f with %d bins, at most %.1f", width, statistic, len(bins), bound)
	}
	// 6.5 standard errors: 8e-11 each.
	sphere := width * math.Exp(lgamma(width/2)-lgamma((width+1)/2)) / math.Sqrt(math.Pi)
	for name, c := range map[string]struct{ got, want, deviation float64 }{
		"first number's share of the square": {share, 1 / width, math.Sqrt(2 * (width - 1) / (width * width * (width + 2)))},
		"‖y‖₁/‖y‖₂":                          {corner, sphere, math.Sqrt(1 + (width-1)*2/math.Pi - sphere*sphere)},
		"first number":                       {first, 0, math.Sqrt(width + 1)},
	} {
		if off := math.Abs(c.got-c.want) / (c.deviation / math.Sqrt(n)); off > 6.5 {
			t.Errorf("runs of %g: %s is %.4f, %.1f standard errors from %.4f", width, name, c.got, off, c.want)
		}
	}
}

func lgamma(x float64) float64 { y, _ := math.Lgamma(x); return y }

// TestKNormVariance: variance is within 1 % of the discrete law's, in runs of both lengths.
func TestKNormVariance(t *testing.T) {
	m := KNorm{Scale: big.NewRat(3, 1), Blocks: 2} // 5 numbers: runs of 3 and 2
	for j, width := range []int{3, 3, 3, 2, 2} {
		total, square := 0., 0.
		reach := int64(70)
		for a := -reach; a <= reach; a++ {
			for b := -reach; b <= reach; b++ {
				for c := -reach; c <= reach; c++ {
					if width == 2 && c != 0 {
						continue
					}
					p := math.Exp(-math.Sqrt(float64(a*a+b*b+c*c)) / 3)
					total += p
					square += p * float64(a*a)
				}
			}
		}
		if got := m.variance(Bound{}, j, 5); math.Abs(got/(square/total)-1) > 0.01 {
			t.Errorf("variance of number %d is %g, want %g", j, got, square/total)
		}
	}
}

func TestCalibrateKNorm(t *testing.T) {
	for _, l2sq := range []int64{1, 2, 1000, 1 << 40, math.MaxInt64} {
		for _, n := range []int{1, 16, 17, 410, 5000} {
			for _, epsilon := range []float64{1e-2, 1. / 3, 1, 64} {
				b := Bound{Unit: Party, L2sq: l2sq}
				m, err := CalibrateKNorm(b, n, epsilon)
				if err != nil {
					t.Fatal(err)
				}
				if err := m.fits(n); err != nil {
					t.Error(err)
				}
				asked := rational(epsilon)
				spent, _ := new(big.Rat).Quo(must(CostOf(m, b)).Pure, asked).Float64()
				if must(CostOf(m, b)).Pure.Cmp(asked) > 0 || spent < 1-0x1p-20 {
					t.Errorf("L2² %d, %d numbers, epsilon %g: spends %g of it", l2sq, n, epsilon,
						spent)
				}
				back := must(MechanismOf(m.Name(), m.parameters())).(KNorm)
				if back.Scale.Cmp(m.Scale) != 0 || back.Blocks != m.Blocks {
					t.Errorf("%v came back as %v", m.parameters(), back.parameters())
				}
			}
		}
	}
	for name, err := range map[string]error{
		"no L2sq": second(CalibrateKNorm(Bound{Unit: Party, L1: 1}, 3, 1)),
		"weights": second(CalibrateKNorm(Bound{Unit: Party, L2sq: 1, Weight: []int64{2}}, 1, 1)),
	} {
		if !errors.Is(err, ErrUnproven) {
			t.Errorf("%s: %v, want ErrUnproven", name, err)
		}
	}
	for _, parameters := range []map[string]string{
		{"scale": "1", "blocks": "0"}, {"scale": "1", "blocks": "01"}, {"scale": "0", "blocks": "1"}, {"scale": "1/2097152", "blocks": "1"},
		{"scale": "1"}, {"scale": "1", "blocks": "1", "more": "1"}, {"scale": "562949953421312", "blocks": "1"},
	} {
		if m, err := MechanismOf("k-norm", parameters); err == nil {
			t.Errorf("%v was read as %v", parameters, m)
		}
	}
	// A vector that would take too long to draw is refused before anything is charged.
	l := NewSimulation(1)
	wide := must(NewSensitive(make([]int64, 33), Bound{Unit: Party, L2sq: 1}))
	if _, err := l.Release(t.Context(), "a", wide,
		KNorm{Scale: big.NewRat(1, 1), Blocks: 2}); err == nil {
		t.Error("33 numbers in 2 runs were drawn")
	}
	// Such a release is not parsed either, because no ledger can make it.
	p := must(l.Release(t.Context(), "b", wide, KNorm{Scale: big.NewRat(1, 1), Blocks: 3}))
	p.Simulated, p.Parameters = false, map[string]string{"scale": "1", "blocks": "2"}
	p.Cost = must(CostOf(KNorm{Scale: big.NewRat(1, 1), Blocks: 2}, p.Bound))
	if err := p.check(); err == nil {
		t.Error("33 numbers in 2 runs were read")
	}
}

// TestCalibratePure chooses the noise with less variance.
func TestCalibratePure(t *testing.T) {
	for name, c := range map[string]struct {
		bound Bound
		n     int
		want  string
	}{
		"L1 is √n·L2":     {Bound{Unit: Party, L1: 20, L2sq: 1}, 400, "k-norm"},
		"one number":      {Bound{Unit: Party, L1: 5, L2sq: 25}, 1, "discrete-laplace"},
		"few numbers":     {Bound{Unit: Party, L1: 2, L2sq: 2}, 400, "discrete-laplace"},
		"no L1":           {Bound{Unit: Party, L2sq: 1}, 400, "k-norm"},
		"no L2sq":         {Bound{Unit: Party, L1: 1}, 400, "discrete-laplace"},
		"a record's sums": {Bound{Unit: Record, L1: 13, L2sq: 2}, 82, "k-norm"},
	} {
		m, err := CalibratePure(c.bound, c.n, 1)
		if err != nil || m.Name() != c.want {
			t.Errorf("%s: %v, %v, want %s", name, m, err, c.want)
		}
	}
	if err := second(CalibratePure(Bound{Unit: Party, L1: 1, Weight: []int64{1}}, 1,
		1)); !errors.Is(err, ErrUnproven) {
		t.Errorf("weights: %v, want ErrUnproven", err)
	}
}

func BenchmarkKNormDraw(b *testing.B) {
	d := freshDice()
	m := KNorm{Scale: big.NewRat(1234567, 1024), Blocks: 1}
	s := &secret{values: make([]int64, widestRun)}
	for b.Loop() {
		m.draw(s, d)
	}
	b.ReportMetric(float64(b.N*widestRun)/b.Elapsed().Seconds(), "draws/s")
}
