package fitting

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
)

// TestOneStep: in units of its stated covariance, the estimate's error is independent normal with
// variance 1. The squares over n trials of d weights have mean 1 and standard deviation √(2/nd); 7
// of these are exceeded with probability 1e-10 (χ² with 640 degrees of freedom). The fit with its
// ridge must be off by more. Intervals of single weights hold 95 % of them, within 7 standard
// deviations of n·d trials.
func TestOneStep(t *testing.T) {
	const trials, ridge = 40, 1e-2
	squares, plain, held, weights := 0.0, 0.0, 0.0, 0.0
	for seed := range uint64(trials) {
		trial := newCalibrationTrial(t, seed, ridge)
		o, ok := trial.fit.OneStep()
		if !ok {
			t.Fatal("no step")
		}
		var factor mat.Cholesky
		if !factor.Factorize(o.cov) {
			t.Fatal("the covariance is none")
		}
		distance := func(w mat.Vector) float64 {
			var off, solved mat.VecDense
			off.SubVec(w, trial.truth.W.ColView(0))
			_ = factor.SolveVecTo(&solved, &off)
			return mat.Dot(&off, &solved)
		}
		squares += distance(o.w)
		plain += distance(trial.fit.Model.W.ColView(0))
		for j := range o.w.Len() {
			by := make([]float64, o.w.Len())
			by[j] = 1
			c := o.EstimateContrast(by)
			if !c.VariesInPool || !(math.Abs(c.SecondStepChange) < c.SD/2) {
				t.Errorf("weight %d: %+v", j, c)
			}
			weights++
			if math.Abs(c.Value-trial.truth.W.At(j, 0)) <= aggregation.Normal95*c.SD {
				held++
			}
		}
	}
	tolerance := 7 * math.Sqrt(2/weights)
	if got := squares / weights; math.Abs(got-1) > tolerance {
		t.Errorf("mean square %.3f, want 1 ± %.3f", got, tolerance)
	}
	if got := plain / weights; got < 1+tolerance {
		t.Errorf("the fit with its ridge has %.3f: the test cannot fail", got)
	}
	if got, off := held/weights, 7*math.Sqrt(.05*.95/weights); math.Abs(got-.95) > off {
		t.Errorf("intervals held %.3f, want .95 ± %.3f", got, off)
	}
	t.Logf("mean square %.3f, with ridge %.3f, held %.3f", squares/weights, plain/weights,
		held/weights)
}

// TestOneStepUnseen: a contrast in a direction that the pool lacks is not Seen.
func TestOneStepUnseen(t *testing.T) {
	trial := newCalibrationTrial(t, 1, calibrationRidge)
	x := trial.fit.equations.x
	n, d := x.Dims()
	for i := range n { // the first column repeats the second
		x.Set(i, 0, x.At(i, 1))
	}
	o, _ := trial.fit.OneStep()
	by := make([]float64, d)
	by[0], by[1] = 1, 1
	if !o.EstimateContrast(by).VariesInPool {
		t.Error("what both say is in the pool")
	}
	by[1] = -1
	if c := o.EstimateContrast(by); c.VariesInPool {
		t.Errorf("their difference is not: %+v", c)
	}
}
