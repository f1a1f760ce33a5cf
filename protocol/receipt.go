package protocol

import (
	"encoding/json"
	"fmt"
	"time"

	"caucus/privacy"
	"caucus/study"
)

// Receipt proves, by the coordinator's signature over Document, that a contribution is stored.
type Receipt struct {
	Plan     study.Hash       `json:"plan"`
	Party    study.PartyID    `json:"party"`
	Body     study.BodyDigest `json:"body"`
	Size     int              `json:"size"` // size of the body, in bytes
	Received time.Time        `json:"received"`
	// Ledger is the head of the coordinator's ledger. With it, a party can prove that the ledger
	// was restored.
	Ledger privacy.Head `json:"ledger"`

	Document  []byte `json:"-"`
	Signature []byte `json:"-"`
}

// Sign returns a copy of r with Document and Signature. The contribution must be on the disk
// before, as a party that holds a receipt sends nothing again.
func (r Receipt) Sign(s *Signer) (Receipt, error) {
	signed, err := SignJSON(s, ReceiptDocument, r)
	r.Document, r.Signature = signed.Document, signed.Signature
	return r, err
}

// ParseReceipt reads a receipt that the coordinator signed.
func ParseReceipt(document, signature []byte, key Verifier) (Receipt, error) {
	if err := key.Verify(ReceiptDocument, document, signature); err != nil {
		return Receipt{}, err
	}
	var r Receipt
	if err := json.Unmarshal(document, &r); err != nil {
		return Receipt{}, fmt.Errorf("%w: receipt: %v", ErrDamaged, err)
	}
	r.Document, r.Signature = document, signature
	return r, nil
}
