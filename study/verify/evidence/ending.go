package evidence

import (
	"caucus/study"
	"caucus/study/kinds"
)

// ChainOf returns a release's amendments. Each must be allowed by the plan.
func ChainOf(r study.Release, p study.Plan) (*study.AmendmentChain, error) {
	var documents [][]byte
	for _, a := range r.Amendments {
		documents = append(documents, a.Document)
	}
	return study.AmendmentChainOf(p, r.PlanHash, documents)
}

// CheckEnding compares a release's amendments with those that the site knows. The release must
// contain every amendment that the site knows, as part of one chain that the coordinator signed.
func (s Party) CheckEnding(r study.Release) []Finding {
	var f findings
	if len(s.Amendments) == 0 {
		return nil
	}
	p, err := kinds.PlanOf(r)
	if err != nil {
		return nil // reported elsewhere
	}
	chain, err := ChainOf(r, p)
	if err != nil {
		return nil // reported elsewhere
	}
	known, err := ChainOf(study.Release{Manifest: r.Manifest, Amendments: s.Amendments}, p)
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

// reopenedAfter reports whether an amendment after the first known ones reopened the failed study.
// Parties then had to send their contributions again.
func reopenedAfter(r study.Release, known int) bool {
	for _, signed := range r.Amendments {
		if a, err := study.DecodeAmendment(signed.Document); err == nil && a.Reopens &&
			a.Number > known {
			return true
		}
	}
	return false
}
