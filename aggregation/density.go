package aggregation

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/learners"
)

// DensityRatio is the model of Ji & Elkan 2013 (Machine Learning 93): a balanced logistic
// regression that separates private rows D from pool rows E,
//
//	β = argmin −(1/|E|) Σ_E log(1−p(x)) − (1/|D|) Σ_D log p(x) + (λ/2)‖β‖²,
//
// p(x) = σ(⟨β,(x,1)⟩), x the entries of a FeatureDesign. e^{⟨β,x⟩} estimates the ratio of D's
// density to E's at x, up to a factor that cancels in self-normalised weights.
//
// Bound. The objective is λ-strongly convex, and only its second sum depends on a record: a mean of
// n = |D| terms with gradient −(1−p)(x,1). So replacing one record moves n·β by at most S/λ, where
// S bounds ‖c·(x,1) − c′·(x′,1)‖₂ over c, c′ in [0,1]. A group of the design times c is still
// non-negative with sum at most 1, so it adds 2 (or 1, if it has one cell) to S²; the intercept
// adds |c−c′|² ≤ 1. Rows of a map have norm at most R, so c·x − c′·x′ is at most 2R. (The paper's S
// = √d, for d features in [0,1], is larger if there are one-hot blocks.)
type DensityRatio struct {
	Design *FeatureDesign
	Lambda float64 // λ > 0
	Pool   *mat.Dense
}

// solverBudget is n times the gradient norm at which Fit stops.
const solverBudget = 1e-3

// Sensitivity bounds how far Fit's n·β moves in L2 when one record is replaced: S/λ, plus
// solverBudget·scale/λ for the error of each of the two solutions (see Fit).
func (dr DensityRatio) Sensitivity() float64 {
	s := math.Sqrt(float64(dr.Design.L2sq)/(SumScale*SumScale) + 1)
	return (s + 2*solverBudget*dr.scale()) / dr.Lambda * (1 + 1e-9)
}

func (dr DensityRatio) scale() float64 { return math.Sqrt(dr.Design.squaredNorm() + 1) }

// Coefficients returns the number of coefficients: the design's cells and the intercept.
func (dr DensityRatio) Coefficients() int { return dr.Design.Cells() + 1 }

// Fit returns n·β for n private records x, encoded for the design; zeros if there are none.
func (dr DensityRatio) Fit(x *mat.Dense) []float64 {
	n, _ := x.Dims()
	out := make([]float64, dr.Coefficients())
	if n == 0 {
		return out
	}
	m, _ := dr.Pool.Dims()
	c, d := dr.scale(), dr.Design.Cells()
	rows := mat.NewDense(m+n, d+1, nil)
	weight := make([]float64, m+n)
	private := mat.NewDense(m+n, 1, nil)
	for i := range m + n {
		row := rows.RawRowView(i)
		if i < m {
			weight[i] = 1 / float64(m)
			dr.Design.safe(row[:d], dr.Pool.RawRowView(i))
		} else {
			weight[i] = 1 / float64(n)
			private.Set(i, 0, 1)
			dr.Design.safe(row[:d], x.RawRowView(i-m))
		}
		row[d] = 1
		for j := range row {
			row[j] /= c
		}
	}
	// Rows are divided by c. MinimiseVoteRisk divides by the weights' sum, 2, and so minimises half
	// the objective over w = c·β, with ridge λ/(2c²), until half the gradient norm in w is
	// solverBudget/n. Then w is within (solverBudget/n)·c²/λ of the exact solution, and n·β within
	// solverBudget·c/λ.
	mu := learners.TargetMoments(rows, private, weight)
	w, err := MinimiseVoteRisk(rows, weight, 2, mu, dr.Lambda/(2*c*c), solverBudget/(2*float64(n)))
	if err != nil {
		// Impossible in exact arithmetic (see MinimiseVoteRisk). Return zeros, so that a failure
		// reveals nothing.
		return out
	}
	for j := range out {
		out[j] = float64(n) * w.At(j, 0) / c
	}
	return out
}
