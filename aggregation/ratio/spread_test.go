package ratio

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"caucus/internal/testlevel"
)

func TestSpread(t *testing.T) {
	for g, want := range map[GoodnessOfFit]float64{
		{Statistic: .9, Threshold: 2, Tested: true}:  1,
		{Statistic: 1, Threshold: 2, Tested: true}:   1,
		{Statistic: 1.3, Threshold: 2, Tested: true}: 1.6,
		{Statistic: 1.3}: 1, // of one row
	} {
		if got := g.spread(); math.Abs(got-want) > 1e-12 {
			t.Errorf("%+v: %v, want %v", g, got, want)
		}
	}
}

// TestShiftedCoverage: intervals still cover if the target's class means are shifted by less than
// the fit test doubts. The seeds are fixed; 250 trials measure a coverage of .95 to ±.014, and at
// least .9 is required, or the same number of standard errors for fewer trials.
func TestShiftedCoverage(t *testing.T) {
	const shift = .15
	trials := testlevel.N(t, 50, 250)
	z := distuv.UnitNormal.Quantile(0.975)
	covered, narrow, printed := 0, 0, 0
	for seed := range uint64(trials) {
		w := newWorld(2, 4, 0, seed)
		for j := range 4 {
			w.means.Set(0, j, 0.6)
			w.means.Set(1, j, -0.6)
		}
		m, err := Fit(w.sets(6, 150), Options{Kernel: RBF(0.15)})
		if err != nil {
			t.Fatal(err)
		}
		for k := range 2 {
			for j := range 4 {
				w.means.Set(k, j, w.means.At(k, j)+shift*w.rng.NormFloat64())
			}
		}
		e, err := m.Estimate(w.set(150, .3, .7))
		if err != nil {
			t.Fatal(err)
		}
		if e.NoInterval != "" {
			continue
		}
		printed++
		if e.Low[0] <= .3 && .3 <= e.High[0] {
			covered++
		}
		if math.Abs(e.Unconstrained[0]-.3) <= z*e.Sd[0]/math.Sqrt(e.GoodnessOfFit.spread()) {
			narrow++
		}
	}
	with, without := float64(covered)/float64(printed), float64(narrow)/float64(printed)
	t.Logf("%d of %d have an interval: held %.3f, without the misfit %.3f", printed, trials, with, without)
	if printed < trials/2 || with < .95-.05*math.Sqrt(250/float64(trials)) || without > with-.05 {
		t.Errorf("%d of %d have an interval: held %.3f, without the misfit %.3f", printed, trials, with, without)
	}
}

// TestPulled: a pull above half a standard error leaves no interval, a smaller one widens it. A NaN
// error leaves none.
func TestPulled(t *testing.T) {
	for _, c := range []struct {
		variance, pull float64
		none           bool
	}{{.0025, .02, false}, {.0025, .03, true}, {.0025, .055, true}, {.04, 0, true},
		{math.NaN(), 0, true}} {
		e := Estimate{Unconstrained: []float64{.4, .6}, Shares: []float64{.4, .6}}
		e.interval(mat.NewSymDense(2, []float64{c.variance, 0, 0, c.variance}), .95,
			[]float64{c.pull, c.pull})
		want := .4 - 1.959964*math.Sqrt(c.variance) - c.pull
		if none := e.NoInterval != ""; none != c.none || none && e.Low[0] != 0 || !none &&
			math.Abs(e.Low[0]-want) > 1e-6 {
			t.Errorf("variance %v, pull %v: low %v, %q", c.variance, c.pull, e.Low[0], e.NoInterval)
		}
	}
}

// TestNoInterval: if noise pulls the estimate, or the classes hardly differ, there is no interval,
// and NoInterval gives the reason.
func TestNoInterval(t *testing.T) {
	reasons := map[string]int{}
	for seed := range uint64(40) {
		w := newWorld(2, 4, .12, seed)
		m, err := Fit(w.sets(4, 60), Options{Kernel: RBF(0.15)})
		if err != nil {
			t.Fatal(err)
		}
		e, err := m.Estimate(w.set(60, .3, .7))
		if err != nil {
			t.Fatal(err)
		}
		faint, pulled := e.Sd[0] > faintError, m.system.pull()[0] > e.Sd[0]/2
		if none := e.NoInterval != ""; none != (faint || pulled || e.GoodnessOfFit.doubted()) ||
			none &&
				(e.Low[0] != 0 || e.High[1] != 1) {
			t.Errorf("%+v, pull %v", e, m.system.pull())
		}
		for _, of := range []string{"nobody knows how much", "hardly differ"} {
			if strings.Contains(e.NoInterval, of) {
				reasons[of]++
			}
		}
	}
	if t.Logf("%v", reasons); len(reasons) != 2 {
		t.Errorf("reasons %v", reasons)
	}
}
