package verify

import (
	"caucus/protocol"
	"caucus/study"
	"caucus/study/verify/evidence"
)

// ending checks that plan and signed amendments allow what the release says about when and why the
// study sealed. If keys is nil, it does not check signatures. No noise, bound or charge depends on
// the ending.
func (f *findings) ending(r study.Release, p study.Plan, keys *protocol.Keys) {
	const about = "ending"
	switch r.Sealed {
	case "":
	case study.SealedByRule:
		chain, err := evidence.ChainOf(r, p)
		f.claims(about, err != nil || r.Parties >= chain.Ending().SealCount(len(p.Roster)), "it is said to be sealed by its rule, which asks for more than %d contributions", r.Parties)
		f.add(evidence.CoordinatorsWord, about, "it sealed before its deadline, by the rule that plan or amendments name")
	case study.SealedByOperator:
		f.add(evidence.CoordinatorsWord, about, "an operator sealed it before its deadline")
	default:
		f.add(evidence.Fails, about, "it is said to be sealed by %q, and nothing of that name seals a study", r.Sealed)
	}
	if len(r.Amendments) == 0 {
		return
	}
	chain, err := evidence.ChainOf(r, p)
	if err == nil && keys != nil {
		chain, err = protocol.ParseAmendments(p, r.PlanHash, r.Amendments, keys)
	}
	if err != nil {
		f.add(evidence.Fails, about, "its amendments are not the plan's: %v", err)
		return
	}
	said := "and the release's signer vouches for them"
	if keys != nil {
		said = "and the coordinator signed each"
	}
	f.add(evidence.Holds, about, "%d amendments changed when the study ends, as its plan allows, %s: it %s", chain.Len(), said, chain.Ending().Words(len(p.Roster)))
}
