package classify

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal implements study.Remover.
//
// Proof note.
//   - Neighbours: one unit's part is in the sums or is not. Public: plan, pool, and the numbers of
//     parties, ballots and records, which are equal in both cases: an empty record takes the place
//     of a removed record; nothing takes the place of a removed party.
//   - Lemma, cross at unit record: a record is one lattice row in the block of one class, and an
//     empty record adds nothing. So removal moves the sums by this row: squared L2 at most 2⁴⁰,
//     half of CrossMomentL2sq. The row has d cells, so its L1 norm is at most √d times its L2 norm,
//     half of CrossMomentL1 (both rounded up). Half the squared L2 means half the ρ; half the L1
//     means half the pure ε.
//   - Lemma, tally at unit party: a ballot has one vote per row. With more than two classes, a
//     removed ballot moves one count of each row by 1, a replaced ballot two counts: half the
//     weighted squared L2. With two classes, each row has one count, which a removed ballot moves
//     by 0 or 1 and a replaced ballot by −1, 0 or 1: the bound is the same.
//   - Lemma, means at unit party: a party's vector is checked to have norm at most R, and a
//     replacement moves at most 2R. So removal has a quarter of MeansL2sq and half of MeansL1.
//   - No smaller bound is proved for other mechanisms or units: a shard that loses a record may
//     cast any other ballot, as under replacement; moments mix rows; a label is replaced and never
//     removed.
func (Kind) Removal(p study.Plan, b privacy.Bound) study.Removal {
	half := func(v int64) int64 { return (v + 1) / 2 }
	why := ""
	b.KeepsSum = false
	switch {
	case p.Unit == privacy.Label:
		return study.RemovalOfLabels()
	case p.Mechanism == "cross" && study.ByRecord(p.Unit):
		b.L2sq, b.L1, b.Cells = half(b.L2sq), half(b.L1), (b.Cells+1)/2
	case p.Mechanism == "tally" && p.Unit == privacy.Party:
		// 0: no L1 bound is proved here, and votes never get noise calibrated to L1
		if b.L1 = 0; len(p.Schema.Classes()) > 2 {
			b.L2sq = half(b.L2sq)
		} else {
			why = "of two classes a vote is one count, which a ballot moves by 1 whether it comes, goes or changes"
		}
	case p.Mechanism == "means" && p.Unit == privacy.Party:
		b.L2sq, b.L1 = half(half(b.L2sq)), half(b.L1)
	case TermsOf(p).Shards > 1:
		return study.RemovalUnproved("a shard that loses a record casts another ballot, which is what replacing the record does")
	default:
		return study.RemovalUnproved("it is not proved for mechanism %s at unit %s", p.Mechanism,
			p.Unit)
	}
	return study.Removal{Bound: &b, Reason: why}
}
