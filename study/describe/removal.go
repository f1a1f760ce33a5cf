package describe

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal: see study.Remover.
//
// Proof note.
//   - Neighbours: a record counts, or an empty record takes its place. Public: the plan, and each site's
//     number of records.
//   - Lemma: without a condition, the empty record counts as missing in each column. Removal is then a
//     replacement, so the replacement bound holds; a record of texts alone, none missing, attains it.
//   - Lemma: under a condition, an empty record fails it (keyed.Exactly). So removing a record changes
//     its cell of each of D columns, the two sums of k numbers, and the count of records inside. The
//     second lemma of counts gives q(D+1) + 2ak and q²(D+1) + 2a²k. A study with count: true has D = 0,
//     and replacement moves no more than removal.
func (Kind) Removal(p study.Plan, b privacy.Bound) study.Removal {
	q := newCounts(p)
	switch {
	case !q.inside:
		return study.Unchanged(b)
	case q.terms.Count:
		return study.Removal{Bound: &b, Why: "it is one count, which a record moves by 1 whether it comes or goes or another takes its place"}
	}
	gone := q.gone()
	return study.Removal{Bound: &gone}
}
