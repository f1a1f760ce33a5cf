package fitting

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/solving"
	"caucus/learners"
)

// OneStep removes the ridge from a two-class fit to noisy sums by one Newton step. It estimates the
// weights of the best classifier on the mapped features, with a known law.
//
// The best classifier W₀ solves E[p(x)x] = E[yx], p(x) = σ(W₀·x). The released moments mu are E[yx]
// plus an error ν of known covariance Σ: privacy noise, and sampling of pool and records
// (calibrator.noise). From any W near W₀, with H the Hessian of the risk at W and + the
// pseudo-inverse,
//
//	W + H⁺(mu − Ê[p(x)x]) = W₀ + H⁺ν + (1 − H⁺H̄)(W − W₀),
//
// H̄ the mean Hessian between W and W₀. The last term is of second order; the ridge's pull on W, of
// first order, is gone. The error has covariance H⁺ΣH⁺, no longer damped by the ridge. H and Σ in
// it are taken at the estimate; at W, which is shrunk, they would make the error too small, by a
// tenth if classes are well separated. W is the fit after calibration, which is less shrunk, so a
// shorter step remains.
type OneStep struct {
	w *mat.VecDense
	// again is the step from w to a second estimate.
	again *mat.VecDense
	cov   *mat.SymDense // d×d
	// seen holds the directions in which the pool varies, d×p, orthonormal.
	seen *mat.Dense
}

const (
	// stepCut is the least relative curvature of a direction that counts as varying. Below it,
	// rounding errors (1e-14 of the largest) would reach the digits that "caucus verify" compares.
	stepCut = 1e-8
	// unseenMost is the largest part of a contrast, by norm, that may lie outside OneStep.seen.
	unseenMost = 1e-3
)

// OneStep removes the fit's ridge. It returns false for more than two classes, and for the zero
// model.
func (cf CrossFit) OneStep() (OneStep, bool) {
	c := cf.equations
	if c.classes != 2 || cf.Lambda == 0 {
		return OneStep{}, false
	}
	model := cf.Model
	d, _ := c.mu.Dims()
	if cf.Calibration != nil {
		model = cf.Calibration.Apply(model, c.x.At(0, d-1))
	}
	seen, w, _ := c.newton(model)
	for j := range seen.RawMatrix().Cols { // undo newton's scaling by 1/√curvature
		column := seen.ColView(j).(*mat.VecDense)
		column.ScaleVec(1/mat.Norm(column, 2), column)
	}
	out := OneStep{w: w, seen: seen, cov: mat.NewSymDense(d, nil)}
	root, again, p := c.newton(learners.Linear{W: mat.NewDense(d, 1, mat.Col(nil, 0, w)),
		Classes: 2})
	out.cov.SymOuterK(1, times(root, times(root.T(), c.noise(p).Factor)))
	again.SubVec(again, w)
	out.again = again
	return out, true
}

// newton returns a step W + H⁺(mu − Ê[p(x)x]) from m, with root·rootᵀ = H⁺ (d×p) and m's
// probabilities.
func (c calibrator) newton(m learners.Linear) (root *mat.Dense, w *mat.VecDense, p *mat.Dense) {
	n, d := c.x.Dims()
	p = m.Probabilities(c.x)
	off, total := mat.NewVecDense(d, mat.Col(nil, 0, c.mu)), 0.0
	for i := range n {
		total += solving.WeightAt(c.weight, i)
	}
	for i := range n {
		off.AddScaledVec(off, -solving.WeightAt(c.weight, i)*p.At(i, 1)/total, c.x.RowView(i))
	}
	root = solving.SpectrumOfMoment(curvatureOf(c.x, c.weight, p)).Whitener(1, 0, stepCut)
	in := mat.NewVecDense(root.RawMatrix().Cols, nil)
	in.MulVec(root.T(), off)
	w = mat.NewVecDense(d, nil)
	w.MulVec(root, in)
	w.AddVec(w, m.W.ColView(0))
	return root, w, p
}

// Contrast estimates ⟨W₀, x − x′⟩: the difference in the second class's log-odds between rows x and
// x′.
type Contrast struct {
	Value, SD float64
	// SecondStepChange is the change of Value by a second step. Unless far below SD, the first left
	// a large error.
	SecondStepChange float64
	// VariesInPool reports whether the pool's rows vary in this direction. A fit says nothing about
	// other directions.
	VariesInPool bool
}

// EstimateContrast estimates the contrast of two rows x and x′ from difference = x − x′, of the
// pool's width d (mapped, with the intercept). SD has the noise alone in it.
func (o OneStep) EstimateContrast(difference []float64) Contrast {
	v := mat.NewVecDense(len(difference), difference)
	var in, back mat.VecDense
	in.MulVec(o.seen.T(), v)
	back.MulVec(o.seen, &in)
	back.SubVec(v, &back)
	norm := mat.Norm(v, 2)
	return Contrast{
		Value: mat.Dot(o.w, v), SD: math.Sqrt(math.Max(0, mat.Inner(v, o.cov, v))), SecondStepChange: mat.Dot(o.again, v),
		VariesInPool: norm > 0 && mat.Norm(&back, 2) <= unseenMost*norm,
	}
}

// InverseCovariance returns the pseudo-inverse of the covariance of rows x under weights (nil:
// equal), d×d.
func InverseCovariance(x *mat.Dense, weight []float64) *mat.Dense {
	n, d := x.Dims()
	mean, total := mat.NewVecDense(d, nil), 0.0
	for i := range n {
		mean.AddScaledVec(mean, solving.WeightAt(weight, i), x.RowView(i))
		total += solving.WeightAt(weight, i)
	}
	mean.ScaleVec(1/total, mean)
	s := solving.SecondMoment(x, weight)
	s.SymRankOne(s, -1, mean)
	w := solving.SpectrumOfMoment(s).Whitener(1, 0, stepCut)
	return times(w, w.T())
}
