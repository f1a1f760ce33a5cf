package labels

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal implements study.Remover. It has no bound, because features leave in clear and show a
// removed record.
func (Kind) Removal(study.Plan, privacy.Bound) study.Removal { return study.RemovalOfLabels() }
