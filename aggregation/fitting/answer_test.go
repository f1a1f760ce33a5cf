package fitting

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/dataset"
)

func numbersDesign(t *testing.T, columns int) *aggregation.FeatureDesign {
	t.Helper()
	s := dataset.Schema{Label: dataset.Label{Column: "y", Classes: []string{"a", "b"}}}
	for j := range columns {
		s.Features = append(s.Features,
			dataset.Feature{Column: string(rune('a' + j)), Kind: dataset.Numeric, Max: 1})
	}
	d, err := aggregation.NewFeatureDesign(s, aggregation.FeatureTerms{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestUntold: independent columns explain nothing of each other. If the private records are the
// pool's own, Shift is 0. If each mean moves by half a standard deviation, Shift is that half, and
// added noise does not lower it. Sampling of 20,000 rows gives a column 1/140 of a standard
// deviation; the tolerances are ten of these.
func TestUntold(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	const n, columns = 20_000, 8
	d := numbersDesign(t, columns)
	pool := mat.NewDense(n, columns, nil)
	pool.Apply(func(int, int, float64) float64 { return rng.Float64() }, pool)
	means := make([]float64, columns)
	for j := range means {
		means[j] = mat.Sum(pool.ColView(j)) / n
	}
	x, quiet := d.Rows(pool), IsotropicNoise(columns, 1e-9)
	if u := UnreleasedShiftOf(d, x, means, quiet, 0, n); u.Columns != columns || u.Shift > 0.07 {
		t.Errorf("the pool's own means: %+v", u)
	}
	sd := math.Sqrt(1.0 / 12)
	for j := range means {
		means[j] += sd / 2 * float64(1-2*(j%2))
	}
	if u := UnreleasedShiftOf(d, x, means, quiet, 0, n); math.Abs(u.Shift-0.5) > 0.07 {
		t.Errorf("means half a deviation away: shift %.3f", u.Shift)
	}
	if u := UnreleasedShiftOf(d, x, means, IsotropicNoise(columns, 0.5*sd*1/d.MaxRowNorm()), 0,
		n); u.Shift < 0.5 {
		t.Errorf("with noise as large: shift %.3f says less than without", u.Shift)
	}
	if u := UnreleasedShiftOf(d, x, means, quiet, 0, n); u.Records != n {
		t.Errorf("%v records", u.Records)
	}
}

// TestUntoldLeavesOutAColumn: with a column go all cells made from it, its pairs and bins too. They
// would predict the column.
func TestUntoldLeavesOutAColumn(t *testing.T) {
	for name, d := range designs(t) {
		for _, c := range columnsOf(d) {
			in := map[int]bool{}
			for _, j := range append(append([]int{}, c.cells...), c.touched...) {
				in[j] = true
			}
			if len(d.Groups) == 0 {
				continue
			}
			column := ""
			for _, g := range d.Groups {
				if len(c.cells) > 0 && g.FirstCell == c.cells[0] {
					column = g.First.Column
				}
			}
			for _, g := range d.Groups {
				if (g.First.Column == column ||
					(g.Second.Width > 0 && g.Second.Column == column)) && !in[g.FirstCell] {
					t.Errorf("%s: leaving out %q leaves %q", name, column, d.Names()[g.FirstCell])
				}
			}
		}
	}
}

// TestAnswerInterval: an interval covers every stated error, and is left out where its width is
// unknown.
func TestAnswerInterval(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	const n = 4000
	d := numbersDesign(t, 6)
	pool := mat.NewDense(n, 6, nil)
	pool.Apply(func(int, int, float64) float64 { return rng.Float64() }, pool)
	x := d.Rows(pool)
	means := []float64{0.55, 0.45, 0.5, 0.52, 0.48, 0.5}
	noise := IsotropicNoise(6, 1e-3*1/d.MaxRowNorm())
	fit := FitWeights(x, nil, floats.ScaleTo(make([]float64, len(means)), 1/d.MaxRowNorm(), means),
		noise,
		1e-3, 0, rng)
	told, apart := make([]float64, n), make([]float64, n)
	for i := range n {
		if pool.At(i, 0) > 0.5 {
			told[i] = 1
		}
		apart[i] = math.Round(rng.Float64())
	}
	u := UnreleasedShiftOf(d, x, means, noise, 1e-3, 3000)
	a := WeightErrorsOf(x, fit, noise).EstimateMean(told, u)
	if a.Caveat != "" || a.Low == nil {
		t.Fatalf("no interval: %+v", a)
	}
	all := math.Sqrt(a.NoiseSD*a.NoiseSD + a.RemainingSD*a.RemainingSD +
		a.PoolSamplingSD*a.PoolSamplingSD + a.RecordSamplingSD*a.RecordSamplingSD +
		a.ShiftSD*a.ShiftSD)
	// t of 6 degrees of freedom: 2.45
	if half := (*a.High - *a.Low) / 2; half < aggregation.Normal95*all || half > 2.6*all {
		t.Errorf("an interval of ± %.4f for errors of %.4f", half, all)
	}
	if a.R2 < 0.5 || a.MovedByWeights == 0 || a.RecordSamplingSD == 0 || a.ShiftSD == 0 {
		t.Errorf("%+v", a)
	}
	// With as many private records as pool rows, the pool's sampling alone gives this standard
	// deviation.
	u.Records = n
	if a := WeightErrorsOf(x, WeightFit{Beta: fit.Beta, Weight: onesOf(n), Lambda: 1e-3},
		noise).EstimateMean(told,
		u); math.Abs(a.RecordSamplingSD/a.PoolSamplingSD-1) > 1e-9 {
		t.Errorf("sampling %g of the pool and %g of as many records", a.PoolSamplingSD, a.RecordSamplingSD)
	}
	// The error of a share is at most the share or its distance to 1, however large noise and shift
	// are.
	far := u
	far.Shift = 50
	a = WeightErrorsOf(x, fit, IsotropicNoise(6, 1e3*1/d.MaxRowNorm())).EstimateMean(told, far)
	if most := max(a.Estimate, 1-a.Estimate); a.NoiseSD != most || a.ShiftSD != most ||
		*a.Low != 0 ||
		*a.High != 1 {
		t.Errorf("much noise: %+v", a)
	}
	zero := fit
	zero.Lambda = 0
	for _, c := range []struct {
		name, doubt string
		answer      QueryEstimate
	}{
		{"equal weights", "nothing better than equal weights", WeightErrorsOf(x, zero, noise).EstimateMean(told, u)},
		{"a query that no feature tells", "tell too little", WeightErrorsOf(x, fit, noise).EstimateMean(apart, u)},
		{"means unknown", "does not say the features' means", WeightErrorsOf(x, fit, noise).EstimateMean(told, UnreleasedShift{Records: 1})},
		{"always so", "tell too little", WeightErrorsOf(x, fit, noise).EstimateMean(onesOf(n), u)},
	} {
		if c.answer.Low != nil || c.answer.High != nil ||
			!strings.Contains(c.answer.Caveat, c.doubt) {
			t.Errorf("%s: %+v", c.name, c.answer)
		}
	}
}

func onesOf(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = 1
	}
	return v
}
