package ratio

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal: see study.Remover. At unit label a set's size is public, and its counts sum to it. At unit
// record a set's counts and embedding are one released vector. How it moves when a set loses a record,
// and whether the size shows it, is proved for replacing alone.
func (Kind) Removal(p study.Plan, _ privacy.Bound) study.Removal {
	if p.Unit == privacy.Label {
		return study.OfLabels()
	}
	return study.Unproved("it is not proved of the sizes of sets and of their embeddings")
}
