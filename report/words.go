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
	return s + " " + p.Noise.Trust().Against
}

// RemovalWords say what a guarantee's ε counts, and the ε that tools which count one unit added or
// removed would name, or why that is not stated.
func RemovalWords(p study.Plan, costs []study.ReleaseCost) string {
	epsilon, why := kinds.UnderRemoval(p, costs)
	words := fmt.Sprintf("ε = %g means: one %s is exchanged for another. ", p.Epsilon, p.Unit)
	others := fmt.Sprintf("Tools that count one %s added or removed would call this ", p.Unit)
	switch {
	case epsilon == 0:
		return words + fmt.Sprintf("(The ε of tools that count one %s added or removed is not stated: %s.)", p.Unit, why)
	case why != "":
		return words + "(" + others + "the same: " + why + ".)"
	case p.Unit == privacy.Party:
		return words + fmt.Sprintf("(%sε = %.3g.)", others, epsilon)
	}
	// See study.Remover.
	return words + fmt.Sprintf("(%sε = %.3g, for a site that counts all its records. Where a site holds more records than it declared, another record takes the place of a removed one, and ε = %g stays.)", others, epsilon, p.Epsilon)
}
