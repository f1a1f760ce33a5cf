package verify

import (
	"caucus/protocol"
	"caucus/study"
	"caucus/study/kinds"
)

// chainOf returns a release's amendments. Each must be allowed by the plan.
func chainOf(r study.Release, p study.Plan) (*study.Chain, error) {
	var documents [][]byte
	for _, a := range r.Amendments {
		documents = append(documents, a.Document)
	}
	return study.ChainOf(p, r.PlanHash, documents)
}

// ending checks that plan and signed amendments allow what the release says about when and why the study
// sealed. If keys is nil, it does not check signatures. No noise, bound or charge depends on the ending.
func (f *findings) ending(r study.Release, p study.Plan, keys *protocol.Keys) {
	const about = "ending"
	switch r.Sealed {
	case "":
	case study.SealedByRule:
		chain, err := chainOf(r, p)
		f.claims(about, err != nil || r.Parties >= chain.Ending().Enough(len(p.Roster)), "it is said to be sealed by its rule, which asks for more than %d contributions", r.Parties)
		f.add(Word, about, "it sealed before its deadline, by the rule that plan or amendments name")
	case study.SealedByOperator:
		f.add(Word, about, "an operator sealed it before its deadline")
	default:
		f.add(Fails, about, "it is said to be sealed by %q, and nothing of that name seals a study", r.Sealed)
	}
	if len(r.Amendments) == 0 {
		return
	}
	chain, err := chainOf(r, p)
	if err == nil && keys != nil {
		chain, err = protocol.ParseAmendments(p, r.PlanHash, r.Amendments, keys)
	}
	if err != nil {
		f.add(Fails, about, "its amendments are not the plan's: %v", err)
		return
	}
	said := "and the release's signer vouches for them"
	if keys != nil {
		said = "and the coordinator signed each"
	}
	f.add(Holds, about, "%d amendments changed when the study ends, as its plan allows, %s: it %s", chain.Len(), said, chain.Ending().Words(len(p.Roster)))
}

// Ending compares a release's amendments with those that the site knows. The release must contain every
// amendment that the site knows, as part of one chain that the coordinator signed.
func (s Party) Ending(r study.Release) []Finding {
	var f findings
	if len(s.Amendments) == 0 {
		return nil
	}
	p, err := kinds.PlanOf(r)
	if err != nil {
		return nil // reported elsewhere
	}
	chain, err := chainOf(r, p)
	if err != nil {
		return nil // reported elsewhere
	}
	known, err := chainOf(study.Release{Manifest: r.Manifest, Amendments: s.Amendments}, p)
	switch {
	case err != nil:
		f.add(Fails, "ending", "the amendments kept here are not this study's: %v", err)
	case !chain.Extends(known):
		f.add(Fails, "ending", "the coordinator signed amendments for this party (%s) that the release does not name: it was put back to an older state, or tells parties different things", s.Party)
	default:
		f.add(Holds, "ending", "the release names all %d amendments that this party (%s) was told of", known.Len(), s.Party)
	}
	return f
}

// reopenedAfter reports whether an amendment after the first known ones reopened the failed study. Parties then
// had to send their contributions again.
func reopenedAfter(r study.Release, known int) bool {
	for _, signed := range r.Amendments {
		if a, err := study.DecodeAmendment(signed.Document); err == nil && a.Reopens && a.Number > known {
			return true
		}
	}
	return false
}
