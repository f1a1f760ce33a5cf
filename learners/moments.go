package learners

import (
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TargetMoments returns Mu, d×Columns(K): (1/Σv)·Σᵢ vᵢ·xᵢ·targetsᵢ for the soft targets, N×K (only
// the column of class 1 if K = 2). Targets enter SoftmaxRisk only through Mu. nil weights mean vᵢ =
// 1; weights that sum to zero give zeros.
func TargetMoments(x, targets *mat.Dense, weight []float64) *mat.Dense {
	n, d := x.Dims()
	tn, k := targets.Dims()
	if tn != n || weight != nil && len(weight) != n {
		panic(fmt.Sprintf("learners: moments of %d rows with %d targets and %d weights", n, tn, len(weight)))
	}
	c := WeightColumns(k)
	mu := mat.NewDense(d, c, nil)
	total := weightSum(weight, n)
	if total == 0 {
		return mu
	}
	for i := range n {
		v := 1.0
		if weight != nil {
			v = weight[i]
		}
		target := targets.RawRowView(i)[k-c:]
		for j, xij := range x.RawRowView(i) {
			if xij != 0 {
				floats.AddScaled(mu.RawRowView(j), v*xij, target)
			}
		}
	}
	mu.Scale(1/total, mu)
	return mu
}

func weightSum(weight []float64, n int) float64 {
	if weight == nil {
		return float64(n)
	}
	return floats.Sum(weight)
}

// OneHot returns the N×classes targets of labels: a 1 at each label, a row of zeros for a label
// outside 0..classes-1. Without labels it returns an empty matrix.
func OneHot(y []int, classes int) *mat.Dense {
	if len(y) == 0 {
		return &mat.Dense{}
	}
	t := mat.NewDense(len(y), classes, nil)
	for i, k := range y {
		if 0 <= k && k < classes {
			t.Set(i, k, 1)
		}
	}
	return t
}
