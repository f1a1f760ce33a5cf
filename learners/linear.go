package learners

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Linear is a linear classifier: scores x·W.
type Linear struct {
	W       *mat.Dense // d×Columns(Classes)
	Classes int        // K ≥ 2
}

// WeightColumns returns the number of weight columns of a linear model: 1 for two classes,
// otherwise one per class.
func WeightColumns(classes int) int {
	if classes == 2 {
		return 1
	}
	return classes
}

// NewLinear copies the row-major weights w (length d·Columns(classes)).
func NewLinear(w []float64, classes int) Linear {
	c := WeightColumns(classes)
	return Linear{W: mat.NewDense(len(w)/c, c, append([]float64(nil), w...)), Classes: classes}
}

// Scores returns x·W, N×Columns(Classes).
func (l Linear) Scores(x *mat.Dense) *mat.Dense {
	var s mat.Dense
	if rows(x) == 0 {
		return &s
	}
	_, d := x.Dims()
	if have, c := l.W.Dims(); have != d || c != WeightColumns(l.Classes) {
		panic(fmt.Sprintf("learners: rows of %d features for weights %d×%d of %d classes", d, have, c, l.Classes))
	}
	// Long products are faster in gonum, so multiply by the transpose.
	w := mat.DenseCopyOf(l.W.T())
	s.Mul(x, w.T())
	return &s
}

// Probabilities returns the softmax of the scores, N×K; for two classes the logistic function of
// the score. They are meaningful for weights that minimise SoftmaxRisk. For HingeRisk only their
// order is.
func (l Linear) Probabilities(x *mat.Dense) *mat.Dense {
	s := l.Scores(x)
	n := rows(s)
	if n == 0 {
		return s
	}
	p := mat.NewDense(n, l.Classes, nil)
	for i := range n {
		row := p.RawRowView(i)
		// class 0 of two classes scores 0
		copy(row[l.Classes-WeightColumns(l.Classes):], s.RawRowView(i))
		top := row[0]
		for _, v := range row {
			top = math.Max(top, v)
		}
		sum := 0.0
		for k, v := range row {
			row[k] = math.Exp(v - top)
			sum += row[k]
		}
		for k := range row {
			row[k] /= sum
		}
	}
	return p
}

// Predict returns the class with the highest score for each row, the lowest in a tie.
func (l Linear) Predict(x *mat.Dense) []int {
	s := l.Scores(x)
	y := make([]int, rows(s))
	for i := range y {
		row := s.RawRowView(i)
		if l.Classes == 2 {
			if row[0] > 0 {
				y[i] = 1
			}
			continue
		}
		y[i] = argmax(row)
	}
	return y
}

func argmax(v []float64) int {
	best := 0
	for k := range v {
		if v[k] > v[best] {
			best = k
		}
	}
	return best
}

func rows(x *mat.Dense) int {
	if x == nil || x.IsEmpty() {
		return 0
	}
	n, _ := x.Dims()
	return n
}
