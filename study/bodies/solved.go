package bodies

import "caucus/study"

// MinSolvedRidge is the smallest allowed ridge λ of a mechanism that adds noise to fitted weights.
// If the fast solver of aggregation.MinimiseVoteRisk stops too early, the slow one takes up to
// about 14/λ steps for mechanism output, and 500/λ for logistic, which divides λ by twice the
// squared norm of a row.
const MinSolvedRidge = 1e-5

// CheckSolvedRidge refuses a ridge so small that the solver could take days.
func CheckSolvedRidge(p study.Plan) error {
	if p.Lambda > 0 && p.Lambda < MinSolvedRidge {
		return study.PlanError("lambda", "%g: the bound of %q rests on solving to a small gradient, which at so small a ridge might take days: give %g or more, or 0 for a public rule", p.Lambda, p.Mechanism, MinSolvedRidge)
	}
	return nil
}
