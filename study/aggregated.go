package study

import (
	"caucus/privacy"
)

// Aggregated holds what the two servers of a study with noise by aggregators signed, the
// coordinator first. Package protocol says which documents they sign.
type Aggregated struct {
	// Keys are the servers' signing keys, in hexadecimal.
	Keys [Servers]string `json:"keys"`
	// Acceptances are the servers' agreements to the plan, from before the study opened.
	Acceptances [Servers]Signed `json:"acceptances"`
	// Set lists the contributions that both servers summed; each signed it.
	Set  []byte          `json:"set"`
	Sets [Servers][]byte `json:"set_signatures"`
	// Shares are the servers' signatures on the shares that they released.
	Shares [Servers][]byte `json:"share_signatures"`
	// Line is the line of the helper's ledger for its release. Step numbers the transaction that
	// stored it. The helper signed both.
	Line *privacy.Line `json:"helper_line,omitempty"`
	Step int64         `json:"helper_step,omitempty"`
	// Members are the digests that identify the contributions, in the order of Contributed. Set
	// digests them, so a party can find its own contribution.
	Members []Hash `json:"members"`
	// Refused are parties whose contributions both servers refused; the manifest counts them as
	// missing.
	Refused []PartyID `json:"refused,omitempty"`
}
