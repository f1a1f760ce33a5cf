package ratio

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal implements study.Remover. At unit label a set's size is public, and its counts sum to that
// size. At unit record a set's counts and embedding are one released vector. What removing a record
// does to that vector, and whether the size would show it, is proved only for replacement.
func (Kind) Removal(p study.Plan, _ privacy.Bound) study.Removal {
	if p.Unit == privacy.Label {
		return study.OfLabels()
	}
	return study.Unproved("it is not proved of the sizes of sets and of their embeddings")
}
