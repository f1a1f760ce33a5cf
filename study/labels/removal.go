package labels

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal: see study.Remover. The features of a record leave as they are, so one that is
// gone would show.
func (Kind) Removal(study.Plan, privacy.Bound) study.Removal {
	return study.OfLabels()
}
