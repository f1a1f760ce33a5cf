package study

import (
	"caucus/privacy"
)

// TwoServerProof holds what two servers signed in a study where both add noise (NoiseAggregators),
// and their signatures. Arrays begin with the coordinator. Package protocol defines the documents.
type TwoServerProof struct {
	Keys [Servers]string `json:"keys"` // the servers' signing keys, hexadecimal
	// the servers' agreements to the plan, before the study opened
	Acceptances [Servers]Signed `json:"acceptances"`
	// the list of the contributions that both servers added up
	Set  []byte          `json:"set"`
	Sets [Servers][]byte `json:"set_signatures"`
	// each server's signature on the share that it released
	Shares [Servers][]byte `json:"share_signatures"`
	// HelperLine is the helper's ledger line for the release of its share. Step is the number of
	// the transaction that stored HelperLine. The helper signed both.
	HelperLine *privacy.Line `json:"helper_line,omitempty"`
	Step       int64         `json:"helper_step,omitempty"`
	// Members[i] is the digest of the contribution of party Manifest.Contributed[i].
	Members []Hash `json:"members"`
	// parties whose contributions both servers refused; the manifest calls them missing
	Refused []PartyID `json:"refused,omitempty"`
}
