package aggregation

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/solving"
	"caucus/learners"
)

// TallyWeights returns the public integer noise weights of the mechanism "tally": row i's counts
// get variance Variance/weightᵢ. With noise of variance σ²/qᵢ on row i the covariance of mu is
// Σ(vᵢ/Σv)²(σ²/qᵢ)xᵢxᵢᵀ. Its trace in the metric H⁻¹ of the fit (the expected excess risk) is
// smallest, at fixed Σqᵢ, for qᵢ ∝ vᵢ‖xᵢ‖_{H⁻¹}. H is taken at the zero model with ridge
// TallyRidge. Weights are at least a tenth of the mean, so that no row's noise is unbounded.
func TallyWeights(x *mat.Dense, weight []float64, classes int) []int64 {
	const unit = 1024 // mean weight: a resolution of 0.1 %
	n, _ := x.Dims()
	// curvature of the logistic risk at the zero model, where H is S/4 + TallyRidge·I
	const curvature = 0.25
	q := solving.NewRidgeCholesky(solving.SecondMoment(x, weight), TallyRidge/curvature).Norms(x)
	total := 0.0
	for i := range q {
		if weight != nil {
			q[i] *= weight[i]
		}
		total += q[i]
	}
	out := make([]int64, n*learners.WeightColumns(classes))
	for i := range q {
		w := int64(math.Round(unit * math.Max(q[i]*float64(n)/total, 0.1)))
		for c := range learners.WeightColumns(classes) {
			out[i*learners.WeightColumns(classes)+c] = w
		}
	}
	return out
}

// TallyRidge is the ridge in TallyWeights, typical of the λ that FitVotes chooses at useful
// budgets. It moves noise between rows and does not affect the guarantee.
const TallyRidge = 1e-3

// SharesOf turns released counts (row-major rows × learners.WeightColumns(classes)) into vote
// shares of the same shape. With more than two classes rows are centred to sum to 1. Shares are not
// clipped, because the risks are linear in them and clipping would add bias.
func SharesOf(counts []float64, rows, classes int, ballots float64) *mat.Dense {
	c := learners.WeightColumns(classes)
	s := mat.NewDense(rows, c, nil)
	raw := s.RawMatrix().Data
	for i, v := range counts {
		raw[i] = v / ballots
	}
	if c > 1 {
		for i := range rows {
			solving.ShiftToTotal(s.RawRowView(i), 1)
		}
	}
	return s
}
