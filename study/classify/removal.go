package classify

import (
	"caucus/privacy"
	"caucus/study"
)

// Removal: see study.Remover.
//
// Proof note.
//   - Neighbours: one unit's part is in the sums or is not. Public: plan, pool, the numbers of parties,
//     ballots and records, equal in both: an empty record replaces a record, nothing a party.
//   - Lemma, cross at unit record: a record is one lattice row in one class's block, and an empty record
//     adds nothing. So the movement is that row: squared L2 at most 2⁴⁰, half of CrossL2sq; d cells, so
//     L1 at most √d times its L2, half of CrossL1 (rounded up, and so is the half). That is half the ρ,
//     and half the pure ε of an L1 bound.
//   - Lemma, tally at unit party: a ballot has one vote per row. With more than two classes its vector
//     has a single 1 in each row, where a replacement moves −1 and +1: half the weighted squared L2. Two
//     classes share one count per row, which a ballot moves by 0 or 1 and a replacement by −1, 0 or 1:
//     the same bound, no smaller.
//   - Lemma, means at unit party: a party's vector is checked to have norm at most R, and a replacement
//     moves at most 2R: a quarter of MeansL2sq, half of MeansL1.
//   - The rest is not proved here: a shard that loses a record casts another ballot, as under
//     replacement; moments mix rows; a label has no place that could be empty.
func (Kind) Removal(p study.Plan, b privacy.Bound) study.Removal {
	half := func(v int64) int64 { return (v + 1) / 2 }
	why := ""
	b.KeepsSum = false
	switch {
	case p.Unit == privacy.Label:
		return study.OfLabels()
	case p.Mechanism == "cross" && p.Unit == privacy.Record:
		b.L2sq, b.L1, b.Cells = half(b.L2sq), half(b.L1), (b.Cells+1)/2
	case p.Mechanism == "tally" && p.Unit == privacy.Party:
		if b.L1 = 0; len(p.Schema.Classes()) > 2 { // not proved in L1, but no L1 noise is added to votes
			b.L2sq = half(b.L2sq)
		} else {
			why = "of two classes a vote is one count, which a ballot moves by 1 whether it comes, goes or changes"
		}
	case p.Mechanism == "means" && p.Unit == privacy.Party:
		b.L2sq, b.L1 = half(half(b.L2sq)), half(b.L1)
	case TermsOf(p).Shards > 1:
		return study.Unproved("a shard that loses a record casts another ballot, which is what replacing the record does")
	default:
		return study.Unproved("it is not proved of mechanism %s at unit %s", p.Mechanism, p.Unit)
	}
	return study.Removal{Bound: &b, Why: why}
}
