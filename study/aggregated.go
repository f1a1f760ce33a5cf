package study

import (
	"context"
	"fmt"

	"caucus/privacy"
)

// Aggregated is what the two servers of a study with noise by aggregators signed of it, the
// coordinator first. Signatures are of the documents as package protocol has them.
type Aggregated struct {
	// Keys are what they signed with, hexadecimal.
	Keys [Servers]string `json:"keys"`
	// Acceptances are their agreements, before the study opened.
	Acceptances [Servers]Signed `json:"acceptances"`
	// Set is what both released the sum of, with the signature of each.
	Set  []byte          `json:"set"`
	Sets [Servers][]byte `json:"set_signatures"`
	// Shares are their signatures of what they released.
	Shares [Servers][]byte `json:"share_signatures"`
	// Line is the helper's ledger's of its release, and Step the number of its transaction that
	// stored that: the helper signed both.
	Line *privacy.Line `json:"helper_line,omitempty"`
	Step int64         `json:"helper_step,omitempty"`
	// Members are by what both know the contribution of each party of Contributed, in that
	// order: the set digests them, so that a party finds its own.
	Members []Hash `json:"members"`
	// Refused are the parties whose contributions both servers refused; they are among the
	// missing.
	Refused []PartyID `json:"refused,omitempty"`
}

// ServerNames are the two servers' by their place in Aggregated.
var ServerNames = [Servers]string{"coordinator", "helper"}

// ShareOutput names a server's release of its share of an output: each has an id of its own.
func ShareOutput(output string, server int) string { return output + "/" + ServerNames[server] }

// ConcludeShares makes the release document of a study of which both servers have released:
// what is published are their shares, of which the coordinator's is in its ledger. It spends
// nothing. Plan bytes and software are the caller's to fill in.
func ConcludeShares(ctx context.Context, s *Study, t Task, of Summed, published []privacy.Published, by Aggregated, ledger *privacy.Ledger) (Release, error) {
	fail := func(err error) (Release, error) { return Release{}, fmt.Errorf("conclude study: %w", err) }
	if t.Hash() != s.Hash {
		return fail(fmt.Errorf("the task is of plan %s, the study of plan %s", t.Hash(), s.Hash))
	}
	if len(published) != Servers || of.Contributions != len(s.Received) {
		return fail(fmt.Errorf("%d servers released a sum of %d contributions, %d were received", len(published), of.Contributions, len(s.Received)))
	}
	result, err := t.Finish(of, published)
	if err != nil {
		return fail(err)
	}
	r := s.claimed(t, of, result)
	if r.Costs, err = CostsOf(t, r.Weight); err != nil {
		return fail(err)
	}
	for _, p := range published {
		b, err := p.MarshalBinary()
		if err != nil {
			return fail(err)
		}
		r.Published = append(r.Published, b)
	}
	line, found, err := ledger.Line(ctx, published[0].ID)
	if err == nil && !found {
		err = fmt.Errorf("the ledger has no entry of publication %s", published[0].ID)
	}
	if err != nil {
		return fail(err)
	}
	r.Ledger, r.Aggregated = []privacy.Line{line}, &by
	return r, nil
}
