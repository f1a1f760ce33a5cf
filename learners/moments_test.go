package learners

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func TestMomentsAgainstTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		n, d := p.x.Dims()
		mu := TargetMoments(p.x, p.targets, p.weight)
		c := WeightColumns(p.classes)
		for j := range d {
			for k := range c {
				sum, total := 0.0, 0.0
				for i := range n {
					v := 1.0
					if p.weight != nil {
						v = p.weight[i]
					}
					total += v
					sum += v * p.x.At(i, j) * p.targets.At(i, p.classes-c+k)
				}
				if math.Abs(mu.At(j, k)-sum/total) > 1e-12 {
					t.Fatalf("Mu[%d,%d] = %g, want %g", j, k, mu.At(j, k), sum/total)
				}
			}
		}
	})
}

func TestMomentsOfNoWeight(t *testing.T) {
	mu := TargetMoments(mat.NewDense(2, 1, []float64{1, 2}), OneHot([]int{0, 1}, 3),
		[]float64{0, 0})
	if r, c := mu.Dims(); r != 1 || c != 3 || mat.Norm(mu, 1) != 0 {
		t.Errorf("Mu = %v, want zeros 1×3", mat.Formatted(mu))
	}
}

func TestOneHot(t *testing.T) {
	got := OneHot([]int{1, -1, 0, 5}, 2)
	want := mat.NewDense(4, 2, []float64{0, 1, 0, 0, 1, 0, 0, 0})
	if !mat.Equal(got, want) {
		t.Errorf("got %v", mat.Formatted(got))
	}
	if rows(OneHot(nil, 3)) != 0 {
		t.Error("no labels give rows")
	}
}
