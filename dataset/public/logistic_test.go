package public

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// fitLogistic is a plain two-class logistic regression by Nesterov's accelerated gradient, to
// measure the quality of features. ‖row‖ ≤ 1, so the risk is ¼-smooth.
func fitLogistic(x *mat.Dense, y []int, steps int) []float64 {
	n, d := x.Dims()
	w, before, at := make([]float64, d), make([]float64, d), make([]float64, d)
	z, g := mat.NewVecDense(n, nil), mat.NewVecDense(d, nil)
	for k := range steps {
		for j := range at {
			at[j] = w[j] + float64(k)/float64(k+3)*(w[j]-before[j])
		}
		z.MulVec(x, mat.NewVecDense(d, at))
		for i := range n {
			z.SetVec(i, 1/(1+math.Exp(-z.AtVec(i)))-float64(y[i]))
		}
		g.MulVec(x.T(), z)
		copy(before, w)
		for j := range w {
			w[j] = at[j] - 4*g.AtVec(j)/float64(n)
		}
	}
	return w
}

// accuracy returns the share of rows for which the sign of xᵀw is right.
func accuracy(x *mat.Dense, y []int, w []float64) float64 {
	n, d := x.Dims()
	z := mat.NewVecDense(n, nil)
	z.MulVec(x, mat.NewVecDense(d, w))
	right := 0
	for i := range n {
		if (z.AtVec(i) > 0) == (y[i] == 1) {
			right++
		}
	}
	return float64(right) / float64(n)
}
