package learners

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// rowsLikePCA draws n rows of norm at most 1. The d-1 columns have the quickly falling variances of
// principal components; an intercept follows. Labels come from a noisy linear rule.
func rowsLikePCA(n, d, classes int, rng *rand.Rand) (*mat.Dense, []int) {
	rule := mat.NewDense(d, classes, nil)
	for j := range d {
		for k := range classes {
			rule.Set(j, k, 4*rng.NormFloat64()*math.Sqrt(float64(j+1)))
		}
	}
	for k := range classes {
		rule.Set(d-1, k, rng.NormFloat64()/2)
	}
	x := mat.NewDense(n, d, nil)
	y := make([]int, n)
	for i := range n {
		row := x.RawRowView(i)
		for j := range d - 1 {
			row[j] = 0.4 * rng.NormFloat64() / math.Pow(float64(j+1), 1.2)
		}
		if norm := floats.Norm(row, 2); norm > 1 {
			floats.Scale(1/norm, row)
		}
		row[d-1] = 1
		floats.Scale(math.Sqrt2/2, row)
		best := math.Inf(-1)
		for k := range classes {
			if s := mat.Dot(mat.NewVecDense(d, row), rule.ColView(k)) +
				rng.NormFloat64()/2; s > best {
				best, y[i] = s, k
			}
		}
	}
	return x, y
}

// checkGradient compares the gradient with central differences of the value, whose error is about
// h²·third derivative + rounding/h.
func checkGradient(t rapid.TB, o Objective, w []float64) {
	t.Helper()
	const h = 1e-5
	n := o.Dim()
	grad, ignored := make([]float64, n), make([]float64, n)
	o.Evaluate(w, grad)
	for j := range w {
		at := append([]float64(nil), w...)
		at[j] = w[j] + h
		up := o.Evaluate(at, ignored)
		at[j] = w[j] - h
		down := o.Evaluate(at, ignored)
		if got, want := grad[j], (up-down)/(2*h); math.Abs(got-want) > 1e-6*(1+math.Abs(want)) {
			t.Fatalf("gradient[%d] = %.9g, central difference %.9g", j, got, want)
		}
	}
}

// checkConvex compares the value between two points with the chord.
func checkConvex(t rapid.TB, o Objective, a, b []float64, share float64) {
	t.Helper()
	ignored := make([]float64, o.Dim())
	between := make([]float64, o.Dim())
	for j := range between {
		between[j] = (1-share)*a[j] + share*b[j]
	}
	va, vb, v := o.Evaluate(a, ignored), o.Evaluate(b, ignored), o.Evaluate(between, ignored)
	if chord := (1-share)*va + share*vb; v > chord+1e-9*(1+math.Abs(chord)) {
		t.Fatalf("value %.12g above the chord's %.12g", v, chord)
	}
}

func drawVector(t *rapid.T, n int, label string) []float64 {
	return rapid.SliceOfN(rapid.Float64Range(-3, 3), n, n).Draw(t, label)
}

// quadratic is ½Σ aⱼ(wⱼ−cⱼ)².
type quadratic struct{ a, c []float64 }

func (q quadratic) Dim() int { return len(q.a) }
func (q quadratic) Evaluate(w, grad []float64) float64 {
	value := 0.0
	for j := range w {
		gap := w[j] - q.c[j]
		grad[j] = q.a[j] * gap
		value += q.a[j] * gap * gap / 2
	}
	return value
}

func TestMinimizeQuadratics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		q := quadratic{a: make([]float64, n), c: drawVector(t, n, "centre")}
		for j := range q.a {
			q.a[j] = math.Exp(rapid.Float64Range(-6, 6).Draw(t, "log curvature"))
		}
		start := drawVector(t, n, "start")
		before := append([]float64(nil), start...)
		w, report := Minimize(q, start, MinimiseSettings{GradientNorm: 1e-8, MaxIterations: 2000})
		if !report.Converged || report.GradientNorm > 1e-8 {
			t.Fatalf("not converged: %+v", report)
		}
		if !floats.Equal(start, before) {
			t.Fatal("the start was changed")
		}
		for j := range w {
			if math.Abs(w[j]-q.c[j])*q.a[j] > 1e-8 {
				t.Fatalf("w[%d] = %g, want %g", j, w[j], q.c[j])
			}
		}
	})
}

