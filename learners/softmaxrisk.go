package learners

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// SoftmaxRisk is the ridge-penalised multinomial logistic risk of soft targets, whose targets enter
// by moments alone:
//
//	(1/Σv)·Σᵢ vᵢ·log Σₖ exp(xᵢᵀwₖ) − ⟨Mu, W⟩ + (Ridge/2)·‖W‖²
//
// With two classes there is one column w and log Σ becomes log(1 + exp(xᵢᵀw)). If Mu = Moments(X,
// targets, RowWeight) and each row of targets sums to 1, this is the weighted mean cross-entropy
// plus the penalty. Mu may also be noisy, or come from other rows than X (Hamm, Cao & Belkin 2016,
// §4, with the linear part separated).
//
// It is convex if RowWeight ≥ 0 and Ridge ≥ 0, and then Ridge-strongly convex. It is bounded below
// for every Mu if Ridge > 0. The fields may be replaced between evaluations, but the numbers in X
// and RowWeight must not change. Weights that sum to zero drop the first term. It is not for
// concurrent use; a copy shares scratch memory.
type SoftmaxRisk struct {
	X         *mat.Dense // N×d
	Mu        *mat.Dense // d×Columns(Classes)
	RowWeight []float64  // N numbers v ≥ 0; nil means 1 each
	Ridge     float64    // ≥ 0
	Classes   int        // K ≥ 2

	rows *sweep
}

// Dim returns d·Columns(Classes), the length of W in row-major order.
func (s *SoftmaxRisk) Dim() int {
	_, d := s.X.Dims()
	return d * WeightColumns(s.Classes)
}

// Evaluate implements Objective. It allocates on its first call only. Wrong shapes panic.
func (s *SoftmaxRisk) Evaluate(w, grad []float64) float64 {
	s.prepare()
	mu := s.Mu.RawMatrix()
	value := linearAndRidge(mu, s.Ridge, w, grad)
	return value + s.rows.run(s, w, grad)
}

// Precondition implements Preconditioned with P = κ·XᵀVX/Σv + Ridge·I for each class, V the
// diagonal matrix of v. κ = (1/K)(1−1/K) is the curvature at equal scores (at most Böhning's bound,
// Ann. Inst. Statist. Math. 44, 1992).
func (s *SoftmaxRisk) Precondition(g []float64) {
	s.prepare()
	k := float64(s.Classes)
	s.rows.precondition(g, (1-1/k)/k, s.Ridge)
}

func (s *SoftmaxRisk) prepare() {
	c := WeightColumns(s.Classes)
	_, d := s.X.Dims()
	if md, mc := s.Mu.Dims(); s.Classes < 2 || md != d || mc != c {
		panic(fmt.Sprintf("learners: softmax risk of %d classes and %d features needs Mu of %d×%d, not %d×%d",
			s.Classes, d, d, c, md, mc))
	}
	if !s.rows.of(s.X, s.RowWeight, c) {
		s.rows = newSweep(s.X, s.RowWeight, c)
	}
}

func (s *SoftmaxRisk) row(i int, scores []float64) float64 {
	v := 1.0
	if s.RowWeight != nil {
		v = s.RowWeight[i]
	}
	if len(scores) == 1 {
		z := scores[0]
		e := math.Exp(-math.Abs(z))
		p := e / (1 + e)
		if z > 0 {
			p = 1 - p
		}
		scores[0] = v * p
		return v * (math.Max(z, 0) + math.Log1p(e))
	}
	top := scores[0]
	for _, z := range scores[1:] {
		if z > top {
			top = z
		}
	}
	sum := 0.0
	for k, z := range scores {
		e := math.Exp(z - top)
		scores[k] = e
		sum += e
	}
	for k := range scores {
		scores[k] *= v / sum
	}
	return v * (top + math.Log(sum))
}

// linearAndRidge sets grad to −Mu + ridge·w and returns −⟨Mu, w⟩ + (ridge/2)‖w‖².
func linearAndRidge(mu blas64.General, ridge float64, w, grad []float64) float64 {
	value := 0.0
	for j := range mu.Rows {
		for k, m := range mu.Data[j*mu.Stride : j*mu.Stride+mu.Cols] {
			at := j*mu.Cols + k
			grad[at] = ridge*w[at] - m
			value += w[at] * (ridge/2*w[at] - m)
		}
	}
	return value
}
