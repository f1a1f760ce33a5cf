package ratio

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal: see study.Remover. At unit label a set's size is public, and its counts add up
// to that. At unit record a set's counts and embedding are released as one vector: how it
// moves where a set loses a record, and whether its size shows, is proved of replacing alone.
func (Kind) Removal(p study.Plan, _ privacy.Bound) study.Removal {
	if p.Unit == privacy.Label {
		return study.OfLabels()
	}
	return study.Unproved("it is not proved of the sizes of sets and of their embeddings")
}
