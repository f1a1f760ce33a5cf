package report

import (
	"fmt"
	"math"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/kinds"
)

func guarantee(p study.Plan, m study.Manifest) string {
	s := fmt.Sprintf("Whoever reads the release can hardly tell whether any one %s was another: the chance of any outcome changes by at most a factor %.3g", p.Unit, math.Exp(p.Epsilon))
	if p.Delta > 0 {
		s += fmt.Sprintf(", but for a chance of %g", p.Delta)
	}
	s += fmt.Sprintf(" (ε = %g, δ = %g).", p.Epsilon, p.Delta)
	if m.Neighbours != "" {
		s += " Compared are " + m.Neighbours + "."
	}
	return s + " " + p.Noise.Trust().GuaranteeAgainst
}

// RemovalText say what replacing one unit costs, and what adding or removing one costs, or why
// that is unknown.
func RemovalText(p study.Plan, costs []study.ReleaseCost) string {
	epsilon, why := kinds.UnderRemoval(p, costs)
	words := fmt.Sprintf("replacing one %s costs ε = %g", p.Unit, p.Epsilon)
	switch {
	case epsilon == 0:
		return words + "; the cost of adding or removing one is not stated: " + why
	case why != "":
		return words + ", and so does adding or removing one"
	case p.Unit == privacy.Party:
		return words + fmt.Sprintf("; adding or removing one costs ε = %.3g", epsilon)
	}
	// At a site with spare records, another record takes the place of a removed record
	// (study.Remover).
	return words + fmt.Sprintf("; adding or removing one costs ε = %.3g, the convention of many tools. A site with more records than it declared uses only as many: if one is removed, another takes its place, which costs ε = %g", epsilon, p.Epsilon)
}
