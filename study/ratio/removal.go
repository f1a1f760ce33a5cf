package ratio

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal implements study.Remover. It has no bound. At unit label, records are not removed. At
// unit record, the bound on a set's counts and embedding is proved only for replacing a record.
func (Kind) Removal(p study.Plan, _ privacy.Bound) study.Removal {
	if p.Unit == privacy.Label {
		return study.RemovalOfLabels()
	}
	return study.RemovalUnproved("it is not proved for the sizes of sets and for their embeddings")
}
