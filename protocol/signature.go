package protocol

import (
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"caucus/study"
)

// DocumentKind is a kind of signed document. The kind is the signature's context (Ed25519ctx, RFC
// 8032), so a signature of one kind is never valid for another.
type DocumentKind string

const (
	// PlanDocument: a study's plan, by the coordinator. Its bytes are what a plan's hash names.
	PlanDocument DocumentKind = "caucus plan 1"
	// ForecastDocument: the operator's forecast beside a plan, by the coordinator.
	ForecastDocument DocumentKind = "caucus forecast 1"
	// ReceiptDocument: a Receipt, by the coordinator.
	ReceiptDocument DocumentKind = "caucus receipt 1"
	// ReleaseDocument: a study.Release, by the coordinator.
	ReleaseDocument DocumentKind = "caucus release 1"
	// HeadDocument states the head of the coordinator's ledger.
	HeadDocument DocumentKind = "caucus head 1"
	// SuccessionDocument: a Succession, by the old key.
	SuccessionDocument DocumentKind = "caucus succession 1"
	// AddressesDocument: where replicas answer, by the coordinator.
	AddressesDocument DocumentKind = "caucus addresses 1"
	// NumberedAddressesDocument: the same with a number (Addresses), by the coordinator.
	NumberedAddressesDocument DocumentKind = "caucus addresses 2"
	// AmendmentDocument: a link of the chain on a plan, by the coordinator.
	AmendmentDocument DocumentKind = "caucus amendment 1"
	// AcceptanceDocument: an Acceptance, which each of the two servers makes and signs for itself.
	AcceptanceDocument DocumentKind = "caucus acceptance 1"
	// RevealDocument reveals an aggregator's half of a study's verify key, to which the aggregator
	// had committed.
	RevealDocument DocumentKind = "caucus reveal 1"
	// SetDocument: a ContributionSet, whose contributions make the sum. Both servers sign the same
	// bytes.
	SetDocument DocumentKind = "caucus set 1"
	// ShareDocument: an AggregateShare, by one of the two servers.
	ShareDocument DocumentKind = "caucus share 1"
	// NoticeDocument: a Notice, by the coordinator's newest key.
	NoticeDocument DocumentKind = "caucus notice 1"
	// ApprovalDocument is a person's approval of a study at a party.
	ApprovalDocument DocumentKind = "caucus approval 1"
)

// SignerKey is a public key for documents: a coordinator's, or an approving person's. Its text is
// hexadecimal.
type SignerKey [ed25519.PublicKeySize]byte

// MarshalText writes 64 lower-case hexadecimal digits. It never fails.
func (s SignerKey) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, s[:]), nil }

// UnmarshalText takes exactly 64 hexadecimal digits. It does not check that they are a point of the
// curve: Verify fails if not.
func (s *SignerKey) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(s)) {
		return fmt.Errorf("read signer key: have %d characters, want %d", len(text),
			hex.EncodedLen(len(s)))
	}
	_, err := hex.Decode(s[:], text)
	return err
}

// String returns what MarshalText writes.
func (s SignerKey) String() string { return hex.EncodeToString(s[:]) }

// Verifier checks that the coordinator signed exactly these bytes as this kind of document. Errors
// wrap ErrDamaged. SignerKey implements it, and so does Keys for a coordinator that changed keys.
type Verifier interface {
	Verify(d DocumentKind, document, signature []byte) error
}

// Verify implements Verifier for one key, by Ed25519ctx with d as the context. The error wraps
// ErrDamaged.
func (s SignerKey) Verify(d DocumentKind, document, signature []byte) error {
	if ed25519.VerifyWithOptions(s[:], document, signature,
		&ed25519.Options{Context: string(d)}) != nil {
		return fmt.Errorf("%w: the signature of this %s is not the coordinator's", ErrDamaged, d)
	}
	return nil
}

