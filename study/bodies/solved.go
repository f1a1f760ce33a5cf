package bodies

import "caucus/study"

// LeastSolved is the smallest allowed ridge λ of a mechanism that releases a minimiser. If L-BFGS
// stops too early, the gradient descent of aggregation.SolveSurely takes up to about 14/λ steps for
// output and 500/λ for logistic, which solves at λ/2 over the squared norm of a row.
const LeastSolved = 1e-5

// CheckSolved refuses a ridge so small that the solver could take days.
func CheckSolved(p study.Plan) error {
	if p.Lambda > 0 && p.Lambda < LeastSolved {
		return study.PlanError("lambda", "%g: the bound of %q rests on solving to a small gradient, which at so small a ridge might take days: give %g or more, or 0 for a public rule", p.Lambda, p.Mechanism, LeastSolved)
	}
	return nil
}
