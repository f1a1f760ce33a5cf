package describe

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal: see study.Remover.
//
// Proof note.
//   - Neighbours: a record counts, or an empty one stands at its place. Public: plan, and
//     how many records each site has.
//   - Lemma: where the study is about all records, the empty one is counted as missing in
//     each column, so it is a replacement like any other: the bound is that of replacing,
//     and a record of texts alone, none missing, moves all of it.
//   - Lemma: where it is about some, nobody is at an empty place whom it could be about
//     (keyed.Exactly), so a record leaves its cell of each of D columns, of k numbers the
//     two sums, and the count of whom the study is about: the second lemma of counts,
//     q(D+1) + 2ak and q²(D+1) + 2a²k. A study that only counts has D = 0, and replacing
//     moves no more.
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
