package ratio

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
	"caucus/internal/testlevel"
)

// coverageResult counts how often the 95 % intervals of class 0 are printed and contain the truth.
// bias is the mean error of Free; stated and real are the mean stated and the real standard
// deviation.
type coverageResult struct {
	printed, covered, bias, stated, real float64
}

func measureCoverage(t *testing.T, reps int,
	trial func(seed uint64) (Estimate, float64)) coverageResult {
	t.Helper()
	var r coverageResult
	n := float64(reps)
	for seed := range reps {
		e, truth := trial(uint64(seed))
		if e.NoInterval == "" {
			r.printed++
			if e.Low[0] <= truth && truth <= e.High[0] {
				r.covered++
			}
		}
		d := e.Unconstrained[0] - truth
		r.bias += d / n
		r.real += d * d / n
		r.stated += e.Sd[0] / n
	}
	r.real, r.covered, r.printed = math.Sqrt(r.real), r.covered/max(r.printed, 1), r.printed/n
	return r
}

// TestCoverage simulates whole studies for every kind of interval. The seeds are fixed, so there
// are no false alarms. 150 trials measure a coverage of .95 to ±.018; .90 to .99 is accepted, and
// the same number of standard errors for fewer trials. A few embeddings without rows do not show
// the scatter, and have no interval.
func TestCoverage(t *testing.T) {
	reps := testlevel.N(t, 40, 150)
	fewer := math.Sqrt(150 / float64(reps))
	kernel := func(sets []Set, target Set) Estimate {
		m, err := Fit(sets, Options{Kernel: RBF(0.15)})
		if err != nil {
			t.Fatal(err)
		}
		e, err := m.Estimate(target)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	fourier := func(sets []Set, target Set) Estimate {
		m, err := Fit(sets, Options{Fourier: &embedding.Fourier{Dim: 4, Features: 200, Gamma: 0.15,
			Seed: 5}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := m.Estimate(target)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	small := embedding.Fourier{Dim: 4, Features: 200, Gamma: 0.15, Seed: 5}
	noisyShares := func(w world, sets []Set) {
		for i := range sets {
			const sd = 0.05
			z := sd * w.rng.NormFloat64()
			sets[i].Shares = []float64{sets[i].Shares[0] + z, sets[i].Shares[1] - z}
			sets[i].ShareCov = mat.NewSymDense(2, []float64{sd * sd, -sd * sd, -sd * sd, sd * sd})
		}
	}
	for _, c := range []struct {
		name  string
		trial func(w world) Estimate
	}{
		{"formula", func(w world) Estimate { return kernel(w.sets(6, 60), w.set(60, .3, .7)) }},
		{"noisy shares", func(w world) Estimate {
			sets := w.sets(6, 60)
			noisyShares(w, sets)
			return kernel(sets, w.set(60, .3, .7))
		}},
		{"embeddings of sets, rows of the target", func(w world) Estimate {
			return fourier(embedded(t, small, w.sets(6, 60)), w.set(60, .3, .7))
		}},
		{"embeddings only", func(w world) Estimate {
			return fourier(embedded(t, small, w.sets(20, 60)),
				embedded(t, small, []Set{w.set(60, .3, .7)})[0])
		}},
		{"few embeddings only", func(w world) Estimate {
			return fourier(embedded(t, small, w.sets(4, 60)),
				embedded(t, small, []Set{w.set(60, .3, .7)})[0])
		}},
		{"noisy embeddings", func(w world) Estimate {
			sets := embedded(t, small, w.sets(10, 60))
			for i := range sets {
				const sd = 0.01
				sets[i].Noise = sd * sd
				for j := range sets[i].Embedding {
					sets[i].Embedding[j] += sd * w.rng.NormFloat64()
				}
			}
			return fourier(sets, w.set(60, .3, .7))
		}},
	} {
		r := measureCoverage(t, reps, func(seed uint64) (Estimate, float64) {
			w := newWorld(2, 4, 0, seed)
			for j := range 4 {
				w.means.Set(0, j, 0.6)
				w.means.Set(1, j, -0.6)
			}
			return c.trial(w), 0.3
		})
		t.Logf("%s: %.3f have intervals, covered %.3f, bias %.4f, standard error stated %.4f, real %.4f", c.name, r.printed, r.covered, r.bias, r.stated, r.real)
		if few := c.name == "few embeddings only"; few != (r.printed == 0) || !few &&
			(r.printed < .9 || r.covered < .95-.05*fewer || r.covered > .95+.04*fewer) {
			t.Errorf("%s: %.3f have intervals, and %.3f of those hold the truth, want .95", c.name, r.printed, r.covered)
		}
		if math.Abs(r.bias) > r.real*fewer/3+0.01 {
			t.Errorf("%s: bias %.4f", c.name, r.bias)
		}
	}
}

// Correcting for the signal in the class means brings the estimate nearer to the truth.
func TestClassMeanSignal(t *testing.T) {
	var with, without, mixture float64
	for seed := range testlevel.N(t, 30, 100) {
		w := newWorld(3, 6, 0.5, uint64(seed))
		sets, target := w.sets(8, 100), w.set(200, .8, .1, .1)
		m := &Model{options: Options{Kernel: RBF(1. / 12)}}
		if err := m.describe(sets); err != nil {
			t.Fatal(err)
		}
		g := make([]float64, len(sets))
		for j, s := range sets {
			row := make([]float64, 200)
			RBF(1./12).Sums(target.Rows, s.Rows, row, nil)
			for _, v := range row {
				g[j] += v / 200 / 100
			}
		}
		l1 := func(p ratioProblem, estimator string) float64 {
			s, _, err := p.solve(estimator)
			if err != nil {
				t.Fatal(err)
			}
			return Measure(target.Shares, s.estimate(g).shares, 200).L1 / 100
		}
		with += l1(m.problem, embedding.EstimatorClassMeans)
		mixture += l1(m.problem, embedding.EstimatorMixture)
		biased := m.problem
		biased.gram.UStatistic = biased.gram.VStatistic
		without += l1(biased, embedding.EstimatorClassMeans)
	}
	t.Logf("L1 with the unbiased Gram %.4f, without %.4f, published mixture %.4f", with, without, mixture)
	if with > 0.95*without || with > 0.95*mixture {
		t.Errorf("L1 with the unbiased Gram %.4f, without %.4f, published mixture %.4f", with, without, mixture)
	}
}

// Noisy shares weaken the class means, so estimates spread too far or too little. Knowing the
// covariance of the noise removes this bias.
func TestShareNoiseCorrection(t *testing.T) {
	var with, without float64
	const sd = 0.15
	reps := testlevel.N(t, 8, 30)
	for seed := range reps {
		w := newWorld(2, 4, 0, uint64(seed))
		for j := range 4 {
			w.means.Set(0, j, 1)
			w.means.Set(1, j, -1)
		}
		sets := w.sets(40, 40)
		cov := mat.NewSymDense(2, []float64{sd * sd, -sd * sd, -sd * sd, sd * sd})
		known := make([]Set, len(sets))
		for i := range sets {
			z := sd * w.rng.NormFloat64()
			sets[i].Shares = []float64{sets[i].Shares[0] + z, sets[i].Shares[1] - z}
			known[i] = sets[i]
			known[i].ShareCov = cov
		}
		target := w.set(200, .05, .95)
		free := func(sets []Set) float64 {
			m, err := Fit(sets, Options{Kernel: RBF(0.1)})
			if err != nil {
				t.Fatal(err)
			}
			e, err := m.Estimate(target)
			if err != nil {
				t.Fatal(err)
			}
			return e.Unconstrained[0] - .05
		}
		with += free(known) / float64(reps)
		without += free(sets) / float64(reps)
	}
	t.Logf("bias with the covariance %.4f, without %.4f", with, without)
	if math.Abs(with) > 0.03 || math.Abs(without) < 2*math.Abs(with) {
		t.Errorf("bias with the covariance %.4f, without %.4f", with, without)
	}
}

// The fit test has false alarms of at most 1e-3 by design. 300 valid targets raise 6 or more with
// probability below 1e-5 (Poisson .3: 7e-7 for 6), 80 raise 4 or more with 2e-6 (Poisson .08).
func TestFitFalseAlarms(t *testing.T) {
	targets, most := 80, 3
	if testlevel.Long() {
		targets, most = 300, 5
	}
	alarms, mean := 0, 0.0
	for seed := range targets {
		w := newWorld(2, 4, 1, uint64(seed))
		m, err := Fit(w.sets(5, 50), Options{Kernel: RBF(0.15)})
		if err != nil {
			t.Fatal(err)
		}
		e, err := m.Estimate(w.set(50, .6, .4))
		if err != nil {
			t.Fatal(err)
		}
		mean += e.GoodnessOfFit.Statistic / float64(targets)
		if e.GoodnessOfFit.Statistic > e.GoodnessOfFit.Threshold {
			alarms++
		}
	}
	t.Logf("%d alarms in %d, mean statistic %.3f", alarms, targets, mean)
	if alarms > most || mean < 0.5 || mean > 1.2 {
		t.Errorf("%d alarms in %d, mean statistic %.3f", alarms, targets, mean)
	}
}
