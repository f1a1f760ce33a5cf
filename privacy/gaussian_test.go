package privacy

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"testing"
)

func TestGaussianLaw(t *testing.T) {
	for _, c := range []struct {
		variance *big.Rat
		weight   int64
	}{
		{big.NewRat(1, 3), 1}, {big.NewRat(1, 1), 1}, {big.NewRat(5, 2), 1},
		{big.NewRat(10, 1), 1}, {big.NewRat(10, 1), 7}, {big.NewRat(81, 2), 1},
	} {
		got := law(t, func(d dice) trialResult {
			var g gaussian
			g.set(c.variance, c.weight)
			return resultOf(g.trial(d))
		})
		v, _ := c.variance.Float64()
		v /= float64(c.weight)
		sameLaw(t, fmt.Sprintf("%v/%d", c.variance, c.weight), got, func(y float64) float64 {
			return math.Exp(-y * y / (2 * v))
		})
	}
}

// TestGaussianAcceptance: γ equals (|y|−σ²/t)²/(2σ²) in rational arithmetic, for numbers of all
// lengths.
func TestGaussianAcceptance(t *testing.T) {
	for _, variance := range []*big.Rat{
		big.NewRat(1, 9), big.NewRat(768000*1048573, 1048576), big.NewRat(math.MaxInt64, 3), power(96),
		new(big.Rat).SetFrac(new(big.Int).Lsh(big.NewInt(1), 120), big.NewInt(1<<40-1)),
	} {
		for _, weight := range []int64{1, 12345, 1 << 40} {
			var g gaussian
			g.set(variance, weight)
			sigma2 := new(big.Rat).Quo(variance, new(big.Rat).SetInt64(weight))
			scale := new(big.Rat).SetInt(new(big.Int).SetUint64(g.t))
			if low := new(big.Rat).Sub(scale, power(0)); new(big.Rat).Mul(scale,
				scale).Cmp(sigma2) <= 0 || low.Mul(low, low).Cmp(sigma2) > 0 {
				t.Fatalf("t = %d is not ⌊√%v⌋+1", g.t, sigma2)
			}
			for _, v := range []int64{0, 1, 3} { // y = U + tV
				d := &replay{belows: []uint64{g.t / 3, 0}, decays: append(make([]bool, 0, 9), true)}
				for range v {
					d.decays = append(d.decays, true)
				}
				d.decays = append(d.decays, false, true)
				y, ok := g.trial(d)
				if !ok {
					t.Fatal("trial did not count")
				}
				size := new(big.Int).SetUint64(y.size.high)
				size.Lsh(size, 64).Add(size, new(big.Int).SetUint64(y.size.low))
				gap := new(big.Rat).SetInt(size)
				gap.Sub(gap, new(big.Rat).Quo(sigma2, scale))
				gap.Mul(gap, gap).Quo(gap, sigma2).Quo(gap, big.NewRat(2, 1))
				if g.p.rat().Cmp(gap) != 0 {
					t.Errorf("variance %v, weight %d, y %v: γ = %v, want %v", variance, weight,
						size, g.p.rat(), gap)
				}
			}
		}
	}
}

// exactDelta returns δ(ε) of a discrete Gaussian on two neighbours that differ by steps[j] in
// coordinate j: Σ max(0, P − e^ε P′).
func exactDelta(epsilon float64, variances []float64, steps []int64) float64 {
	logs := []float64{0} // log P(y) and the loss, over all y so far
	losses := []float64{0}
	for j, v := range variances {
		reach := int64(9*math.Sqrt(v)) + 3
		total := 0.
		for y := -reach; y <= reach; y++ {
			total += math.Exp(-float64(y*y) / (2 * v))
		}
		var nextLogs, nextLosses []float64
		for i := range logs {
			for y := -reach; y <= reach; y++ {
				z := y - steps[j]
				nextLogs = append(nextLogs, logs[i]-float64(y*y)/(2*v)-math.Log(total))
				nextLosses = append(nextLosses, losses[i]+float64(z*z-y*y)/(2*v))
			}
		}
		logs, losses = nextLogs, nextLosses
	}
	delta := 0.
	for i := range logs {
		if losses[i] > epsilon {
			delta += math.Exp(logs[i]) * -math.Expm1(epsilon-losses[i])
		}
	}
	return delta
}

// TestGaussianPrivacyLoss: for neighbours that use the whole bound, the exact δ(ε) of calibrated
// noise is below the requested δ, and not below a hundredth of it (a factor of 1.15 in ε).
func TestGaussianPrivacyLoss(t *testing.T) {
	for _, c := range []struct {
		bound Bound
		steps []int64
		g     Budget
	}{
		{Bound{Unit: Record, L2sq: 1}, []int64{1}, Budget{1, 1e-6}},
		{Bound{Unit: Record, L2sq: 1}, []int64{1}, Budget{4, 1e-3}},
		{Bound{Unit: Record, L2sq: 9}, []int64{3}, Budget{2, 1e-6}},
		{Bound{Unit: Record, L2sq: 2}, []int64{1, -1}, Budget{3, 1e-5}},
		{Bound{Unit: Record, L2sq: 14, Weight: []int64{5, 1}}, []int64{1, 3}, Budget{3, 1e-5}},
		{Bound{Unit: Record, L2sq: 100, Weight: []int64{100}}, []int64{1}, Budget{10, 1e-6}},
	} {
		m, err := CalibrateGaussian(c.bound, c.g)
		if err != nil {
			t.Fatal(err)
		}
		variances := make([]float64, len(c.steps))
		for j := range variances {
			variances[j] = m.variance(c.bound, j, len(c.steps))
		}
		got := exactDelta(c.g.Epsilon, variances, c.steps)
		if got > c.g.Delta || got < c.g.Delta/100 {
			t.Errorf("steps %v at %+v: exact δ = %g", c.steps, c.g, got)
		}
	}
}

