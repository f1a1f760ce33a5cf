package describe

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal: see study.Remover.
//
// Proof note.
//   - Neighbours: a record counts, or an empty one takes its place. Public: the plan, and how many
//     records each site has.
//   - Lemma: without a condition, the empty record is counted as missing in each column. Removal is
//     then a replacement, so the bound for replacing holds; a record of texts alone, none missing,
//     attains it.
//   - Lemma: with a condition, an empty record is never one that the study is about
//     (keyed.Exactly). So removing a record changes its cell of each of D columns, the two sums of
//     k numbers, and the count of records that the study is about. This is the second lemma of
//     counts: q(D+1) + 2ak and q²(D+1) + 2a²k. A study with count: true has D = 0, and replacing
//     moves no more than removing.
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
