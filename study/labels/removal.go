package labels

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal implements study.Remover. Features leave in clear, so a removed record would show.
func (Kind) Removal(study.Plan, privacy.Bound) study.Removal { return study.OfLabels() }
