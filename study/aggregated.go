package study

import (
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
