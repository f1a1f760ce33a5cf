package privacy

import (
	"errors"
	"math"
	"math/big"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

type trialResult struct {
	y  int64
	ok bool
}

func resultOf(y noise, ok bool) trialResult {
	if !ok {
		return trialResult{}
	}
	return trialResult{addNoise(0, y), true}
}

// sameLaw compares the law of accepted trials with weights proportional to a target pmf.
func sameLaw(t *testing.T, name string, got map[trialResult]float64,
	weight func(y float64) float64) {
	t.Helper()
	counts := 1 - got[trialResult{}]
	total := 0.
	for y := -4000.; y <= 4000; y++ {
		total += weight(y)
	}
	worst := 0.
	for y := int64(-60); y <= 60; y++ {
		worst = max(worst, math.Abs(got[trialResult{y, true}]/counts-weight(float64(y))/total))
	}
	if worst > 1e-12 {
		t.Errorf("%s: a probability is off by %g", name, worst)
	}
}

func TestLaplaceLaw(t *testing.T) {
	for _, f := range [][2]uint64{{1, 1}, {1, 3}, {2, 1}, {5, 2}, {3, 7}, {7, 1}, {11, 4}} {
		got := law(t, func(d dice) trialResult {
			var p ratio
			return resultOf(laplaceTrial(d, &p, f[0], f[1]))
		})
		scale := float64(f[0]) / float64(f[1])
		sameLaw(t, big.NewRat(int64(f[0]), int64(f[1])).String(), got, func(y float64) float64 {
			return math.Exp(-math.Abs(y) / scale)
		})
	}
}

// TestLaplacePrivacyLoss: computed from the sampler's law, the largest privacy loss of neighbours
// that use the whole L1 bound equals the stated cost.
func TestLaplacePrivacyLoss(t *testing.T) {
	b := Bound{Unit: Record, L1: 3}
	m := DiscreteLaplace{Scale: big.NewRat(5, 2)}
	cost, err := m.cost(b)
	if err != nil {
		t.Fatal(err)
	}
	claimed, _ := cost.Pure.Float64() // 3/(5/2)
	got := law(t, func(d dice) trialResult {
		var p ratio
		return resultOf(laplaceTrial(d, &p, 5, 2))
	})
	one := func(y int64) float64 { return got[trialResult{y, true}] }
	worst := 0.
	for _, delta := range [][2]int64{{3, 0}, {2, 1}, {-1, 2}} { // two coordinates
		for y := int64(-12); y <= 12; y++ {
			for z := int64(-12); z <= 12; z++ {
				loss := math.Log(one(y)*one(z)) - math.Log(one(y-delta[0])*one(z-delta[1]))
				worst = max(worst, loss)
			}
		}
	}
	if math.Abs(worst-claimed) > 1e-9 || claimed != 1.2 {
		t.Errorf("largest privacy loss %.12f, cost claims %.12f", worst, claimed)
	}
}

func TestCalibrateLaplace(t *testing.T) {
	for _, l1 := range []int64{1, 2, 3, 1000, 1 << 40} {
		for _, epsilon := range []float64{1e-2, 0.1, 1. / 3, 1, 5} {
			b := Bound{Unit: Party, L1: l1}
			m, err := CalibrateLaplace(b, epsilon)
			if err != nil {
				t.Fatal(err)
			}
			cost, err := CostOf(m, b)
			if err != nil {
				t.Fatal(err)
			}
			asked := rational(epsilon)
			spent, _ := new(big.Rat).Quo(cost.Pure, asked).Float64()
			if cost.Pure.Cmp(asked) > 0 || spent < 1-0x1p-20 {
				t.Errorf("L1 %d, epsilon %g: spends %g of it", l1, epsilon, spent)
			}
		}
	}
	for name, err := range map[string]error{
		"no L1":   second(CalibrateLaplace(Bound{Unit: Party, L2sq: 1}, 1)),
		"weights": second(CalibrateLaplace(Bound{Unit: Party, L1: 1, Weight: []int64{2}}, 1)),
	} {
		if !errors.Is(err, ErrUnproven) {
			t.Errorf("%s: %v, want ErrUnproven", name, err)
		}
	}
	for _, epsilon := range []float64{0, -1, math.NaN(), math.Inf(1), 65} {
		if _, err := CalibrateLaplace(Bound{Unit: Party, L1: 1}, epsilon); err == nil {
			t.Errorf("epsilon %g was accepted", epsilon)
		}
	}
	if _, err := CalibrateLaplace(Bound{Unit: Party, L1: math.MaxInt64}, 1e-9); err == nil {
		t.Error("a scale beyond the public limit was accepted")
	}
}

func second[T any](_ T, err error) error { return err }

func TestNoiseSaturates(t *testing.T) {
	huge := natural{high: 1}
	for _, c := range []struct {
		v    int64
		y    noise
		want int64
	}{
		{5, noise{natural{0, 3}, true}, 2},
		{-limit, noise{huge, false}, limit},
		{limit, noise{huge, true}, -limit},
		{-limit, noise{natural{0, math.MaxUint64}, false}, limit},
		{-limit, noise{natural{0, 1<<62 - 1}, false}, limit - 1},
		{-limit, noise{natural{0, 1 << 62}, false}, limit},
		{limit, noise{natural{0, 1}, false}, limit},
	} {
		if got := addNoise(c.v, c.y); got != c.want {
			t.Errorf("%d + %+v = %d, want %d", c.v, c.y, got, c.want)
		}
	}
	// A magnitude beyond 64 bits is exact: t = 2⁶², U = 5, V = 9.
	e := &replay{belows: []uint64{5, 0},
		decays: []bool{true, true, true, true, true, true, true, true, true, true, false}}
	y, ok := laplaceTrial(e, new(ratio), 1<<62, 3)
	want := new(big.Int).Lsh(big.NewInt(9), 62)
	want.Add(want, big.NewInt(5)).Quo(want, big.NewInt(3))
	got := new(big.Int).SetUint64(y.size.high)
	got.Lsh(got, 64).Add(got, new(big.Int).SetUint64(y.size.low))
	if !ok || got.Cmp(want) != 0 {
		t.Errorf("magnitude %v, want %v", got, want)
	}
}

// replay is dice with prescribed outcomes.
type replay struct {
	belows []uint64
	decays []bool
}

func (r *replay) below(uint64) (x uint64)  { x, r.belows = r.belows[0], r.belows[1:]; return x }
func (r *replay) decay(*ratio) (x bool)    { x, r.decays = r.decays[0], r.decays[1:]; return x }
func (r *replay) flip(*ratio, uint64) bool { panic("not used") }

// chiSquared compares counts of draws with a pmf, in bins of about equal probability. False
// alarms: 1e-10.
func chiSquared(t *testing.T, draws []int64, reach int64, weight func(y float64) float64) {
	t.Helper()
	const bins = 64
	total := 0.
	for y := -reach; y <= reach; y++ {
		total += weight(float64(y))
	}
	bin, probability, sum := map[int64]int{}, []float64{0}, 0.
	for y := -reach; y <= reach; y++ {
		p := weight(float64(y)) / total
		if sum >= float64(len(probability))/bins {
			probability = append(probability, 0)
		}
		sum += p
		probability[len(probability)-1] += p
		bin[y] = len(probability) - 1
	}
	counts := make([]float64, len(probability))
	for _, y := range draws {
		i, ok := bin[y]
		if !ok {
			t.Fatalf("drew %d, beyond %d", y, reach)
		}
		counts[i]++
	}
	statistic := 0.
	for i, p := range probability {
		want := p * float64(len(draws))
		if want < 5 { // a rest bin: too few for the approximation
			continue
		}
		statistic += (counts[i] - want) * (counts[i] - want) / want
	}
	bound := distuv.ChiSquared{K: float64(len(probability) - 1)}.Quantile(1 - 1e-10)
	if statistic > bound {
		t.Errorf("χ² = %.1f with %d bins, at most %.1f", statistic, len(probability), bound)
	}
}

func TestLaplaceDraws(t *testing.T) {
	for _, scale := range []*big.Rat{big.NewRat(1, 2), big.NewRat(20, 3),
		big.NewRat(1234567, 1024)} {
		m := DiscreteLaplace{Scale: scale}
		s := &secret{values: make([]int64, 40000)}
		draws, _ := m.draw(s, freshDice())
		x, _ := scale.Float64()
		chiSquared(t, draws, int64(60*x)+60, func(y float64) float64 {
			return math.Exp(-math.Abs(y) / x)
		})

		// variance equals that of the law.
		want, total := 0., 0.
		for y := -60*x - 60; y <= 60*x+60; y++ {
			y := math.Round(y)
			want += y * y * math.Exp(-math.Abs(y)/x)
			total += math.Exp(-math.Abs(y) / x)
		}
		if got := m.variance(Bound{}, 0, 1); math.Abs(got-want/total) > 1e-3*want/total {
			t.Errorf("variance at scale %g is %g, want %g", x, got, want/total)
		}
	}
}

func BenchmarkLaplaceDraw(b *testing.B) {
	d := freshDice()
	var p ratio
	for b.Loop() {
		drawLaplace(d, &p, 1234567, 1024)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "draws/s")
}
