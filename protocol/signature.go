package protocol

import (
	"caucus/study"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
)

// Document is a kind of signed document. The kind is the signature's context (Ed25519ctx, RFC 8032),
// so a signature of one kind is never valid for another.
type Document string

const (
	PlanDocument     Document = "caucus plan 1"
	ForecastDocument Document = "caucus forecast 1"
	ReceiptDocument  Document = "caucus receipt 1"
	ReleaseDocument  Document = "caucus release 1"
	// HeadDocument states the head of the coordinator's ledger.
	HeadDocument       Document = "caucus head 1"
	SuccessionDocument Document = "caucus succession 1"
	AddressesDocument  Document = "caucus addresses 1"
	AmendmentDocument  Document = "caucus amendment 1"
	AcceptanceDocument Document = "caucus acceptance 1"
	// RevealDocument reveals an aggregator's half of a study's verify key, to which the aggregator had committed.
	RevealDocument Document = "caucus reveal 1"
	SetDocument    Document = "caucus set 1"
	ShareDocument  Document = "caucus share 1"
	NoticeDocument Document = "caucus notice 1"
	// ApprovalDocument is a person's approval of a study at a party.
	ApprovalDocument Document = "caucus approval 1"
)

// SignerKey is a public key for documents: a coordinator's, or an approving person's. Its text is hexadecimal.
type SignerKey [ed25519.PublicKeySize]byte

func (k SignerKey) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, k[:]), nil }

func (k *SignerKey) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(k)) {
		return fmt.Errorf("read signer key: have %d characters, want %d", len(text), hex.EncodedLen(len(k)))
	}
	_, err := hex.Decode(k[:], text)
	return err
}

func (k SignerKey) String() string { return hex.EncodeToString(k[:]) }

// Verifier checks that the coordinator signed exactly these bytes as this kind of document. Errors
// wrap ErrDamaged. SignerKey implements it, and so does Keys for a coordinator that changed keys.
type Verifier interface {
	Verify(d Document, document, signature []byte) error
}

func (k SignerKey) Verify(d Document, document, signature []byte) error {
	if ed25519.VerifyWithOptions(k[:], document, signature, &ed25519.Options{Context: string(d)}) != nil {
		return fmt.Errorf("%w: the signature of this %s is not the coordinator's", ErrDamaged, d)
	}
	return nil
}

type Signer struct{ key ed25519.PrivateKey }

func NewSigner() (*Signer, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make signer: %w", err)
	}
	return &Signer{key}, nil
}

func LoadSigner(path string) (*Signer, error) {
	key, err := loadKey(path)
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
	der, err := derOf("PRIVATE KEY", text)
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
	if err := saveKey(path, s.key); err != nil {
		return fmt.Errorf("save signer: %w", err)
	}
	return nil
}

func (s *Signer) Key() SignerKey { return SignerKey(s.key.Public().(ed25519.PublicKey)) }

func (s *Signer) Sign(d Document, document []byte) []byte {
	signature, err := s.key.Sign(nil, document, &ed25519.Options{Hash: crypto.Hash(0), Context: string(d)})
	if err != nil {
		panic(err) // only a context of more than 255 bytes fails
	}
	return signature
}

// ParseAmendments reads a plan's amendments. The coordinator must have signed each, each must follow
// the one before, and the plan must allow all of them. Errors wrap ErrDamaged or study.ErrAmendment.
func ParseAmendments(p study.Plan, h study.Hash, all []study.Signed, key Verifier) (*study.Chain, error) {
	if len(all) > study.MaxAmendments {
		return nil, fmt.Errorf("%w: %d amendments of one plan", ErrDamaged, len(all))
	}
	chain := study.NewChain(p, h)
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
