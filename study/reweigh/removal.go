package reweigh

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal implements study.Remover.
//
// Proof note.
//   - Neighbours: a record counts, or an empty record takes its place. Public: plan, pool, and each
//     site's number of records.
//   - Lemma, entropy without a condition: the empty record is encoded and mapped like any other, so
//     removal is a replacement.
//   - Lemma, entropy with a condition: the empty record fails the condition, so it adds nothing,
//     and removal takes away the record's entries and its count.
//     aggregation.FeatureDesign.RemovalBound bounds that, and never exceeds the replacement bound.
//   - Nothing is proved for logistic, because no part of its contribution belongs to one record.
func (Kind) Removal(p study.Plan, b privacy.Bound) study.Removal {
	d, err := DesignOf(p)
	switch {
	case err != nil || p.Mechanism != "entropy":
		return study.RemovalUnproved("it is not proved for the coefficients that mechanism %s releases", p.Mechanism)
	case !study.ByRecord(p.Unit):
		return study.RemovalOfLabels()
	case p.Where == "":
		return study.RemovalUnchanged(b)
	}
	l1, l2sq := d.RemovalBound()
	if l1 == b.L1 && l2sq == b.L2sq {
		return study.Removal{Bound: &b, Reason: "a record's numbers and its count move as much when it comes or goes as when another takes its place"}
	}
	b.L1, b.L2sq = l1, l2sq
	return study.Removal{Bound: &b}
}
