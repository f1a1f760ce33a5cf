package uploading

import (
	"crypto/sha256"
	"encoding/binary"

	"caucus/protocol"
	"caucus/study"
)

// PrepareRequest describes an upload to the helper.
type PrepareRequest struct {
	Party             study.PartyID     `json:"party"`
	Weight            int64             `json:"weight"`
	CommonPart        []byte            `json:"head"`  // nonce and public share
	CoordinatorDigest [sha256.Size]byte `json:"other"` // digest of the coordinator's part
	HelperPart        []byte            `json:"sealed"`
	// Message is the coordinator's preparation message, empty if the coordinator cannot prepare its
	// part.
	Message []byte `json:"message,omitempty"`
}

// Digest identifies the upload at both servers.
func (p PrepareRequest) Digest() study.Hash {
	d := protocol.NewFieldDigest("caucus contribution 1")
	for _, field := range [][]byte{[]byte(p.Party),
		binary.BigEndian.AppendUint64(nil, uint64(p.Weight)), p.CommonPart, p.CoordinatorDigest[:],
		p.HelperPart} {
		d.Add(field)
	}
	return d.Digest()
}
