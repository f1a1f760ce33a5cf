package study

import (
	"caucus/privacy"
)

// Aggregated holds the signatures of the two servers of a study with noise by aggregators, the coordinator
// first, and the documents that they signed (package protocol).
type Aggregated struct {
	Keys        [Servers]string `json:"keys"`        // the servers' signing keys, hexadecimal
	Acceptances [Servers]Signed `json:"acceptances"` // the servers' agreements to the plan, before the study opened
	Set         []byte          `json:"set"`         // the contributions that both summed
	Sets        [Servers][]byte `json:"set_signatures"`
	Shares      [Servers][]byte `json:"share_signatures"` // signatures on the released shares
	// Line is the line of the helper's ledger for its release, Step the number of the transaction that
	// stored the line. The helper signed both.
	Line *privacy.Line `json:"helper_line,omitempty"`
	Step int64         `json:"helper_step,omitempty"`
	// Members are digests of the contributions in the order of Contributed; each party finds its own.
	Members []Hash    `json:"members"`
	Refused []PartyID `json:"refused,omitempty"` // refused by both servers; the manifest counts them as missing
}