// TestGaussianRenyi: the Rényi divergence of the exact law is at most αρ.
func TestGaussianRenyi(t *testing.T) {
	for _, v := range []float64{0.1, 0.5, 2, 30} {
		total := 0.
		for y := -200.; y <= 200; y++ {
			total += math.Exp(-y * y / (2 * v))
		}
		for _, step := range []float64{1, 2} {
			for _, alpha := range []float64{1.5, 2, 7} {
				bound, sum := alpha*step*step/(2*v), 0.
				for y := -200.; y <= 200; y++ {
					z := y - step
					sum += math.Exp((-alpha*y*y-(1-alpha)*z*z)/(2*v)-(alpha-1)*bound) / total
				}
				if excess := math.Log(sum) / (alpha - 1); excess > 1e-9 {
					t.Errorf("D_%g at σ² = %g, step %g is %g above %g", alpha, v, step, excess,
						bound)
				}
			}
		}
	}
}

func TestCalibrateGaussian(t *testing.T) {
	for _, l2sq := range []int64{1, 2, 12345, 1 << 62} {
		for _, g := range []Budget{{0.1, 1e-9}, {1, 1e-6}, {8, 1e-3}} {
			b := Bound{Unit: Party, L2sq: l2sq}
			m, err := CalibrateGaussian(b, g)
			if err != nil {
				t.Fatal(err)
			}
			cost, err := CostOf(m, b)
			if err != nil {
				t.Fatal(err)
			}
			rho, _ := cost.Rho.Float64()
			if most := RhoOf(g); cost.Rho.Cmp(rational(most)) > 0 || rho < most*(1-0x1p-20) {
				t.Errorf("L2sq %d at %+v: ρ = %g of %g", l2sq, g, rho, most)
			}
			if bits := m.Variance.Denom().BitLen(); bits > 30 {
				t.Errorf("L2sq %d at %+v: variance %v is too fine", l2sq, g, m.Variance)
			}
		}
	}
	if err := second(CalibrateGaussian(Bound{Unit: Party, L1: 1}, Budget{1, 1e-6})); !errors.Is(err,
		ErrUnproven) {
		t.Errorf("without L2sq: %v", err)
	}
	if err := second(CalibrateGaussian(Bound{Unit: Party, L2sq: 1}, Budget{1, 0})); err == nil {
		t.Error("delta 0 was accepted")
	}
}

// wide returns the variance and weights of a tally of 150,000 cells: variance about 768,000,
// weights of 20 bits.
func wide(n int) (DiscreteGaussian, *secret) {
	m := DiscreteGaussian{Variance: new(big.Rat).SetFrac64(768000*(1<<20)+12345, 1)}
	weight := make([]int64, n)
	for j := range weight {
		weight[j] = 1<<20 - int64(j*7919%4000)
	}
	return m, &secret{values: make([]int64, n), bound: Bound{Weight: weight}}
}

func TestGaussianDraws(t *testing.T) {
	m, s := wide(60000)
	for j := range s.bound.Weight {
		s.bound.Weight[j] = 1 << 20
	}
	draws, _ := m.draw(s, freshDice())
	v := m.variance(s.bound, 0, len(draws))
	chiSquared(t, draws, 12000, func(y float64) float64 { return math.Exp(-y * y / (2 * v)) })

	for _, variance := range []int64{1, 30} {
		m := DiscreteGaussian{Variance: big.NewRat(variance*5, 4)}
		draws, _ := m.draw(&secret{values: make([]int64, 40000)}, freshDice())
		v := float64(variance) * 5 / 4
		chiSquared(t, draws, 200, func(y float64) float64 { return math.Exp(-y * y / (2 * v)) })
	}
}

// TestGaussianWeights: each coordinate has its own variance, and neighbouring coordinates are
// uncorrelated. For n normal draws the mean square has standard error σ²√(2/n), the mean product of
// neighbours σ²/√n; 6.5 standard errors are exceeded with probability 1e-10.
func TestGaussianWeights(t *testing.T) {
	const n = 30000
	m := DiscreteGaussian{Variance: big.NewRat(40000, 1)}
	s := &secret{values: make([]int64, n), bound: Bound{Weight: make([]int64, n)}}
	for j := range s.bound.Weight {
		s.bound.Weight[j] = int64(1 + 3*(j%2))
	}
	draws, _ := m.draw(s, freshDice())
	square, product := [2]float64{}, 0.
	for j, y := range draws {
		square[j%2] += float64(y*y) / (n / 2)
		if j > 0 {
			product += float64(y*draws[j-1]) / n
		}
	}
	for i, want := range []float64{40000, 10000} {
		if tol := 6.5 * want * math.Sqrt(2./(n/2)); math.Abs(square[i]-want) > tol {
			t.Errorf("variance with weight %d = %.0f, want %.0f ± %.0f", 1+3*i, square[i], want, tol)
		}
	}
	if tol := 6.5 * 20000 / math.Sqrt(n); math.Abs(product) > tol {
		t.Errorf("mean product of neighbours = %.0f, want 0 ± %.0f", product, tol)
	}
}

func BenchmarkGaussianDraw(b *testing.B) {
	m, s := wide(10000)
	d := freshDice()
	for b.Loop() {
		m.draw(s, d)
	}
	b.ReportMetric(float64(b.N)*10000/b.Elapsed().Seconds(), "draws/s")
}
