package fitting

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/internal/testlevel"
	"caucus/learners"
)

// noisyProblem returns rows of norm at most 1 with an intercept, classes by a linear rule of d−1
// features, and labels kept with probability keep.
func noisyProblem(seed uint64, n, d, classes int, keep float64) (x *mat.Dense, truth, noisy []int) {
	w := rand.New(rand.NewPCG(77, uint64(classes)))
	rule := make([]float64, classes*(d-1))
	for j := range rule {
		rule[j] = w.NormFloat64()
	}
	rng := rand.New(rand.NewPCG(seed, 3))
	x, truth, noisy = mat.NewDense(n, d, nil), make([]int, n), make([]int, n)
	for i := range n {
		best := math.Inf(-1)
		for j := range d - 1 {
			x.Set(i, j, rng.NormFloat64()/(2*math.Sqrt(float64(d))))
		}
		x.Set(i, d-1, math.Sqrt(0.5))
		for k := range classes {
			s := 0.0
			for j := range d - 1 {
				s += rule[k*(d-1)+j] * x.At(i, j)
			}
			if s > best {
				best, truth[i] = s, k
			}
		}
		noisy[i] = truth[i]
		if rng.Float64() > keep {
			noisy[i] = (truth[i] + 1 + rng.IntN(classes-1)) % classes
		}
	}
	return x, truth, noisy
}

// TestFitLabels: for every valid combination of loss, risk and correction, two and four classes, a
// fit to noisy labels is far better than the largest class. Three combinations have no such promise
// and are left out: a symmetric loss without correction for more than two classes; unhinged for
// accuracy, because its intercept is the difference of the class sizes, whatever the features; and
// the barrier hinge, for the same reason, if one class is much rarer than the rest.
func TestFitLabels(t *testing.T) {
	for _, c := range []struct {
		classes int
		keep    float64
		floor   float64
	}{{2, 0.7, 0.85}, {4, 0.55, 0.7}} {
		x, _, noisy := noisyProblem(1, testlevel.N(t, 1000, 2500), 6, c.classes, c.keep)
		tx, truth, _ := noisyProblem(2, 2000, 6, c.classes, 1)
		clear := learners.LabelChannel{Keep: 1, Classes: c.classes}
		for _, loss := range learners.Losses() {
			for _, risk := range aggregation.Risks() {
				for _, correction := range aggregation.Corrections() {
					o := aggregation.LabelOptions{Channel: learners.LabelChannel{Keep: c.keep,
						Classes: c.classes},
						Loss: loss, Risk: risk, Correction: correction, Lambda: 1e-3}
					if o.Validate() != nil || loss.Name() == "unhinged" && risk == aggregation.RiskAccuracy ||
						loss.MayIgnoreClass(c.classes) && risk == aggregation.RiskAccuracy ||
						loss.Symmetric() && correction == aggregation.CorrectionNone && c.classes > 2 &&
							risk == aggregation.RiskAccuracy {
						continue
					}
					fit, err := FitLabels(x, noisy, o, rand.New(rand.NewPCG(4, 4)))
					if err != nil {
						t.Fatal(err)
					}
					m := learners.MeasureScores(fit.Model, tx, truth, clear)
					got := m.Accuracy
					if risk == aggregation.RiskAUC {
						got = m.AUC
					}
					if got < c.floor {
						t.Errorf("%d classes, %s, %s, %s: %+v, want at least %g", c.classes,
							loss.Name(), risk, correction, m, c.floor)
					}
				}
			}
		}
	}
}

// TestSearchFindsARidge: the search is deterministic, takes a ridge of its grid, and is at most a
// point worse than either end of the grid.
func TestSearchFindsARidge(t *testing.T) {
	x, _, noisy := noisyProblem(1, 1500, 30, 2, 0.65)
	tx, truth, _ := noisyProblem(2, 4000, 30, 2, 1)
	loss, _ := learners.FindLoss("logistic")
	o := aggregation.LabelOptions{Channel: learners.LabelChannel{Keep: 0.65, Classes: 2},
		Loss: loss,
		Risk: aggregation.RiskAccuracy, Correction: aggregation.CorrectionBackward}
	accuracy := func(o aggregation.LabelOptions) float64 {
		fit, err := FitLabels(x, noisy, o, rand.New(rand.NewPCG(4, 4)))
		if err != nil {
			t.Fatal(err)
		}
		again, _ := FitLabels(x, noisy, o, rand.New(rand.NewPCG(4, 4)))
		if !mat.Equal(fit.Model.W, again.Model.W) {
			t.Error("another model the second time")
		}
		return learners.MeasureScores(fit.Model, tx, truth,
			learners.LabelChannel{Keep: 1, Classes: 2}).Accuracy
	}
	auto := accuracy(o)
	for _, end := range []float64{labelRidges[0], labelRidges[len(labelRidges)-1]} {
		o.Lambda = end
		if got := accuracy(o); auto < got-0.01 {
			t.Errorf("auto %.3f, ridge %g %.3f", auto, end, got)
		}
	}
}

