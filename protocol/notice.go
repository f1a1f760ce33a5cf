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

// Notice is a study's state for one party. Client.Studies lists them; a carried file has one
// signed.
type Notice struct {
	Plan  study.Hash    `json:"plan"`
	Party study.PartyID `json:"party"`
	// At is the coordinator's time.
	At                time.Time    `json:"at"`
	State             study.State  `json:"state"`
	Reason            string       `json:"reason"`
	Contributed       int          `json:"contributed"`
	CallerContributed bool         `json:"mine"`
	CallerLost        bool         `json:"lost"`
	Amendments        int          `json:"amendments"`
	Ledger            privacy.Head `json:"ledger"`
	// SealKey is the SHA-256 of the public key to which answers are encrypted, empty if the study
	// takes none.
	SealKey keyDigest `json:"seal_key"`
	// ProcessID identifies the coordinator's process that signed. A party that shows this notice
	// has received everything that the coordinator sent to it before that process started.
	ProcessID keyDigest `json:"run"`
}

type keyDigest []byte

func (k keyDigest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, k), nil }

func (k *keyDigest) UnmarshalText(text []byte) (err error) {
	*k, err = hex.AppendDecode(keyDigest{}, text)
	return err
}

// Sign encodes the notice once; the signature covers exactly these bytes. Sign with the newest key,
// because ParseNotice accepts no other.
func (n Notice) Sign(s *Signer) (Signed, error) {
	return SignJSON(s, NoticeDocument, n)
}

// ParseNotice reads a notice that the coordinator signed with its newest key. It refuses earlier
// keys, because a notice states the present, and an earlier key may be in other hands.
func ParseNotice(s Signed, keys Keys) (Notice, error) {
	var n Notice
	if err := keys.Newest().Verify(NoticeDocument, s.Document, s.Signature); err != nil {
		return n, err
	}
	return n, decodeNotice(s.Document, &n)
}

func decodeNotice(document []byte, n *Notice) error {
	if err := study.DecodeStrictJSON(document, n); err != nil {
		return fmt.Errorf("%w: notice: %v", ErrDamaged, err)
	}
	if again, err := json.Marshal(n); err != nil || !bytes.Equal(again, document) {
		return fmt.Errorf("%w: notice: it is not written in the canonical way", ErrDamaged)
	}
	return nil
}

// carriedNotice is a notice with the party's encrypted receipt, if the party's answer was accepted.
type carriedNotice struct {
	Signed
	receipt []byte
}

func noticeOf(n *pb.Notice) carriedNotice {
	return carriedNotice{Signed{Document: n.GetSigned().GetDocument(),
		Signature: n.GetSigned().GetSignature()}, n.GetReceipt()}
}
