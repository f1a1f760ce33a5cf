package aggregator

import (
	"crypto/sha256"
	"encoding/binary"

	"caucus/aggregation/shares"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Signed is a document with its signature over exactly these bytes, which identify it.
type Signed = protocol.Signed

type (
	Acceptance     = protocol.Acceptance
	Set            = protocol.Set
	AggregateShare = protocol.AggregateShare
)

// Digest is a SHA-256.
type Digest = study.Hash

// Reveal is the coordinator's statement that a study opens under the helper's acceptance, and so
// under both commitments.
type Reveal struct {
	Plan   study.Hash `json:"plan"`
	Helper Digest     `json:"helper"` // of its acceptance
}

// half is a server's half of a verify key.
type half [32]byte

// commitment hides a half: 32 uniform bytes, hashed with their purpose.
func commitment(plan study.Hash, r shares.Role, h half) Digest {
	return hashed("caucus verify key commitment 1", plan[:], []byte{byte(r)}, h[:])
}

// keyOf combines both halves into the verify key, uniform if either half is.
func keyOf(plan study.Hash, halves [2]half) shares.Key {
	return shares.Key(hashed("caucus verify key 1", plan[:], halves[shares.Coordinator][:], halves[shares.Helper][:]))
}

// hashed digests a name and fields.
func hashed(name string, fields ...[]byte) Digest {
	d := protocol.NewFields(name)
	for _, f := range fields {
		d.Add(f)
	}
	return d.Digest()
}

// PrepareRequest is what the coordinator tells the helper of an upload.
type PrepareRequest struct {
	Party  study.PartyID     `json:"party"`
	Weight int64             `json:"weight"`
	Head   []byte            `json:"head"`  // nonce and public share
	Other  [sha256.Size]byte `json:"other"` // digest of the coordinator's part
	Sealed []byte            `json:"sealed"`
	// Message is the coordinator's preparation message, empty where its part cannot be prepared.
	Message []byte `json:"message,omitempty"`
}

// digest is what both servers know the contribution by.
func (o PrepareRequest) digest() Digest {
	return hashed("caucus contribution 1", []byte(o.Party), binary.BigEndian.AppendUint64(nil, uint64(o.Weight)), o.Head, o.Other[:], o.Sealed)
}

// PrepareReply is the helper's to a PrepareRequest.
type PrepareReply struct {
	Party    study.PartyID `json:"party"`
	Accepted bool          `json:"accepted"`
	Message  []byte        `json:"message,omitempty"`
}

// from is the term of a release that names its set.
func from(s Signed, matrix privacy.Digest) privacy.Digest {
	set := s.Digest()
	return privacy.Digest(hashed("caucus aggregated set 1", matrix[:], set[:]))
}
