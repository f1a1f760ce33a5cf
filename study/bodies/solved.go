package bodies

import "caucus/study"

// LeastSolved is the smallest allowed ridge λ of a mechanism that adds noise to fitted weights. If
// the fast solver of aggregation.MinimiseVoteRisk stops too early, the slow one takes up to about
// 14/λ steps for mechanism output, and 500/λ for logistic, which divides λ by twice the squared
// norm of a row.
const LeastSolved = 1e-5

// CheckSolved refuses a ridge so small that the solver could take days.
func CheckSolved(p study.Plan) error {
	if p.Lambda > 0 && p.Lambda < LeastSolved {
		return study.PlanError("lambda", "%g: the bound of %q rests on solving to a small gradient, which at so small a ridge might take days: give %g or more, or 0 for a public rule", p.Lambda, p.Mechanism, LeastSolved)
	}
	return nil
}
