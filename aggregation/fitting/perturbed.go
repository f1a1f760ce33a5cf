package fitting

import (
	"cmp"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/aggregation/solving"
	"caucus/learners"
)

// perturbed is a problem in which private data enter only through the moment matrix mu, released
// with noise of known law:
//
//	minimise over W:  G(W) − ⟨mu, W⟩ + (λ/2)‖W‖²,   G public and convex.
//
// Votes, label-by-feature sums and feature sums all have this form. Everything here is
// post-processing of mu, so λ can be chosen any number of times.
type perturbed struct {
	// risk is G(W) − ⟨mu, W⟩ + (ridge/2)‖W‖², W row-major d×C.
	risk interface {
		learners.Objective
		set(mu *mat.Dense, ridge float64)
	}
	mu    *mat.Dense // d×C
	noise Noise
	// curvature, if not nil, returns the Hessian of G at W (C = 1). It replaces fresh draws, to
	// first order.
	curvature func(w *mat.Dense) *mat.SymDense
	// score, if not nil, replaces the estimate of the risk. A correction of NaN ends the search for
	// λ.
	score func(w *mat.Dense, lambda float64) (risk, correction float64)
	// ceiling is G(0). The search for λ ends at a fit whose correction for noise exceeds it.
	ceiling float64
	// least is a lower bound on the risk without noise. Estimates below it are invalid.
	least float64
}

// The search for λ goes down from 10 in half-decades. Rows have norm at most 1, so at λ = 10 a fit
// is nearly constant, and no pool that fits in memory needs a ridge below 1e-6.
const (
	lambdaTop      = 10.0
	lambdaStep     = 0.31622776601683794 // 10^(−1/2)
	lambdaSteps    = 15
	lambdaDraws    = 8    // fresh draws of the noise for the correction
	searchGradient = 1e-5 // gradient norm while searching
	finalGradient  = 1e-8 // gradient norm of the final fit
	fitIterations  = 500  // public bound on every solve
)

// solve minimises at ridge λ and moment matrix mu, from a starting point (nil: zero).
func (p perturbed) solve(mu *mat.Dense, lambda, gradient float64, start *mat.Dense) *mat.Dense {
	d, c := mu.Dims()
	p.risk.set(mu, lambda)
	from := make([]float64, d*c)
	if start != nil {
		copy(from, start.RawMatrix().Data)
	}
	w, _ := learners.Minimize(p.risk, from,
		learners.MinimiseSettings{GradientNorm: gradient, MaxIterations: fitIterations})
	return mat.NewDense(d, c, w)
}

func (p perturbed) excess(w *mat.Dense) float64 {
	p.risk.set(p.mu, 0)
	return p.risk.Evaluate(w.RawMatrix().Data, make([]float64, p.risk.Dim()))
}

// fit solves at the given λ. λ = 0 asks for the λ with the least estimate of the risk without
// noise: the noisy risk at the fit plus the mean over fresh draws n of ⟨n, W(mu+n) − W(mu)⟩. (The
// noise ν in mu lowers the noisy risk by ⟨ν, W(mu)⟩, whose expectation the fresh draws estimate.)
// If the pool barely determines the fit, few draws dominate the mean, so its standard error is
// added: otherwise a λ with lucky draws would win. If no λ beats the zero model (compared without
// that error), fit returns the zero model and λ = 0. The search ends at the first λ with a fit that
// accept rejects; nil rejects none.
func (p perturbed) fit(lambda float64, accept func(*mat.Dense) bool, rng *rand.Rand) (w *mat.Dense,
	chosen float64, path []solving.LambdaPoint) {
	d, c := p.mu.Dims()
	if lambda > 0 {
		return p.solve(p.mu, lambda, finalGradient, nil), lambda, nil
	}
	draws, noisy, warm := []*mat.Dense{}, []*mat.Dense{}, []*mat.Dense{}
	for range lambdaDraws {
		if p.curvature != nil {
			break
		}
		n := p.noise.Draw(c, rng)
		m := mat.NewDense(d, c, nil)
		m.Add(p.mu, n)
		draws, noisy, warm = append(draws, n), append(noisy, m), append(warm, nil)
	}
	worth := make([]float64, len(draws))
	best, bestW := 0.0, mat.NewDense(d, c, nil)
	first := solving.LambdaPoint{Risk: p.excess(bestW)}
	if p.score != nil {
		first.Risk, first.Optimism = p.score(bestW, math.Inf(1))
	}
	zero, bestScore := first.Risk+first.Optimism, math.Inf(1)
	path = append(path, first)
	var at *mat.Dense
	for step, l := 0, lambdaTop; step < lambdaSteps; step, l = step+1, l*lambdaStep {
		at = p.solve(p.mu, l, searchGradient, at)
		if accept != nil && !accept(at) {
			break
		}
		correction, doubt := 0.0, 0.0
		if p.curvature != nil && p.score == nil {
			correction = p.response(at, l)
		}
		for i, n := range draws {
			warm[i] = p.solve(noisy[i], l, searchGradient, cmp.Or(warm[i], at))
			worth[i] = solving.FrobeniusProduct(n, warm[i]) - solving.FrobeniusProduct(n, at)
		}
		if len(draws) > 0 {
			correction, doubt = stat.MeanStdDev(worth, nil)
			doubt = stat.StdErr(doubt, lambdaDraws)
		}
		point := solving.LambdaPoint{Lambda: l, Risk: p.excess(at), Optimism: correction,
			OptimismSE: doubt}
		if p.score != nil {
			point.Risk, point.Optimism = p.score(at, l)
			correction = point.Optimism
		}
		if math.IsNaN(correction) {
			break // the score is not valid for smaller λ
		}
		path = append(path, point)
		if correction > p.ceiling {
			break // the correction only grows as λ falls
		}
		if s := point.Risk + correction; s+doubt < bestScore && s < zero && s > p.least {
			best, bestScore, bestW = l, s+doubt, at
		}
	}
	if best == 0 {
		return bestW, 0, path
	}
	return p.solve(p.mu, best, finalGradient, bestW), best, path
}

// response returns E⟨n, W(mu+n) − W(mu)⟩ to first order: tr((curvature+λ)⁻¹C), C the noise's
// covariance.
func (p perturbed) response(w *mat.Dense, lambda float64) float64 {
	return solving.NewRidgeCholesky(p.curvature(w), lambda).InverseTrace(p.noise.Factor)
}