// Signer signs documents by Ed25519 with the kind as context. Goroutines may share it.
type Signer struct{ key ed25519.PrivateKey }

// NewSigner draws a key from the operating system. Save writes it; nothing else does.
func NewSigner() (*Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make signer: %w", err)
	}
	return &Signer{key}, nil
}

// LoadSigner reads a file that Save wrote, and refuses keys other than Ed25519.
func LoadSigner(path string) (*Signer, error) {
	key, err := LoadKey(path)
	if err != nil {
		return nil, fmt.Errorf("read signer: %w", err)
	}
	k, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("read signer: %s holds another kind of key", path)
	}
	return &Signer{k}, nil
}

// ParseSigner reads the text of a file that Save wrote.
func ParseSigner(text string) (*Signer, error) {
	der, err := DEROf("PRIVATE KEY", text)
	if err != nil {
		return nil, fmt.Errorf("read signer: %w", err)
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, fmt.Errorf("read signer: %w", err)
	}
	k, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("read signer: it is another kind of key")
	}
	return &Signer{k}, nil
}

// Save writes the key with mode 0600.
func (s *Signer) Save(path string) error {
	if err := SaveKey(path, s.key); err != nil {
		return fmt.Errorf("save signer: %w", err)
	}
	return nil
}

// Key returns the public key, which invitations and policies name.
func (s *Signer) Key() SignerKey { return SignerKey(s.key.Public().(ed25519.PublicKey)) }

// Certificate returns a certificate of the signer's own key by a template, for TLS. Only a template
// that x509 refuses gives an error.
func (s *Signer) Certificate(template *x509.Certificate) (tls.Certificate, error) {
	der, err := x509.CreateCertificate(rand.Reader, template, template, s.key.Public(), s.key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make certificate of a signing key: %w", err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: s.key}, nil
}

// Sign returns 64 bytes, the same for the same document. It panics only for a kind of more than 255
// bytes, and there is none.
func (s *Signer) Sign(d DocumentKind, document []byte) []byte {
	signature, err := s.key.Sign(nil, document,
		&ed25519.Options{Hash: crypto.Hash(0), Context: string(d)})
	if err != nil {
		panic(err) // only a context of more than 255 bytes fails
	}
	return signature
}

// ParseAmendments reads a plan's amendments. The coordinator must have signed each, each must
// follow the one before, and the plan must allow all of them. Errors wrap ErrDamaged or
// study.ErrAmendment.
func ParseAmendments(p study.Plan, h study.Hash, all []study.Signed,
	key Verifier) (*study.AmendmentChain,
	error) {
	if len(all) > study.MaxAmendments {
		return nil, fmt.Errorf("%w: %d amendments of one plan", ErrDamaged, len(all))
	}
	chain := study.NewAmendmentChain(p, h)
	for _, a := range all {
		if err := key.Verify(AmendmentDocument, a.Document, a.Signature); err != nil {
			return nil, err
		}
		if _, err := chain.Add(a.Document); err != nil {
			return nil, err
		}
	}
	return chain, nil
}

// Signed is a document's exact bytes with the signature over them. The stored bytes are the ones
// that are verified.
type Signed = study.Signed

// ReadSigned verifies a document and reads it strictly. Errors wrap ErrDamaged.
func ReadSigned(s Signed, by Verifier, kind DocumentKind, document any) error {
	if err := by.Verify(kind, s.Document, s.Signature); err != nil {
		return err
	}
	if err := study.DecodeStrictJSON(s.Document, document); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDamaged, kind, err)
	}
	return nil
}

// SignJSON signs the exact bytes of document's JSON under the kind's context. Keep these bytes:
// encoding anew could change them.
func SignJSON(by *Signer, kind DocumentKind, document any) (Signed, error) {
	b, err := json.Marshal(document)
	if err != nil {
		return Signed{}, fmt.Errorf("sign %s: %w", kind, err)
	}
	return Signed{Document: b, Signature: by.Sign(kind, b)}, nil
}
