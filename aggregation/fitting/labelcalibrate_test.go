package fitting

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/aggregation"
	"caucus/internal/testlevel"
	"caucus/learners"
)

// linearWorld returns log odds that are linear in rows of d numbers, the last one the intercept.
func linearWorld(classes, d int) learners.Linear {
	r := rand.New(rand.NewPCG(uint64(classes), 8))
	c := learners.WeightColumns(classes)
	truth := learners.Linear{W: mat.NewDense(d, c, nil), Classes: classes}
	for i := range d * c {
		truth.W.RawMatrix().Data[i] = 4 * r.NormFloat64()
	}
	for k := range c {
		truth.W.Set(d-1, k, -1)
	}
	return truth
}

// worldRows returns n rows of a world, with labels that came through a channel.
func worldRows(truth learners.Linear, n int, c learners.LabelChannel, r *rand.Rand) (*mat.Dense,
	[]int) {
	d, _ := truth.W.Dims()
	x := mat.NewDense(n, d, nil)
	for i := range n {
		row, norm := x.RawRowView(i), 0.0
		for j := range d - 1 {
			row[j] = r.NormFloat64()
			norm += row[j] * row[j]
		}
		for j := range d - 1 {
			row[j] *= math.Sqrt(.5/norm) * .99
		}
		row[d-1] = math.Sqrt(.5)
	}
	p, y := truth.Probabilities(x), make([]int, n)
	for i := range y {
		u := r.Float64()
		for y[i] = 0; y[i] < truth.Classes-1 && u > p.At(i, y[i]); y[i]++ {
			u -= p.At(i, y[i])
		}
		if r.Float64() > c.Keep {
			y[i] = (y[i] + 1 + r.IntN(truth.Classes-1)) % truth.Classes
		}
	}
	return x, y
}

// slopeOf returns the slope that really turns a model's scores into probabilities in a world.
func slopeOf(t *testing.T, m, truth learners.Linear, r *rand.Rand) float64 {
	t.Helper()
	const fresh = 4000
	x, _ := worldRows(truth, fresh, learners.LabelChannel{Keep: 1, Classes: truth.Classes}, r)
	s, p := m.Scores(x), truth.Probabilities(x)
	_, c := s.Dims()
	share, along := make([]float64, c), 0.0
	for i := range fresh {
		for k := range c {
			v := p.At(i, truth.Classes-c+k) / fresh
			share[k] += v
			along += v * s.At(i, k)
		}
	}
	best, ok := learners.Recalibrate(s, nil, share, along)
	if !ok {
		t.Fatal("the fit says nothing of the truth: choose another world")
	}
	return best.Slope
}

// TestCalibrateLabels: on average the slope found from noisy labels is the true one, and its
// standard deviation is as stated, for losses that give log odds and losses that give margins, two
// and three classes. In units of that deviation, the mean error of n trials has a standard error of
// 1/√n, and its deviation one of 1/√(2n); 6.5 of these are exceeded with probability 1e-10. The
// same equations with the fit's own scores, which are circular, must be off by more.
func TestCalibrateLabels(t *testing.T) {
	const trials, n, d = 40, 1000, 32
	tolerance := 6.5 / math.Sqrt(trials)
	type world struct {
		classes          int
		loss, correction string
		keep, lambda     float64
	}
	for _, c := range testlevel.Of(t,
		[]world{{2, "logistic", aggregation.CorrectionBackward, .95, 1e-3},
			{2, "sigmoid", aggregation.CorrectionNone, .95, 1e-5},
			{3, "logistic", aggregation.CorrectionBackward, .95, 1e-3}},
		1) {
		loss, err := learners.FindLoss(c.loss)
		if err != nil {
			t.Fatal(err)
		}
		o := aggregation.LabelOptions{Channel: learners.LabelChannel{Keep: c.keep,
			Classes: c.classes}, Loss: loss,
			Risk: aggregation.RiskAccuracy, Correction: c.correction, Lambda: c.lambda}
		truth := linearWorld(c.classes, d)
		var off, circular []float64
		for seed := range uint64(trials) {
			r := rand.New(rand.NewPCG(seed, 7))
			x, y := worldRows(truth, n, o.Channel, r)
			fit, err := FitLabels(x, y, o, r)
			if err != nil {
				t.Fatal(err)
			}
			found := CalibrateLabels(o, fit, x, y, r)
			if found == nil {
				t.Fatal("no calibration")
			}
			want := slopeOf(t, fit.Model, truth, r)
			off = append(off, math.Log(found.Slope/want)/found.RelativeSlopeSD())
			s, columns := fit.Model.Scores(x), learners.WeightColumns(c.classes)
			share, along := make([]float64, columns), 0.0
			for i, k := range y {
				for column := range columns {
					u := o.Channel.Unbiased(k == column+c.classes-columns) / n
					share[column] += u
					along += u * s.At(i, column)
				}
			}
			if in, ok := learners.Recalibrate(s, nil, share, along); ok {
				circular = append(circular, math.Log(in.Slope/want)/found.RelativeSlopeSD())
			}
		}
		mean, sd := stat.MeanStdDev(off, nil)
		if math.Abs(mean) > tolerance || math.Abs(sd-1) > tolerance/math.Sqrt2 {
			t.Errorf("%d classes, %s: off by %.2f ± %.2f standard deviations", c.classes, c.loss, mean, sd)
		}
		if without := stat.Mean(circular, nil); without < tolerance {
			t.Errorf("%d classes, %s: circular equations would be off by %.2f only: the test cannot fail", c.classes, c.loss, without)
		}
		t.Logf("%d classes, %s: off by %.2f ± %.2f, circular %.2f", c.classes, c.loss, mean, sd, stat.Mean(circular, nil))
	}
}

// TestCalibrateLabelsRefuses: there is no slope for too few records, labels without signal, or a
// missing class.
func TestCalibrateLabelsRefuses(t *testing.T) {
	loss, err := learners.FindLoss("logistic")
	if err != nil {
		t.Fatal(err)
	}
	o := aggregation.LabelOptions{Channel: learners.LabelChannel{Keep: .75, Classes: 2}, Loss: loss,
		Risk: aggregation.RiskAccuracy, Correction: aggregation.CorrectionBackward, Lambda: 1e-3}
	truth := linearWorld(2, 6)
	for name, c := range map[string]struct {
		rows  int
		label func(i int) int
	}{
		"few":       {2*calibrationFolds - 1, func(i int) int { return i % 2 }},
		"one class": {400, func(int) int { return 1 }},
	} {
		r := rand.New(rand.NewPCG(1, 1))
		x, y := worldRows(truth, c.rows, learners.LabelChannel{Keep: 1, Classes: 2}, r)
		for i := range y {
			y[i] = c.label(i)
		}
		fit, err := FitLabels(x, y, o, r)
		if err != nil {
			t.Fatal(err)
		}
		if got := CalibrateLabels(o, fit, x, y, r); got != nil {
			t.Errorf("%s: slope %g ± %g", name, got.Slope, got.SlopeSD)
		}
	}
}
