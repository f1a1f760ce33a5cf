package evaluate

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal implements study.Remover.
//
// Proof note.
//   - Neighbours: at unit record, an empty record takes a record's place; at unit party, a party
//     counts nothing. Public: plan, the number of parties, and at unit record each site's number of
//     records.
//   - Lemma, unit record: the empty record counts as one without label in each of the H histograms,
//     also under a condition. So removal is a replacement: if the record had a label, each
//     histogram changes by 2, which is the whole bound.
//   - Lemma, unit party: each histogram of at most c records has non-negative entries that add up
//     to at most c: cH in L1, c²H in L2², half the replacement bound.
func (Kind) Removal(p study.Plan, b privacy.Bound) study.Removal {
	if p.Unit != privacy.Party {
		return study.RemovalUnchanged(b)
	}
	b.L1, b.L2sq = (b.L1+1)/2, (b.L2sq+1)/2
	return study.Removal{Bound: &b}
}
