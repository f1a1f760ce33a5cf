package study_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"caucus/privacy"
	"caucus/study"
)

func histogram(columns int64) privacy.Bound {
	return privacy.Bound{Unit: privacy.Record, L1: 2 * columns, L2sq: 2 * columns,
		Cells: int(2 * columns)}
}

// TestTheQuieterNoise: at ε = 1, δ = 10⁻⁶ discrete Laplace is 2.3 times quieter than the Gaussian
// for one histogram, and still quieter for five; for six the Gaussian is quieter.
func TestTheQuieterNoise(t *testing.T) {
	p := study.Plan{Unit: privacy.Record, Epsilon: 1, Delta: 1e-6, Minimum: 10, Records: 1000}
	for columns, want := range map[int64]string{1: "laplace", 3: "laplace", 5: "laplace",
		6: "gaussian", 13: "gaussian", 100: "gaussian"} {
		all, err := p.NoiseCosts(histogram(columns), int(10*columns))
		if err != nil {
			t.Fatal(err)
		}
		if all[0].Mechanism != want || !(all[0].SD < all[1].SD) {
			t.Errorf("%d columns: the quietest is %+v, then %+v; want %s", columns, all[0], all[1], want)
		}
		if columns == 1 && (math.Abs(all[1].SD/all[0].SD-2.29) > .01 ||
			all[0].Rho < 10*all[1].Rho) {
			t.Errorf("one histogram: %+v against %+v", all[0], all[1])
		}
		proposed := p
		proposed.CompleteNoise(study.Proposal{}, histogram(columns), int(10*columns))
		if proposed.Mechanism != want ||
			proposed.Delta != map[string]float64{"gaussian": 1e-6}[want] {
			t.Errorf("%d columns: the plan has %s with δ = %g", columns, proposed.Mechanism,
				proposed.Delta)
		}
	}
	for name, c := range map[string]struct {
		mechanism, want string
		delta           *float64
		left            float64
	}{
		"δ = 0":             {"", "laplace", new(float64), 0},
		"auto of δ = 0":     {"auto", "laplace", new(float64), 0},
		"gaussian, by name": {"gaussian", "gaussian", nil, 1e-6},
		"laplace, by name":  {"laplace", "laplace", nil, 0},
		"laplace with a δ":  {"laplace", "laplace", func() *float64 { d := 1e-7; return &d }(), 1e-7},
		"auto":              {"auto", "laplace", nil, 0},
	} {
		p := p
		p.Mechanism = c.mechanism
		p.CompleteNoise(study.Proposal{Delta: c.delta}, histogram(2), 20)
		if p.Mechanism != c.want || p.Delta != c.left {
			t.Errorf("%s: %s with δ = %g, want %s with %g", name, p.Mechanism, p.Delta, c.want,
				c.left)
		}
	}
}

// TestLaplaceUnderADelta: a plan with δ > 0 that names laplace has the noise of δ = 0; the ledger
// charges its pure ε and no δ.
func TestLaplaceUnderADelta(t *testing.T) {
	with := study.Plan{Unit: privacy.Record, Epsilon: 1, Delta: 1e-6,
		Mechanism: study.MechanismLaplace}
	without := with
	without.Delta = 0
	for _, columns := range []int64{1, 20} {
		m, err := with.Calibrate(histogram(columns), 50)
		if err != nil {
			t.Fatal(err)
		}
		pure, err := without.Calibrate(histogram(columns), 50)
		if err != nil {
			t.Fatal(err)
		}
		cost, err := privacy.CostOf(m, histogram(columns))
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(privacy.ParametersOf(m)) != fmt.Sprint(privacy.ParametersOf(pure)) ||
			cost.Pure == nil || cost.Delta != nil {
			t.Errorf("%d columns: %s %v at %v, without δ %s %v", columns, m.Name(),
				privacy.ParametersOf(m), cost, pure.Name(), privacy.ParametersOf(pure))
		}
		if epsilon, _ := cost.Pure.Float64(); epsilon > 1 || epsilon < .999 {
			t.Errorf("%d columns: charged ε = %g", columns, epsilon)
		}
		// A ledger without any δ accepts the cost.
		ledger, err := privacy.Open(privacy.NewMemoryJournal(),
			privacy.Config{Limits: map[privacy.Unit]privacy.Budget{privacy.Record: {Epsilon: 1}}})
		if err != nil {
			t.Fatal(err)
		}
		if err := ledger.Spend(context.Background(), "a", cost); err != nil {
			t.Error(err)
		}
	}
}

