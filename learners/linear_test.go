package learners

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func TestLinearAgainstItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		n, d := p.x.Dims()
		c := WeightColumns(p.classes)
		w := drawVector(t, d*c, "w")
		l := NewLinear(w, p.classes)
		prob, predicted := l.Probabilities(p.x), l.Predict(p.x)
		for i := range n {
			score := make([]float64, p.classes)
			for k := range c {
				for j := range d {
					score[p.classes-c+k] += p.x.At(i, j) * w[j*c+k]
				}
			}
			sum, best := 0.0, 0
			for k, s := range score {
				sum += math.Exp(s)
				if s > score[best] {
					best = k
				}
			}
			for k, s := range score {
				if want := math.Exp(s) / sum; math.Abs(prob.At(i, k)-want) > 1e-12 {
					t.Fatalf("row %d class %d: probability %g, want %g", i, k, prob.At(i, k), want)
				}
			}
			if gap := score[best] - score[predicted[i]]; gap > 1e-12 {
				t.Fatalf("row %d: class %d, want %d", i, predicted[i], best)
			}
		}
	})
}

func TestLinearTiesAndEmptiness(t *testing.T) {
	x := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	for _, classes := range []int{2, 3} {
		l := NewLinear(make([]float64, 2*WeightColumns(classes)), classes)
		if y := l.Predict(x); y[0] != 0 || y[1] != 0 {
			t.Errorf("%d classes: a tie gives %v, want class 0", classes, y)
		}
		if y := l.Predict(&mat.Dense{}); len(y) != 0 {
			t.Errorf("no rows give %v", y)
		}
		if p := l.Probabilities(nil); rows(p) != 0 {
			t.Errorf("no rows give %d", rows(p))
		}
		if p := NewLinear([]float64{1e4, -1e4, 1e5, 7, 1, 2}[:2*WeightColumns(classes)],
			classes).Probabilities(x); !allFinite(p.RawMatrix().Data) {
			t.Errorf("large scores give %v", mat.Formatted(p))
		}
	}
}
