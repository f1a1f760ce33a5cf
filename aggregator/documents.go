package aggregator

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash"

	"caucus/aggregation/shares"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Signed is a document with its signature: the bytes that were signed, and by which they are
// known.
type Signed struct {
	Document  []byte `json:"document"`
	Signature []byte `json:"signature"`
}

func (s Signed) digest() Digest { return sha256.Sum256(s.Document) }

func (s Signed) equal(o Signed) bool {
	return bytes.Equal(s.Document, o.Document) && bytes.Equal(s.Signature, o.Signature)
}

// sign writes a document's canonical JSON and signs it.
func sign(by *protocol.Signer, kind protocol.Document, document any) (Signed, error) {
	b, err := json.Marshal(document)
	if err != nil {
		return Signed{}, fmt.Errorf("sign %s: %w", kind, err)
	}
	return Signed{b, by.Sign(kind, b)}, nil
}

// read verifies a document and reads it strictly.
func (s Signed) read(by protocol.Verifier, kind protocol.Document, document any) error {
	if err := by.Verify(kind, s.Document, s.Signature); err != nil {
		return err
	}
	if err := study.DecodeStrictly(s.Document, document); err != nil {
		return fmt.Errorf("%w: %s: %w", protocol.ErrDamaged, kind, err)
	}
	return nil
}

// Digest is a SHA-256.
type Digest = study.Hash

// Acceptance is a server's agreement to a study, before it opens.
type Acceptance struct {
	Plan study.Hash `json:"plan"`
	Role string     `json:"role"`
	// Terms digest what its release is made under: bound, mechanism and noise
	// (study.TermsDigest), as this server computes them from plan and pool.
	Terms string `json:"terms"`
	// Commitment is to its half of the verify key.
	Commitment Digest `json:"commitment"`
	// Of the helper alone: the digest of the coordinator's acceptance, and the key that
	// parties seal to.
	Coordinator *Digest `json:"coordinator,omitempty"`
	Sealing     []byte  `json:"sealing,omitempty"`
}

// Reveal is the coordinator's word that a study opens under the helper's acceptance, and
// so under both commitments.
type Reveal struct {
	Plan   study.Hash `json:"plan"`
	Helper Digest     `json:"helper"` // of its acceptance
}

// Set is what both servers release the sum of.
type Set struct {
	Plan          study.Hash `json:"plan"`
	Helper        Digest     `json:"helper"` // of its acceptance
	Contributions int64      `json:"contributions"`
	Weight        int64      `json:"weight"`
	// Members digests, by party in order of their names, each name and what it contributed.
	Members Digest `json:"members"`
}

// Share is a server's release.
type Share struct {
	Plan      study.Hash `json:"plan"`
	Role      string     `json:"role"`
	Set       Digest     `json:"set"`
	Published []byte     `json:"published"` // privacy.Published
}

// half is a server's of a verify key.
type half [32]byte

// commitment hides a half: it is 32 uniform bytes, hashed with what they are for.
func commitment(plan study.Hash, r shares.Role, h half) Digest {
	return hashed("caucus verify key commitment 1", plan[:], []byte{byte(r)}, h[:])
}

// keyOf is the verify key of both halves. Uniform if either is.
func keyOf(plan study.Hash, halves [2]half) shares.Key {
	return shares.Key(hashed("caucus verify key 1", plan[:], halves[shares.Coordinator][:], halves[shares.Helper][:]))
}

// digester digests fields, each with its length before it.
type digester struct{ hash.Hash }

func (d digester) add(field []byte) {
	d.Write(binary.BigEndian.AppendUint64(nil, uint64(len(field))))
	d.Write(field)
}

func newDigester(name string) digester {
	d := digester{sha256.New()}
	d.add([]byte(name))
	return d
}

// hashed digests a name and fields.
func hashed(name string, fields ...[]byte) Digest {
	d := newDigester(name)
	for _, f := range fields {
		d.add(f)
	}
	return Digest(d.Sum(nil))
}

// Offer is what the coordinator tells the helper of an upload.
type Offer struct {
	Party  study.PartyID     `json:"party"`
	Weight int64             `json:"weight"`
	Head   []byte            `json:"head"`  // nonce and public share
	Other  [sha256.Size]byte `json:"other"` // digest of the coordinator's part
	Sealed []byte            `json:"sealed"`
	// Message is the coordinator's of its preparation; none where its part cannot be prepared.
	Message []byte `json:"message,omitempty"`
}

// digest is what both servers know the contribution by.
func (o Offer) digest() Digest {
	return hashed("caucus contribution 1", []byte(o.Party), binary.BigEndian.AppendUint64(nil, uint64(o.Weight)), o.Head, o.Other[:], o.Sealed)
}

// Answer is the helper's.
type Answer struct {
	Party    study.PartyID `json:"party"`
	Accepted bool          `json:"accepted"`
	Message  []byte        `json:"message,omitempty"`
}

// from is the term of a release that names what it is of.
func (s Signed) from(matrix privacy.Digest) privacy.Digest {
	set := s.digest()
	return privacy.Digest(hashed("caucus aggregated set 1", matrix[:], set[:]))
}
