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

// RemovalWords state the guarantee under add/remove, the relation of other tools, or why it is not
// stated.
func RemovalWords(p study.Plan, costs []study.ReleaseCost) string {
	epsilon, why := kinds.UnderRemoval(p, costs)
	words := fmt.Sprintf("it is for replacing a %s; by add-or-remove, as many tools state theirs, ", p.Unit)
	switch {
	case epsilon == 0:
		return words + "it is not stated: " + why
	case why != "":
		return words + "it is the same: " + why
	}
	words += fmt.Sprintf("the same noise is ε = %.3g", epsilon)
	if p.Unit == privacy.Party {
		return words
	}
	// See study.Remover.
	return words + fmt.Sprintf(" for a site that counts all its records; one that holds more than it declared puts another in the place of one that is gone: ε = %g", p.Epsilon)
}