func TestFitLabelsErrors(t *testing.T) {
	logistic, _ := learners.FindLoss("logistic")
	hinge, _ := learners.FindLoss("hinge")
	good := aggregation.LabelOptions{Channel: learners.LabelChannel{Keep: 0.8, Classes: 2},
		Loss: logistic,
		Risk: aggregation.RiskAccuracy, Correction: aggregation.CorrectionNone}
	for says, change := range map[string]func(*aggregation.LabelOptions){
		"accuracy ber auc":      func(o *aggregation.LabelOptions) { o.Risk = "error" },
		"none backward forward": func(o *aggregation.LabelOptions) { o.Correction = "sideways" },
		"is for risk accuracy": func(o *aggregation.LabelOptions) {
			o.Risk, o.Correction = aggregation.RiskAUC, aggregation.CorrectionForward
		},
		"logistic, squared or":       func(o *aggregation.LabelOptions) { o.Loss, o.Correction = hinge, aggregation.CorrectionForward },
		"above 1/classes":            func(o *aggregation.LabelOptions) { o.Channel.Keep = 0.5 },
		"there are no labelled rows": func(*aggregation.LabelOptions) {},
	} {
		o := good
		change(&o)
		if _, err := FitLabels(mat.NewDense(2, 2, nil), []int{-1, 2}, o,
			rand.New(rand.NewPCG(1, 1))); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want %q", err, says)
		}
	}
	// One row of one class is enough for a fit.
	for _, risk := range aggregation.Risks() {
		o := good
		o.Risk = risk
		if _, err := FitLabels(mat.NewDense(1, 2, []float64{0.2, 0.7}), []int{1}, o,
			rand.New(rand.NewPCG(1, 1))); err != nil {
			t.Errorf("one row, %s: %v", risk, err)
		}
	}
}

// TestDebiasedShares: over 4,000 draws of the channel the mean of the estimates is within 6
// standard errors of the true shares (false alarms 1e-8 for each of 5 numbers), and their spread is
// within a tenth of the stated error.
func TestDebiasedShares(t *testing.T) {
	c := learners.LabelChannel{Keep: 0.5, Classes: 5}
	truth := make([]int, 300)
	want := make([]float64, 5)
	for i := range truth {
		truth[i] = min(i*7/300, 4)
		want[truth[i]] += 1. / 300
	}
	rng := rand.New(rand.NewPCG(6, 6))
	const draws = 4000
	sum, squares, stated := make([]float64, 5), make([]float64, 5), make([]float64, 5)
	for range draws {
		y := make([]int, len(truth))
		for i, k := range truth {
			y[i] = k
			if rng.Float64() > c.Keep {
				y[i] = (k + 1 + rng.IntN(4)) % 5
			}
		}
		s := DebiasedShares(y, c)
		total := 0.0
		for k, v := range s.Share {
			sum[k] += v / draws
			squares[k] += v * v / draws
			stated[k] += s.Error[k] / draws
			total += s.Projected[k]
		}
		if math.Abs(total-1) > 1e-12 {
			t.Fatalf("projected shares sum to %g", total)
		}
	}
	for k := range want {
		sd := math.Sqrt(squares[k] - sum[k]*sum[k])
		if math.Abs(sum[k]-want[k]) > 6*sd/math.Sqrt(draws) {
			t.Errorf("class %d: mean share %g, true %g", k, sum[k], want[k])
		}
		if math.Abs(sd-stated[k]) > 0.1*sd {
			t.Errorf("class %d: spread %g, stated %g", k, sd, stated[k])
		}
	}
	if s := DebiasedShares(nil, c); s.Share[0] != 0.2 || !math.IsInf(s.Error[0], 1) {
		t.Errorf("shares of nothing: %+v", s)
	}
}
