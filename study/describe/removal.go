package describe

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal implements study.Remover.
//
// Proof note.
//   - Neighbours: a record counts, or an empty record takes its place. Public: the plan, and each
//     site's number of records.
//   - Lemma: without a condition, the empty record counts as missing in each column. So removal is
//     a replacement. No smaller bound holds: without number columns, a complete record reaches this
//     bound.
//   - Lemma: under a condition, an empty record fails it (keyed.ExactlyN). So removing a record
//     changes its cell of each of D columns, the two sums of k numbers, and the count of records
//     that meet the condition. The second lemma of type counts gives q(D+1) + 2ak in L1 and q²(D+1)
//   - 2a²k in L2². A study with "count: true" has D = 0, and there a replacement moves no more
//     than a removal.
func (Kind) Removal(p study.Plan, b privacy.Bound) study.Removal {
	q := newCounts(p)
	switch {
	case !q.CountsCondition:
		return study.RemovalUnchanged(b)
	case q.terms.Count:
		return study.Removal{Bound: &b, Reason: "it is one count, which a record moves by 1 whether it comes or goes or another takes its place"}
	}
	gone := q.gone()
	return study.Removal{Bound: &gone}
}
