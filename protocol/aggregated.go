package protocol

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"hash"

	"caucus/privacy"
	"caucus/study"
)

// Acceptance is an aggregator's agreement to a study, before it opens.
type Acceptance struct {
	Plan study.Hash `json:"plan"`
	Role string     `json:"role"`
	// Terms is the digest of the release's bound, mechanism and noise (study.TermsDigest), as this
	// server computes them from plan and pool.
	Terms string `json:"terms"`
	// Commitment commits to this server's half of the verify key.
	Commitment study.Hash `json:"commitment"`
	// Coordinator is the digest of the coordinator's acceptance. Sealing is the key to which
	// parties encrypt the helper's share. Signing is the key that signs this document, for parties
	// that know only the code of both keys (KeyCode). Only the helper states them.
	Coordinator *study.Hash `json:"coordinator,omitempty"`
	Sealing     []byte      `json:"sealing,omitempty"`
	Signing     SignerKey   `json:"signing,omitzero"`
	// Step is the number of the helper's transaction that stored this acceptance, from 1. Two
	// different documents with the same step prove that the helper was restored to an older state.
	Step int64 `json:"step,omitempty"`
}

// ContributionSet names the contributions that both aggregators sum.
type ContributionSet struct {
	Plan          study.Hash `json:"plan"`
	Helper        study.Hash `json:"helper"` // digest of the helper's acceptance
	Contributions int64      `json:"contributions"`
	Weight        int64      `json:"weight"`
	// MembersDigest is the digest of names and contributions, ordered by name (NewMembers).
	MembersDigest study.Hash `json:"members"`
	// Amendments are the plan's amendments, oldest first. The last gives the minimum, at least the
	// plan's floor.
	Amendments [][]byte `json:"amendments,omitempty"`
}

// Minimum returns the least number of contributions that the plan with these amendments allows. It
// returns an error for amendments that the plan does not allow.
func (c ContributionSet) Minimum(p study.Plan) (int, error) {
	chain, err := study.AmendmentChainOf(p, c.Plan, c.Amendments)
	if err != nil {
		return 0, err
	}
	return chain.Ending().Minimum, nil
}

// AggregateShare is an aggregator's released share of the sum.
type AggregateShare struct {
	Plan      study.Hash `json:"plan"`
	Role      string     `json:"role"`
	Set       study.Hash `json:"set"`
	Published []byte     `json:"published"`
	// Step numbers the helper's transaction, and Line is the line that the release added to the
	// helper's ledger. Only a helper's share has them. Clients store both (memory in shown.go), to
	// notice a helper that drew noise twice.
	Step int64         `json:"step,omitempty"`
	Line *privacy.Line `json:"line,omitempty"`
}

// AggregateShareOf rebuilds, from a release, the share that a server signed. server indexes
// study.ServerNames.
func AggregateShareOf(r study.Release, server int) Signed {
	a := r.Aggregated
	s := AggregateShare{Plan: r.PlanHash, Role: study.ServerNames[server], Set: study.HashOf(a.Set),
		Published: r.Published[server]}
	if server == 1 {
		s.Step, s.Line = a.Step, a.HelperLine
	}
	document, err := json.Marshal(s)
	if err != nil {
		return Signed{} // its signature is empty, so checking it fails
	}
	return Signed{Document: document, Signature: a.Shares[server]}
}

// FieldDigest is the SHA-256 of a name and fields, each preceded by its length.
type FieldDigest struct{ hash.Hash }

// NewFieldDigest starts a digest of fields with a name, so that digests for different purposes
// differ.
func NewFieldDigest(name string) FieldDigest {
	d := FieldDigest{sha256.New()}
	d.Add([]byte(name))
	return d
}

// Add writes the field's length as 8 big-endian bytes, then the field, so that no two lists of
// fields have the same digest by moving bytes from one to the next.
func (f FieldDigest) Add(field []byte) {
	f.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
	f.Write(field)
}

// Digest returns the SHA-256 of all fields so far; more may follow.
func (f FieldDigest) Digest() study.Hash { return study.Hash(f.Sum(nil)) }

// NewMembers starts the digest of a set's members. Add each member, in the order of names.
func NewMembers() FieldDigest { return NewFieldDigest("caucus aggregated members 1") }

// AddMember adds a member to a digest that NewMembers started.
func (f FieldDigest) AddMember(party study.PartyID, contributed study.Hash) {
	f.Add([]byte(party))
	f.Add(contributed[:])
}