// TestInYear: a ledger at the yearly limit takes exactly ReleasesAYear releases and refuses the
// next.
func TestInYear(t *testing.T) {
	p := study.Plan{Unit: privacy.Record, Epsilon: 1, Delta: 1e-6, Minimum: 10, Records: 1000}
	all, err := p.NoiseCosts(histogram(2), 20)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		p.Mechanism, p.ChargeByL2 = c.Mechanism, true
		m, err := p.Calibrate(histogram(2), 20)
		if err != nil {
			t.Fatal(err)
		}
		cost, err := privacy.CostOf(m, histogram(2))
		if err != nil {
			t.Fatal(err)
		}
		ledger, err := privacy.Open(privacy.NewMemoryJournal(),
			privacy.Config{Limits: map[privacy.Unit]privacy.Budget{privacy.Record: p.YearlyLimit()}})
		if err != nil {
			t.Fatal(err)
		}
		taken := 0
		for ledger.Spend(context.Background(), fmt.Sprint(taken),
			study.CostAtEpsilon(p, cost)) == nil {
			taken++
		}
		if taken != c.ReleasesAYear || taken < 3 {
			t.Errorf("%s: a ledger takes %d, told are %d", c.Mechanism, taken, c.ReleasesAYear)
		}
	}
}

// TestAtEpsilon: a cost raised to the plan's ε is that of pure noise at ε, or ρ grows as ε² does.
func TestAtEpsilon(t *testing.T) {
	p, half := study.Plan{Epsilon: 1}, big.NewRat(1, 2)
	if got := study.CostAtEpsilon(p,
		privacy.PureCost(privacy.Record, 3,
			half)); !got.Equal(privacy.PureCost(privacy.Record, 3, big.NewRat(1, 1))) {
		t.Errorf("ε²/2 becomes %+v", got)
	}
	low := privacy.Cost{Unit: privacy.Party, Pure: half, Rho: big.NewRat(1, 100)}
	if got := study.CostAtEpsilon(p, low); got.Pure.Cmp(big.NewRat(1, 1)) != 0 ||
		got.Rho.Cmp(big.NewRat(4, 100)) != 0 || got.Unit != privacy.Party {
		t.Errorf("a lower ρ becomes %+v", got)
	}
}

// TestNoiseWords: the text shows 0.9 for 3 × 0.3, without floating-point digits.
func TestNoiseWords(t *testing.T) {
	p := study.Plan{Unit: privacy.Record, Epsilon: 0.3, Delta: 1e-6, Minimum: 10, Records: 1000,
		Mechanism: "laplace"}
	all, err := p.NoiseCosts(histogram(2), 20)
	if err != nil {
		t.Fatal(err)
	}
	if words := p.NoiseText(all); !strings.Contains(words, "allows ε = 0.9 and") {
		t.Error(words)
	}
}

func TestCheckNoise(t *testing.T) {
	for name, c := range map[string]struct {
		plan study.Plan
		says string
	}{
		"auto":            {study.Plan{Mechanism: "auto", Delta: 1e-6}, "name laplace or gaussian"},
		"another":         {study.Plan{Mechanism: "cross", Kind: "describe", Delta: 1e-6}, "[gaussian laplace]"},
		"gaussian, δ = 0": {study.Plan{Mechanism: "gaussian"}, "use laplace"},
	} {
		if err := study.CheckNoise(c.plan); !errors.Is(err, study.ErrPlan) ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", name, err, c.says)
		}
	}
}
