package learners

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"
)

func (p problem) hinge() *HingeRisk {
	return &HingeRisk{X: p.x, Targets: p.targets, RowWeight: p.weight, Ridge: p.ridge,
		Classes: p.classes}
}

// dumbHinge computes HingeRisk from its definition: the parabola is the hinge's running mean over
// one width to the right.
func (p problem) dumbHinge(w []float64, width float64) float64 {
	n, _ := p.x.Dims()
	smooth := func(z float64) float64 {
		hinge := func(z float64) float64 { return math.Max(0, 1-z) }
		if z <= 1-width || z >= 1 {
			return (hinge(z) + hinge(z+width)) / 2
		}
		return hinge(z) * hinge(z) / (2 * width)
	}
	scores := NewLinear(w, p.classes).Scores(p.x)
	value, total := 0.0, 0.0
	for i := range n {
		v := 1.0
		if p.weight != nil {
			v = p.weight[i]
		}
		total += v
		_, c := scores.Dims()
		for k := range c {
			t, s := p.targets.At(i, p.classes-c+k), scores.At(i, k)
			value += v * (t*smooth(s) + (1-t)*smooth(-s))
		}
	}
	return value/total + p.ridge/2*floats.Dot(w, w)
}

func TestHingeRiskIsItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		o := p.hinge()
		o.Smoothing = rapid.SampledFrom([]float64{0, 0.1, 1, 2}).Draw(t, "smoothing")
		width := o.Smoothing
		if width == 0 {
			width = DefaultSmoothing
		}
		w := drawVector(t, o.Dim(), "w")
		got, want := o.Evaluate(w, make([]float64, o.Dim())), p.dumbHinge(w, width)
		if math.Abs(got-want) > 1e-10*(1+math.Abs(want)) {
			t.Fatalf("value %.12g, want %.12g", got, want)
		}
		checkGradientAlmost(t, o, w)
		checkConvex(t, o, w, drawVector(t, o.Dim(), "other"),
			rapid.Float64Range(0, 1).Draw(t, "share"))
	})
}

// checkGradientAlmost allows for the jump of the second derivative where a parabola meets a line: a
// step h over the jump is off by up to h·x²/width.
func checkGradientAlmost(t rapid.TB, o Objective, w []float64) {
	t.Helper()
	const h = 1e-6
	grad, ignored := make([]float64, o.Dim()), make([]float64, o.Dim())
	o.Evaluate(w, grad)
	for j := range w {
		at := append([]float64(nil), w...)
		at[j] = w[j] + h
		up := o.Evaluate(at, ignored)
		at[j] = w[j] - h
		down := o.Evaluate(at, ignored)
		if want := (up - down) / (2 * h); math.Abs(grad[j]-want) > 2e-4*(1+math.Abs(want)) {
			t.Fatalf("gradient[%d] = %.9g, central difference %.9g", j, grad[j], want)
		}
	}
}

func TestHingeRiskOptimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		p.ridge = 0.05
		o := p.hinge()
		w, report := Minimize(o, nil, MinimiseSettings{GradientNorm: 1e-8, MaxIterations: 1000})
		grad := make([]float64, o.Dim())
		best := o.Evaluate(w, grad)
		if !report.Converged || floats.Norm(grad, 2) > 1e-8 {
			t.Fatalf("%+v", report)
		}
		if other := o.Evaluate(drawVector(t, o.Dim(), "other"), grad); other < best-1e-9 {
			t.Fatalf("%g is below the minimum %g", other, best)
		}
	})
}
