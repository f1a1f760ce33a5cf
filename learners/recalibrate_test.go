package learners

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// TestRecalibrateSolvesItsEquations: if some intercepts and slope meet the targets exactly, these
// are found, for any number of classes and row weights.
func TestRecalibrateSolvesItsEquations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(2, 5).Draw(t, "classes")
		n, c := rapid.IntRange(20, 60).Draw(t, "rows"), WeightColumns(classes)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		scale := math.Exp(rapid.Float64Range(-3, 3).Draw(t, "log scale"))
		slope := math.Exp(rapid.Float64Range(-1, 1).Draw(t, "log slope")) / scale
		intercept, sum := make([]float64, c), 0.0
		for k := range intercept {
			intercept[k] = r.NormFloat64()
			sum += intercept[k]
		}
		s, weight := mat.NewDense(n, c, nil), make([]float64, n)
		for i := range n {
			weight[i] = r.ExpFloat64() + 0.1
			for k := range c {
				s.Set(i, k, scale*r.NormFloat64())
			}
		}
		moved := mat.NewDense(n, c, nil)
		moved.Apply(func(i, k int, v float64) float64 { return slope*v + intercept[k] }, s)
		share, along, total := make([]float64, c), 0.0, 0.0
		identity := mat.NewDense(c, c, nil)
		for k := range c {
			identity.Set(k, k, 1)
		}
		p := Linear{W: identity, Classes: classes}.Probabilities(moved)
		for i := range n {
			total += weight[i]
		}
		for i := range n {
			for k := range c {
				q := p.At(i, classes-c+k) * weight[i] / total
				share[k] += q
				along += q * s.At(i, k)
			}
		}
		got, ok := Recalibrate(s, weight, share, along)
		if !ok {
			t.Fatalf("slope %g, intercepts %v: no solution", slope, intercept)
		}
		if math.Abs(got.Slope-slope) > 1e-5*slope {
			t.Errorf("slope %g, want %g", got.Slope, slope)
		}
		for k := range c {
			want := intercept[k]
			if c > 1 {
				want -= sum / float64(c) // only differences are determined
			}
			if math.Abs(got.Intercept[k]-want) > 1e-4 {
				t.Errorf("intercepts %v, want %v less their mean", got.Intercept, intercept)
			}
		}
		// Curvature equals the derivative of the equations.
		const h = 1e-5
		more, ok := Recalibrate(s, weight, share, along+h)
		if !ok {
			t.Fatal("no solution beside a solution")
		}
		var inverse mat.Cholesky
		if !inverse.Factorize(got.Curvature) {
			t.Fatal("the curvature has no inverse")
		}
		by := mat.NewVecDense(c+1, nil)
		by.SetVec(c, h)
		_ = inverse.SolveVecTo(by, by)
		if moves := more.Slope - got.Slope; math.Abs(moves-by.AtVec(c)) > 0.02*math.Abs(moves)+1e-7 {
			t.Errorf("slope moves by %g, the curvature says %g", moves, by.AtVec(c))
		}
	})
}

// TestRecalibrateRefuses what has no slope above 0.
func TestRecalibrateRefuses(t *testing.T) {
	s := mat.NewDense(4, 1, []float64{-1, 0, 1, 2})
	for _, c := range []struct {
		name         string
		s            *mat.Dense
		share, along float64
	}{
		{"no rows", &mat.Dense{}, 0.5, 0},
		{"scores all 0", mat.NewDense(2, 1, nil), 0.5, 0},
		{"scores all alike", mat.NewDense(2, 1, []float64{1, 1}), 0.5, 0.5},
		{"outcomes against the scores", s, 0.5, 0.1},
		{"beyond what any slope can reach", s, 0.5, 2},
		{"a share above 1", s, 1.2, 0.5},
		{"nothing known", s, math.NaN(), math.NaN()},
	} {
		if r, ok := Recalibrate(c.s, nil, []float64{c.share}, c.along); ok {
			t.Errorf("%s: slope %g", c.name, r.Slope)
		}
	}
}

// TestCalibratedOf: labels drawn from a model's own probabilities have slope 1, for a model with
// doubled scores ½; the Brier score equals its definition. The slope of n labels has a standard
// error of 1/√(n·Var s·E[p(1−p)]), at most .012 here; 6.7 standard errors are exceeded with
// probability 2e-11.
func TestCalibratedOf(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	for _, classes := range []int{2, 3} {
		const n = 60_000
		c := WeightColumns(classes)
		x, y := mat.NewDense(n, c, nil), make([]int, n)
		w := mat.NewDense(c, c, nil)
		for k := range c {
			w.Set(k, k, 1)
		}
		for i := range n {
			for k := range c {
				x.Set(i, k, 1.5*r.NormFloat64())
			}
		}
		m := Linear{W: w, Classes: classes}
		p, brier := m.Probabilities(x), 0.0
		for i := range n {
			u := r.Float64()
			for y[i] = 0; y[i] < classes-1 && u > p.At(i, y[i]); y[i]++ {
				u -= p.At(i, y[i])
			}
			for k := range classes {
				d := p.At(i, k)
				if k == y[i] {
					d--
				}
				brier += d * d / n
			}
		}
		if classes == 2 {
			brier /= 2
		}
		const tolerance = 0.08
		if got := MeasureProbabilities(m, x, y); math.Abs(got.Slope-1) > tolerance ||
			math.Abs(got.Brier-brier) > 1e-9 {
			t.Errorf("%d classes: %+v, want slope 1 and %g", classes, got, brier)
		}
		w.Scale(2, w)
		if got := MeasureProbabilities(m, x, y); math.Abs(got.Slope-0.5) > tolerance/2 ||
			got.Brier <= brier {
			t.Errorf("%d classes, scores doubled: %+v", classes, got)
		}
	}
	if got := MeasureProbabilities(NewLinear([]float64{1}, 2), mat.NewDense(1, 1, []float64{1}),
		[]int{-1}); got != (ProbabilityFit{}) {
		t.Errorf("no label: %+v", got)
	}
}
