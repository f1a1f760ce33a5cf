package fitting

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/internal/testlevel"
	"caucus/learners"
)

// calibrationTrial releases noisy cross sums of a world with linear log odds. It holds the fit on a
// separate pool, and the slope that really turns the fit's scores into probabilities, measured on
// many fresh rows.
type calibrationTrial struct {
	fit   CrossFit
	truth learners.Linear
	true  float64
}

const (
	calibrationSd    = 2e-3 // of the noise on each class sum's mean
	calibrationRidge = 2e-3
)

func newCalibrationTrial(t *testing.T, seed uint64, lambda float64) calibrationTrial {
	t.Helper()
	const classes, d, n, rows, fresh = 2, 16, 4000, 3000, 4000
	r := rand.New(rand.NewPCG(seed, 7))
	world := rand.New(rand.NewPCG(uint64(classes), 8)) // the same for all seeds
	c := learners.WeightColumns(classes)
	truth := learners.Linear{W: mat.NewDense(d, c, nil), Classes: classes}
	for i := range d * c {
		truth.W.RawMatrix().Data[i] = 5 * world.NormFloat64()
	}
	for k := range c {
		truth.W.Set(d-1, k, -1)
	}
	draw := func(n int) *mat.Dense {
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
		return x
	}
	x, y := draw(n), make([]int, n)
	p := truth.Probabilities(x)
	for i := range y {
		u := r.Float64()
		for y[i] = 0; y[i] < classes-1 && u > p.At(i, y[i]); y[i]++ {
			u -= p.At(i, y[i])
		}
	}
	sums := make([]float64, classes*d)
	for j, v := range aggregation.CrossMomentSums(x, y, classes) {
		sums[j] = float64(v) + aggregation.SumScale*n*calibrationSd*r.NormFloat64()
	}
	fit, err := FitCross(&auxdata.Pool{X: draw(rows)}, sums,
		CrossFitTerms{FitTerms: FitTerms{Classes: classes, Lambda: lambda}, NoiseSD: calibrationSd,
			Records: n}, r)
	if err != nil {
		t.Fatal(err)
	}
	at := draw(fresh)
	s, q := fit.Model.Scores(at), truth.Probabilities(at)
	share, along := make([]float64, c), 0.0
	for i := range fresh {
		for k := range c {
			v := q.At(i, classes-c+k) / fresh
			share[k] += v
			along += v * s.At(i, k)
		}
	}
	best, ok := learners.Recalibrate(s, nil, share, along)
	if !ok {
		t.Fatal("the fit says nothing of the truth: choose another world")
	}
	return calibrationTrial{fit: fit, truth: truth, true: best.Slope}
}

// TestCalibration: on average the slope found from noisy sums is the true one, and its standard
// deviation is as stated. In units of that deviation, the mean error of n trials has a standard
// error of 1/√n, and its deviation one of 1/√(2n); 6.5 of these are exceeded with probability
// 1e-10. The uncorrected fit must be off by more.
func TestCalibration(t *testing.T) {
	trials := testlevel.N(t, 25, 40)
	var off, plain []float64
	for seed := range uint64(trials) {
		trial := newCalibrationTrial(t, seed, calibrationRidge)
		c := trial.fit.Calibration
		if c == nil {
			t.Fatal("no calibration")
		}
		sd := c.SlopeSD / c.Slope
		off, plain = append(off, math.Log(c.Slope/trial.true)/sd), append(plain,
			math.Log(1/trial.true)/sd)
		if low, high := c.Low, c.High; !(0 < low && low < c.Slope && c.Slope < high) {
			t.Errorf("slope %g has the interval %g to %g", c.Slope, low, high)
		}
	}
	mean, sd := stat.MeanStdDev(off, nil)
	without := stat.Mean(plain, nil)
	tolerance := 6.5 / math.Sqrt(float64(trials))
	if math.Abs(mean) > tolerance || math.Abs(sd-1) > tolerance/math.Sqrt2 {
		t.Errorf("off by %.2f ± %.2f standard deviations", mean, sd)
	}
	if math.Abs(without) < tolerance {
		t.Errorf("without calibration it would be off by %.2f only: the test cannot fail", without)
	}
	t.Logf("off by %.2f ± %.2f, without calibration %.2f, tolerance %.2f", mean, sd, without, tolerance)
}

// TestFlatteryDrawn: tr(H⁻¹Σ) by draws equals tr(H⁻¹Σ) solved. The mean of n draws has a standard
// error of √(2tr((H⁻¹Σ)²)/n); 7 of these are exceeded with probability 1e-11. A tenth is added for
// second-order effects.
func TestFlatteryDrawn(t *testing.T) {
	trial := newCalibrationTrial(t, 1, calibrationRidge)
	c := trial.fit.equations
	noise := c.noise(c.fit.Model.Probabilities(c.x))
	mean, square := c.flattery(noise, nil)
	drawn, _ := c.drawnFlattery(noise, rand.New(rand.NewPCG(1, 1)))
	if tolerance := 7*math.Sqrt(2*square/calibrationDraws) +
		0.1*mean; math.Abs(drawn-mean) > tolerance {
		t.Errorf("draws say %g, solving %g ± %g", drawn, mean, tolerance)
	}
}
