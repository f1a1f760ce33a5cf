package learners

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// problem is a small random risk: rows, soft targets that sum to 1 in a row, and weights, sometimes
// nil.
type problem struct {
	x, targets *mat.Dense
	weight     []float64
	classes    int
	ridge      float64
}

func drawProblem(t *rapid.T) problem {
	n := rapid.IntRange(1, 300).Draw(t, "n") // more than two blocks of rows
	d := rapid.IntRange(1, 4).Draw(t, "d")
	k := rapid.IntRange(2, 4).Draw(t, "classes")
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	p := problem{x: mat.NewDense(n, d, nil), targets: mat.NewDense(n, k, nil), classes: k,
		ridge: rapid.SampledFrom([]float64{0, 1e-3, 0.5}).Draw(t, "ridge")}
	for i := range n {
		for j := range d {
			p.x.Set(i, j, rng.NormFloat64())
		}
		row := p.targets.RawRowView(i)
		for c := range row {
			row[c] = rng.ExpFloat64()
		}
		floats.Scale(1/floats.Sum(row), row)
	}
	if rapid.Bool().Draw(t, "weighted") {
		p.weight = make([]float64, n)
		for i := range p.weight {
			p.weight[i] = rng.ExpFloat64()
		}
	}
	return p
}

func (p problem) softmax() *SoftmaxRisk {
	return &SoftmaxRisk{X: p.x, Mu: TargetMoments(p.x, p.targets, p.weight), RowWeight: p.weight,
		Ridge: p.ridge, Classes: p.classes}
}

// dumbSoftmax computes the weighted mean cross-entropy of soft targets plus the penalty, from the
// definition.
func (p problem) dumbSoftmax(w []float64) float64 {
	n, _ := p.x.Dims()
	prob := NewLinear(w, p.classes).Probabilities(p.x)
	value, total := 0.0, 0.0
	for i := range n {
		v := 1.0
		if p.weight != nil {
			v = p.weight[i]
		}
		total += v
		for k := range p.classes {
			value -= v * p.targets.At(i, k) * math.Log(prob.At(i, k))
		}
	}
	return value/total + p.ridge/2*floats.Dot(w, w)
}

func TestSoftmaxRiskIsTheCrossEntropy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		o := p.softmax()
		w := drawVector(t, o.Dim(), "w")
		got, want := o.Evaluate(w, make([]float64, o.Dim())), p.dumbSoftmax(w)
		if math.Abs(got-want) > 1e-10*(1+math.Abs(want)) {
			t.Fatalf("moment form %.12g, soft-target form %.12g", got, want)
		}
		checkGradient(t, o, w)
		checkConvex(t, o, w, drawVector(t, o.Dim(), "other"),
			rapid.Float64Range(0, 1).Draw(t, "share"))
	})
}

// With noise on Mu the risk stays convex and its ridge keeps it bounded.
func TestSoftmaxRiskWithNoisyMoments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		p.ridge = 0.05
		o := p.softmax()
		noise := drawVector(t, o.Dim(), "noise")
		raw := o.Mu.RawMatrix()
		floats.Add(raw.Data, noise)
		checkGradient(t, o, drawVector(t, o.Dim(), "w"))
		w, report := Minimize(o, nil, MinimiseSettings{GradientNorm: 1e-8, MaxIterations: 1000})
		if !report.Converged {
			t.Fatalf("%+v", report)
		}
		grad := make([]float64, o.Dim())
		best := o.Evaluate(w, grad)
		if floats.Norm(grad, 2) > 1e-8 {
			t.Fatalf("gradient at the optimum %g", floats.Norm(grad, 2))
		}
		if other := o.Evaluate(drawVector(t, o.Dim(), "other"), grad); other < best-1e-9 {
			t.Fatalf("%g is below the minimum %g", other, best)
		}
	})
}

func TestSoftmaxRiskIsStable(t *testing.T) {
	x := mat.NewDense(2, 1, []float64{1, -1})
	for _, classes := range []int{2, 3} {
		o := &SoftmaxRisk{X: x, Mu: TargetMoments(x, OneHot([]int{1, 0}, classes), nil),
			Classes: classes}
		grad := make([]float64, o.Dim())
		w := make([]float64, o.Dim())
		for _, size := range []float64{1e3, -1e3, 1e8} {
			w[o.Dim()-1] = size
			if v := o.Evaluate(w, grad); !finite(v) || !allFinite(grad) {
				t.Errorf("%d classes, w = %v: value %g, gradient %v", classes, w, v, grad)
			}
		}
	}
}

func BenchmarkSoftmaxRisk(b *testing.B) {
	for _, c := range []struct {
		name          string
		n, d, classes int
	}{{"party/100x41x2", 100, 41, 2}, {"pool/8140x41x2", 8140, 41, 2},
		{"pool/15000x41x10", 15000, 41, 10}} {
		x, y := rowsLikePCA(c.n, c.d, c.classes, rand.New(rand.NewPCG(1, 2)))
		o := &SoftmaxRisk{X: x, Mu: TargetMoments(x, OneHot(y, c.classes), nil), Ridge: 1e-4,
			Classes: c.classes}
		w, grad := make([]float64, o.Dim()), make([]float64, o.Dim())
		b.Run("evaluate/"+c.name, func(b *testing.B) {
			for b.Loop() {
				o.Evaluate(w, grad)
			}
		})
		b.Run("minimize/"+c.name, func(b *testing.B) {
			for b.Loop() {
				if _, report := Minimize(o, nil,
					MinimiseSettings{GradientNorm: 1e-6}); !report.Converged {
					b.Fatalf("%+v", report)
				}
			}
		})
	}
}
