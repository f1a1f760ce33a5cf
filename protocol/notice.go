package protocol

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"caucus/privacy"
	"caucus/protocol/pb"
	"caucus/study"
)

// Notice is a study's state for one party, as callers get it in a list, but signed since carried.
type Notice struct {
	Plan  study.Hash    `json:"plan"`
	Party study.PartyID `json:"party"`
	// At is its time by the coordinator's clock.
	At          time.Time   `json:"at"`
	State       study.State `json:"state"`
	Reason      string      `json:"reason"`
	Contributed int         `json:"contributed"`
	Mine        bool        `json:"mine"`
	Lost        bool        `json:"lost"`
	Amendments  int         `json:"amendments"`
	// Ledger is the head of the coordinator's ledger.
	Ledger privacy.Head `json:"ledger"`
	// SealKey is the SHA-256 of the public key for answers; empty where the study takes none.
	SealKey keyDigest `json:"seal_key"`
	// Run names the signing coordinator process: whoever shows it knew, on reading, all it had
	// heard before that process began.
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

// ParseNotice reads a notice signed with the coordinator's newest key: others may hold earlier
// keys, and a notice says what holds now.
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

// noticesAtOnce bounds the notices of a call, some 700 bytes each.
const noticesAtOnce = 300

// notices asks for a study's notices for parties, in order, and the key for sealing answers.
func (c *Client) notices(ctx context.Context, ref string, parties []study.PartyID) (all []carriedNotice, key []byte, err error) {
	for some := range slices.Chunk(parties, noticesAtOnce) {
		r := &pb.NoticesRequest{Study: ref}
		for _, p := range some {
			r.Parties = append(r.Parties, string(p))
		}
		reply, err := c.admin.Notices(ctx, r)
		if err != nil {
			return nil, nil, FromStatus(err)
		}
		if all != nil && !bytes.Equal(key, reply.SealKey) {
			return nil, nil, fmt.Errorf("%w: the study changed meanwhile", ErrBusy)
		}
		for _, n := range reply.Notices {
			all = append(all, noticeOf(n))
		}
		key = reply.SealKey
	}
	return all, key, nil
}

// carriedNotice is a notice with the encrypted receipt of an accepted answer.
type carriedNotice struct {
	Signed
	receipt []byte
}

func noticeOf(n *pb.Notice) carriedNotice {
	return carriedNotice{Signed{Document: n.GetSigned().GetDocument(), Signature: n.GetSigned().GetSignature()}, n.GetReceipt()}
}
