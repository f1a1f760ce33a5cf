package regress

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal implements study.Remover.
//
// Proof note.
//   - Neighbours: a record counts, or an empty record takes its place; at unit party a party's
//     records count, or none. Public: the plan, the pool and each site's number of records.
//   - Lemma: an empty record has the row 0, so X of at most c records becomes 0: the L2² is at most
//     25·‖X‖² ≤ 25·c²B², and the L1 at most cB times the largest eigenvalue of M, which is at most
//     the row sum 5 + 3.5·(d−1) (see Moments).
func (Kind) Removal(p study.Plan, b privacy.Bound) study.Removal {
	dim, err := study.TermsOf[Terms](p).dim(p.Schema)
	l, wrong := study.TermsOf[Terms](p).lattice(p, dim)
	if err != nil || wrong != nil { // no checked plan
		return study.RemovalUnproved("the plan has no bound")
	}
	_, removed := l.bounds()
	b.L1, b.L2sq = removed.L1, removed.L2sq
	return study.Removal{Bound: &b}
}
