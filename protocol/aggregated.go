package protocol

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"

	"caucus/privacy"
	"caucus/study"
)

// Acceptance is an aggregator's agreement to a study, before it opens.
type Acceptance struct {
	Plan study.Hash `json:"plan"`
	Role string     `json:"role"`
	// Terms digest what its release is made under: bound, mechanism and noise
	// (study.TermsDigest), as this server computes them from plan and pool.
	Terms string `json:"terms"`
	// Commitment is to its half of the verify key.
	Commitment study.Hash `json:"commitment"`
	// Of the helper alone: the digest of the coordinator's acceptance, and the key that
	// parties seal to.
	Coordinator *study.Hash `json:"coordinator,omitempty"`
	Sealing     []byte      `json:"sealing,omitempty"`
	// Step is the number of the helper's transaction that stored it, from 1: one that says it
	// of two documents was put back.
	Step int64 `json:"step,omitempty"`
}

// Set is what both aggregators release the sum of.
type Set struct {
	Plan          study.Hash `json:"plan"`
	Helper        study.Hash `json:"helper"` // of its acceptance
	Contributions int64      `json:"contributions"`
	Weight        int64      `json:"weight"`
	// Members digests, by party in order of their names, each name and what it contributed
	// (MembersDigest).
	Members study.Hash `json:"members"`
	// Amendments are the plan's, oldest first: the minimum that the set has is that of the
	// last one, which the plan's floor bounds.
	Amendments [][]byte `json:"amendments,omitempty"`
}

// Minimum is the least number of contributions that a set may have under its amendments. It
// refuses those that the plan does not allow.
func (s Set) Minimum(p study.Plan) (int, error) {
	chain, err := study.ChainOf(p, s.Plan, s.Amendments)
	if err != nil {
		return 0, err
	}
	return chain.Ending().Minimum, nil
}

// AggregateShare is an aggregator's release of its share of the sum.
type AggregateShare struct {
	Plan      study.Hash `json:"plan"`
	Role      string     `json:"role"`
	Set       study.Hash `json:"set"`
	Published []byte     `json:"published"` // privacy.Published
	// Of the helper alone: the number of its transaction that stored it, and the line of its
	// ledger. Readers remember both (memory), and see where a helper drew twice.
	Step int64         `json:"step,omitempty"`
	Line *privacy.Line `json:"line,omitempty"`
}

// AggregateShareOf is what a server signed of its release, by its place in study.ServerNames, as a
// release document has it.
func AggregateShareOf(r study.Release, server int) Signed {
	a := r.Aggregated
	s := AggregateShare{Plan: r.PlanHash, Role: study.ServerNames[server], Set: study.HashOf(a.Set), Published: r.Published[server]}
	if server == 1 {
		s.Step, s.Line = a.Step, a.Line
	}
	document, err := json.Marshal(s)
	if err != nil {
		return Signed{} // which nobody signed
	}
	return Signed{Document: document, Signature: a.Shares[server]}
}

// ReadSigned verifies a document and reads it strictly. Errors wrap ErrDamaged.
func ReadSigned(s Signed, by Verifier, kind Document, document any) error {
	if err := by.Verify(kind, s.Document, s.Signature); err != nil {
		return err
	}
	if err := study.DecodeStrictly(s.Document, document); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, kind, err)
	}
	return nil
}

// SignJSON writes a document's canonical JSON and signs it.
func SignJSON(by *Signer, kind Document, document any) (Signed, error) {
	b, err := json.Marshal(document)
	if err != nil {
		return Signed{}, fmt.Errorf("sign %s: %w", kind, err)
	}
	return Signed{Document: b, Signature: by.Sign(kind, b)}, nil
}

// Fields digests a name and fields, each with its length before it.
type Fields struct{ hash.Hash }

// NewFields digests a name; Add adds a field.
func NewFields(name string) Fields {
	d := Fields{sha256.New()}
	d.Add([]byte(name))
	return d
}

// Add adds a field.
func (d Fields) Add(field []byte) {
	d.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
	d.Write(field)
}

// Digest is of what was added so far.
func (d Fields) Digest() study.Hash { return study.Hash(d.Sum(nil)) }

// NewMembers digests the members of a set: of each, in the order of the parties' names, add the
// party and the digest of what it contributed.
func NewMembers() Fields { return NewFields("caucus aggregated members 1") }

// AddMember adds one.
func (d Fields) AddMember(party study.PartyID, contributed study.Hash) {
	d.Add([]byte(party))
	d.Add(contributed[:])
}
