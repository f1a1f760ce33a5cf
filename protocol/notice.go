package protocol

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"caucus/privacy"
	"caucus/protocol/pb"
	"caucus/study"
)

// Notice is how a study stands for one party, as a list says it to who can call: signed,
// since it is carried.
type Notice struct {
	Plan  study.Hash    `json:"plan"`
	Party study.PartyID `json:"party"`
	// At is when it was signed, by the coordinator's clock.
	At          time.Time   `json:"at"`
	State       study.State `json:"state"`
	Reason      string      `json:"reason"`
	Contributed int         `json:"contributed"`
	Mine        bool        `json:"mine"`
	Lost        bool        `json:"lost"`
	Amendments  int         `json:"amendments"`
	// Ledger is how far the coordinator's ledger was.
	Ledger privacy.Head `json:"ledger"`
	// SealKey is the SHA-256 of the public key to which answers are sealed; empty where
	// the study takes none.
	SealKey keyDigest `json:"seal_key"`
	// Run names the coordinator's process that signed it: who shows it knew, when it read
	// it, all that it had heard before that process began.
	Run keyDigest `json:"run"`
}

// keyDigest is hexadecimal in JSON.
type keyDigest []byte

// MarshalText writes hexadecimal.
func (d keyDigest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *keyDigest) UnmarshalText(text []byte) (err error) {
	*d, err = hex.AppendDecode(keyDigest{}, text)
	return err
}

// Sign makes the document.
func (n Notice) Sign(s *Signer) (Signed, error) {
	document, err := json.Marshal(n)
	if err != nil {
		return Signed{}, fmt.Errorf("sign notice: %w", err)
	}
	return Signed{Document: document, Signature: s.Sign(NoticeDocument, document)}, nil
}

// ParseNotice reads a notice that the coordinator signed with its newest key: an earlier
// one may be in others' hands, and a notice says what holds now.
func ParseNotice(s Signed, keys Keys) (Notice, error) {
	var n Notice
	if err := keys.Newest().Verify(NoticeDocument, s.Document, s.Signature); err != nil {
		return n, err
	}
	return n, decodeNotice(s.Document, &n)
}

func decodeNotice(document []byte, n *Notice) error {
	if err := study.DecodeStrictly(document, n); err != nil {
		return fmt.Errorf("%w: notice: %v", ErrDamaged, err)
	}
	if again, err := json.Marshal(n); err != nil || !bytes.Equal(again, document) {
		return fmt.Errorf("%w: notice: it is not written in the canonical way", ErrDamaged)
	}
	return nil
}

// noticesAtOnce is how many notices a call asks for: some 700 bytes each come back.
const noticesAtOnce = 300

// carriedNotice is a notice and, where the party's answer was accepted, its receipt,
// encrypted.
type carriedNotice struct {
	Signed
	receipt []byte
}

func noticeOf(n *pb.Notice) carriedNotice {
	return carriedNotice{Signed{Document: n.GetSigned().GetDocument(), Signature: n.GetSigned().GetSignature()}, n.GetReceipt()}
}
