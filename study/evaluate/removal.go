package evaluate

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal: see study.Remover.
//
// Proof note.
//   - Neighbours: a record counts, or an empty record takes its place; a party's records count, or
//     nothing. Public: plan, the number of parties, and at unit record each site's number of records.
//   - Lemma, unit record: the empty record counts as one without label in each of the H histograms, also
//     under a condition. Removal is then a replacement: a record with a label moves 2 in each histogram,
//     the whole bound.
//   - Lemma, unit party: each histogram of at most c records has non-negative entries that add up to at
//     most c: cH in L1, c²H in L2², half the replacement bound.
func (Kind) Removal(p study.Plan, b privacy.Bound) study.Removal {
	if p.Unit != privacy.Party {
		return study.Unchanged(b)
	}
	b.L1, b.L2sq = (b.L1+1)/2, (b.L2sq+1)/2
	return study.Removal{Bound: &b}
}
