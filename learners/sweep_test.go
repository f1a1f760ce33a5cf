package learners

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func TestRisksAllocateOnce(t *testing.T) {
	x, y := rowsLikePCA(300, 5, 3, rand.New(rand.NewPCG(1, 2)))
	p := problem{x: x, targets: OneHot(y, 3), classes: 3, ridge: 0.1}
	for name, o := range map[string]Objective{"softmax": p.softmax(), "hinge": p.hinge()} {
		w, grad := make([]float64, o.Dim()), make([]float64, o.Dim())
		o.Evaluate(w, grad)
		if n := testing.AllocsPerRun(10, func() { o.Evaluate(w, grad) }); n != 0 {
			t.Errorf("%s: %g allocations an evaluation", name, n)
		}
	}
}

// The risk stays finite if some rows, or all rows, have weight zero.
func TestWeightsOfZero(t *testing.T) {
	x, y := rowsLikePCA(40, 3, 2, rand.New(rand.NewPCG(3, 4)))
	targets := OneHot(y, 2)
	half := make([]float64, 40)
	for i := range 20 {
		half[i] = 1
	}
	short := mat.DenseCopyOf(x.Slice(0, 20, 0, 3))
	shortTargets := mat.DenseCopyOf(targets.Slice(0, 20, 0, 2))
	for name, build := range map[string]func(x, t *mat.Dense, v []float64) Objective{
		"softmax": func(x, t *mat.Dense, v []float64) Objective {
			return &SoftmaxRisk{X: x, Mu: TargetMoments(x, t, v), RowWeight: v, Ridge: 0.01,
				Classes: 2}
		},
		"hinge": func(x, t *mat.Dense, v []float64) Objective {
			return &HingeRisk{X: x, Targets: t, RowWeight: v, Ridge: 0.01, Classes: 2}
		},
	} {
		a, _ := Minimize(build(x, targets, half), nil, MinimiseSettings{GradientNorm: 1e-9})
		b, _ := Minimize(build(short, shortTargets, nil), nil, MinimiseSettings{GradientNorm: 1e-9})
		if !floats.EqualApprox(a, b, 1e-5) {
			t.Errorf("%s: weights 0 give %v, leaving the rows out %v", name, a, b)
		}
		w, report := Minimize(build(x, targets, append([]float64(nil), zeros[:40]...)), nil,
			MinimiseSettings{})
		if !report.Converged || floats.Norm(w, 2) > 1e-5 {
			t.Errorf("%s: no weight at all: w = %v, %+v", name, w, report)
		}
	}
}

var zeros [64]float64

// A dense matrix that is a slice of a larger one has another stride.
func TestRisksOnAWindow(t *testing.T) {
	x, y := rowsLikePCA(200, 6, 3, rand.New(rand.NewPCG(5, 6)))
	window := x.Slice(10, 190, 1, 4).(*mat.Dense)
	whole := mat.DenseCopyOf(window)
	a := problem{x: window, targets: OneHot(y[10:190], 3), classes: 3, ridge: 0.01}
	b := a
	b.x = whole
	for name, pair := range map[string][2]Objective{
		"softmax": {a.softmax(), b.softmax()}, "hinge": {a.hinge(), b.hinge()},
	} {
		wa, _ := Minimize(pair[0], nil, MinimiseSettings{})
		wb, _ := Minimize(pair[1], nil, MinimiseSettings{})
		if !floats.Equal(wa, wb) {
			t.Errorf("%s: a window gives %v, its copy %v", name, wa, wb)
		}
	}
}

// Precondition inverts the multiplication by P = κ·Σv·x·xᵀ/Σv + ridge·I, for each class separately.
func TestPreconditionInvertsItsMatrix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		p.ridge = 0.1
		k := float64(p.classes)
		n, d := p.x.Dims()
		for curve, o := range map[float64]Preconditioned{(1 - 1/k) / k: p.softmax(), 1: p.hinge()} {
			shape := mat.NewDense(d, d, nil)
			total := weightSum(p.weight, n)
			for i := range n {
				v := curve / total
				if p.weight != nil {
					v *= p.weight[i]
				}
				row := p.x.RowView(i)
				var outer mat.Dense
				outer.Outer(v, row, row)
				shape.Add(shape, &outer)
			}
			for j := range d {
				shape.Set(j, j, shape.At(j, j)+p.ridge)
			}
			g := drawVector(t, o.Dim(), "g")
			got := append([]float64(nil), g...)
			o.(ridgeRisk).setRidge(3) // another ridge must leave no trace
			o.Precondition(append([]float64(nil), g...))
			o.(ridgeRisk).setRidge(p.ridge)
			o.Precondition(got)
			var back mat.Dense
			back.Mul(shape, mat.NewDense(d, o.Dim()/d, got))
			if gap := floats.Distance(back.RawMatrix().Data, g,
				math.Inf(1)); gap > 1e-4*(1+floats.Norm(g, math.Inf(1))) {
				t.Fatalf("P·P⁻¹g is %g away from g", gap)
			}
		}
	})
}

func TestRisksNoticeReplacements(t *testing.T) {
	x, y := rowsLikePCA(60, 4, 2, rand.New(rand.NewPCG(9, 9)))
	targets := OneHot(y, 2)
	weight := make([]float64, 60)
	for i := range weight {
		weight[i] = float64(1 + i%3)
	}
	r := &SoftmaxRisk{X: x, Mu: TargetMoments(x, targets, nil), Ridge: 0.5, Classes: 2}
	Minimize(r, nil, MinimiseSettings{})
	r.Mu, r.RowWeight, r.Ridge = TargetMoments(x, targets, weight), weight, 0.01
	got, _ := Minimize(r, nil, MinimiseSettings{GradientNorm: 1e-9})
	fresh := &SoftmaxRisk{X: x, Mu: r.Mu, RowWeight: weight, Ridge: 0.01, Classes: 2}
	want, _ := Minimize(fresh, nil, MinimiseSettings{GradientNorm: 1e-9})
	if !floats.Equal(got, want) {
		t.Errorf("after replacing %v, from new %v", got, want)
	}
}
