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
	// Terms digest the bound, mechanism and noise of its release (study.TermsDigest), as this
	// server computes them from plan and pool.
	Terms string `json:"terms"`
	// Commitment is to its half of the verify key.
	Commitment study.Hash `json:"commitment"`
	// The helper alone states the digest of the coordinator's acceptance and the parties' sealing
	// key.
	Coordinator *study.Hash `json:"coordinator,omitempty"`
	Sealing     []byte      `json:"sealing,omitempty"`
	// Step is the number, from 1, of the helper's transaction that stored it: two documents of one
	// step prove that the helper was put back.
	Step int64 `json:"step,omitempty"`
}

// Set is the contributions that both aggregators sum.
type Set struct {
	Plan          study.Hash `json:"plan"`
	Helper        study.Hash `json:"helper"` // of its acceptance
	Contributions int64      `json:"contributions"`
	Weight        int64      `json:"weight"`
	// Members digests names and contributions in the order of the names (MembersDigest).
	Members study.Hash `json:"members"`
	// Amendments are the plan's, oldest first: the last one gives the set's minimum, within the
	// plan's floor.
	Amendments [][]byte `json:"amendments,omitempty"`
}

// Minimum is the least number of contributions of a set under its amendments. It refuses those that
// the plan does not allow.
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
	// The helper alone states its transaction's number and its ledger's line. Readers remember both
	// (memory) and so detect a helper that drew twice.
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

// Fields digests a name and fields, each preceded by its length.
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

// Digest covers all that was added.
func (d Fields) Digest() study.Hash { return study.Hash(d.Sum(nil)) }

// NewMembers digests a set's members: add each, in the order of names, with its contribution's
// digest.
func NewMembers() Fields { return NewFields("caucus aggregated members 1") }

// AddMember adds a member.
func (d Fields) AddMember(party study.PartyID, contributed study.Hash) {
	d.Add([]byte(party))
	d.Add(contributed[:])
}
