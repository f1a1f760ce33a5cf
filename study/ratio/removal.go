package ratio

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal: see study.Remover. At unit label a set's size is public, and its counts sum to it. At unit
// record a set's counts and embedding are one released vector; how a removed record moves it, and
// whether the size shows the removal, is proved for replacement alone.
func (Kind) Removal(p study.Plan, _ privacy.Bound) study.Removal {
	if p.Unit == privacy.Label {
		return study.OfLabels()
	}
	return study.Unproved("it is not proved of the sizes of sets and of their embeddings")
}