// odd is a function of one variable, given by its value and slope.
type odd func(w float64) (value, slope float64)

func (o odd) Dim() int { return 1 }
func (o odd) Evaluate(w, grad []float64) float64 {
	value, slope := o(w[0])
	grad[0] = slope
	return value
}

func TestMinimizeStopsOnWhatHasNoMinimum(t *testing.T) {
	for name, c := range map[string]struct {
		o         odd
		converged bool
	}{
		"unbounded":         {func(w float64) (float64, float64) { return -w, -1 }, false},
		"not a number":      {func(float64) (float64, float64) { return math.NaN(), math.NaN() }, false},
		"exponential tail":  {func(w float64) (float64, float64) { return math.Exp(-w), -math.Exp(-w) }, true},
		"wall at 1":         {func(w float64) (float64, float64) { return w - math.Log(1-w), 1 + 1/(1-w) }, false},
		"overflowing slope": {func(w float64) (float64, float64) { return math.Cosh(50 * w), 50 * math.Sinh(50*w) }, true},
		"wrong slope":       {func(w float64) (float64, float64) { return w * w, -1 - 2*w }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w, report := Minimize(c.o, []float64{-3}, MinimiseSettings{MaxIterations: 50})
			if len(w) != 1 || report.Iterations > 50 || report.Evaluations > 1+51*maxTrials*2 {
				t.Errorf("w = %v, %+v", w, report)
			}
			if report.Converged != c.converged {
				t.Errorf("converged = %v, want %v: %+v", report.Converged, c.converged, report)
			}
		})
	}
}

func TestMinimizeTakesAnyStart(t *testing.T) {
	q := quadratic{a: []float64{1, 2}, c: []float64{3, 4}}
	for _, start := range [][]float64{nil, {1}, {math.NaN(), 0}, {math.Inf(1), 0}, {5, 5}, {3, 4}} {
		w, report := Minimize(q, start, MinimiseSettings{})
		if !report.Converged || math.Abs(w[0]-3)+math.Abs(w[1]-4) > 1e-5 {
			t.Errorf("start %v: w = %v, %+v", start, w, report)
		}
	}
}

// plain hides an objective's Precondition.
type plain struct{ o Objective }

func (p plain) Dim() int                           { return p.o.Dim() }
func (p plain) Evaluate(w, grad []float64) float64 { return p.o.Evaluate(w, grad) }

// A preconditioner changes the path, but not the result: both are within 2τ/λ.
func TestMinimizeWithAndWithoutPreconditioner(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		p.ridge = 0.05
		for name, o := range map[string]Objective{"softmax": p.softmax(), "hinge": p.hinge()} {
			s := MinimiseSettings{GradientNorm: 1e-8, MaxIterations: 2000}
			a, ra := Minimize(o, nil, s)
			b, rb := Minimize(plain{o}, nil, s)
			if !ra.Converged || !rb.Converged || floats.Distance(a, b, 2) > 2*1e-8/0.05 {
				t.Fatalf("%s: %v (%+v) and %v (%+v)", name, a, ra, b, rb)
			}
		}
	})
}

// The ridges and sizes of local and central fits all converge to a small gradient in few
// iterations.
func TestMinimizeRisksOfRealShapes(t *testing.T) {
	for _, c := range []struct{ n, d, classes int }{{100, 41, 2}, {100, 41, 10}, {3000, 41, 2},
		{2000, 41, 10}, {60, 200, 2}} {
		rng := rand.New(rand.NewPCG(1, uint64(c.n)))
		x, y := rowsLikePCA(c.n, c.d, c.classes, rng)
		soft := &SoftmaxRisk{X: x, Mu: TargetMoments(x, OneHot(y, c.classes), nil),
			Classes: c.classes}
		hinge := &HingeRisk{X: x, Targets: OneHot(y, c.classes), Classes: c.classes}
		for _, ridge := range []float64{1e-2, 1e-4, 1e-6} {
			for name, o := range map[string]ridgeRisk{"softmax": soft, "hinge": hinge} {
				o.setRidge(ridge)
				_, report := Minimize(o, nil, MinimiseSettings{GradientNorm: 1e-7,
					MaxIterations: 2000})
				if !report.Converged {
					t.Errorf("%d×%d K=%d ridge %g %s: %+v", c.n, c.d, c.classes, ridge, name,
						report)
				}
			}
		}
	}
}
