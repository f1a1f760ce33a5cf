package aggregation

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/solving"
	"caucus/learners"
)

// BallotReach bounds the number of ballots times the distance by which one ballot moves the
// moments. For |δᵢ| ≤ 1, ‖(1/Σv)Σ vᵢδᵢxᵢ‖ is at most the weighted mean of ‖xᵢ‖, and at most
// √λ_max((1/Σv)Σ vᵢxᵢxᵢᵀ) by Cauchy-Schwarz.
func BallotReach(x *mat.Dense, weight []float64) float64 {
	n, _ := x.Dims()
	mean, total := 0.0, 0.0
	for i := range n {
		v := solving.WeightAt(weight, i)
		mean += v * mat.Norm(x.RowView(i), 2)
		total += v
	}
	values := solving.SpectrumOf(x, weight).Values
	return math.Min(mean/total, math.Sqrt(values[len(values)-1])) * (1 + 1e-9)
}

// maxIterations bounds the steps of L-BFGS in MinimiseVoteRisk.
const maxIterations = 500

// MinimiseVoteRisk minimises the vote risk at moments mu and ridge λ > 0 to a gradient norm of at
// most tolerance, so the answer is within tolerance/λ of the exact minimiser. L-BFGS nearly always
// suffices. If it stops short, gradient descent with step 1/L follows: each step shrinks the
// distance by (1−λ/L), so it needs at most (L/λ)·log(L·D/tolerance) steps from distance D. This
// bound is public: mu is a mean of rows of norm at most 1, times vote shares of norm at most 1.
func MinimiseVoteRisk(x *mat.Dense, weight []float64, classes int, mu *mat.Dense,
	lambda, tolerance float64) (*mat.Dense, error) {
	d, c := mu.Dims()
	risk := &learners.SoftmaxRisk{X: x, Mu: mu, RowWeight: weight, Ridge: lambda, Classes: classes}
	w, report := learners.Minimize(risk, nil,
		learners.MinimiseSettings{GradientNorm: tolerance, MaxIterations: maxIterations})
	if report.Converged {
		return mat.NewDense(d, c, w), nil
	}
	// The rows have norm at most 1, so the Hessian is at most 1/2 + λ, and the minimiser's norm is
	// at most ‖gradient at 0‖/λ ≤ (1+‖mu‖)/λ.
	smooth := 0.5 + lambda
	distance := 2 / lambda
	steps := int(math.Ceil(smooth / lambda * math.Log(math.Max(2, smooth*distance/tolerance))))
	clear(w)
	grad := make([]float64, d*c)
	for range steps {
		risk.Evaluate(w, grad)
		if floats.Norm(grad, 2) <= tolerance {
			return mat.NewDense(d, c, w), nil
		}
		floats.AddScaled(w, -1/smooth, grad)
	}
	return nil, fmt.Errorf("solve vote risk: the gradient is above %g after %d steps; give a larger lambda than %g", tolerance, steps, lambda)
}
