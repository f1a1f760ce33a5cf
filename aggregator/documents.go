package aggregator

import (
	"caucus/aggregation/shares"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Signed is a document's exact bytes and one server's signature over them.
type Signed = protocol.Signed

// What the two servers sign, in the order in which a study needs them. protocol has their fields.
type (
	Acceptance      = protocol.Acceptance
	ContributionSet = protocol.ContributionSet
	AggregateShare  = protocol.AggregateShare
)

// Digest is the SHA-256 of a signed document, or of fields with their lengths.
type Digest = study.Hash

// Reveal is the coordinator's statement that a study opens under the helper's acceptance.
type Reveal struct {
	Plan             study.Hash `json:"plan"`
	HelperAcceptance Digest     `json:"helper"` // digest of the helper's acceptance
}

type half [32]byte

// commitment hashes a half with the label of its role. The hash hides the half, which is 32 uniform
// bytes.
func commitment(plan study.Hash, r shares.Role, h half) Digest {
	return hashed("caucus verify key commitment 1", plan[:], []byte{byte(r)}, h[:])
}

func hashed(name string, fields ...[]byte) Digest {
	d := protocol.NewFieldDigest(name)
	for _, f := range fields {
		d.Add(f)
	}
	return d.Digest()
}

// PrepareReply is the helper's answer to an uploading.PrepareRequest.
type PrepareReply struct {
	Party    study.PartyID `json:"party"`
	Accepted bool          `json:"accepted"`
	Message  []byte        `json:"message,omitempty"`
}

// from returns the field From of a ledger request whose own From is matrix: a hash of matrix and
// the signed set. So the set is one of the release's terms.
func from(s Signed, matrix privacy.Digest) privacy.Digest {
	set := s.Digest()
	return privacy.Digest(hashed("caucus aggregated set 1", matrix[:], set[:]))
}
