package protocol

import (
	"bytes"
	"crypto/hpke"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"caucus/study"
)

// A helper's share is encrypted by HPKE (RFC 9180) to a combined key of ML-KEM-768 and X25519, so
// that a copied share stays unreadable even if one of the two is broken.
var (
	sealingKEM  = hpke.MLKEM768X25519()
	sealingKDF  = hpke.HKDFSHA256()
	sealingAEAD = hpke.AES256GCM()
)

// sealingInfo is HPKE's info. A share encrypted for another purpose does not open.
const sealingInfo = "caucus helper share 2"

// SealOverhead is the number of bytes that the encryption adds to a share.
const SealOverhead = 1120 + 16

// SealingKey is a helper's private key, which decrypts shares.
type SealingKey struct{ key hpke.PrivateKey }

// NewSealingKey draws a key of ML-KEM-768 with X25519. Save it: shares encrypted to a lost key are
// lost.
func NewSealingKey() (*SealingKey, error) {
	key, err := sealingKEM.GenerateKey()
	if err != nil {
		return nil, fmt.Errorf("make sealing key: %w", err)
	}
	return &SealingKey{key}, nil
}

// LoadSealingKey reads a file that Save wrote, hexadecimal with white space around. It refuses a
// file that others than the owner may read.
func LoadSealingKey(path string) (*SealingKey, error) {
	text, err := readSecret(path)
	if err != nil {
		return nil, fmt.Errorf("read sealing key: %w", err)
	}
	secret, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		return nil, fmt.Errorf("read sealing key: %s is not hexadecimal", path)
	}
	key, err := sealingKEM.NewPrivateKey(secret)
	if err != nil {
		return nil, fmt.Errorf("read sealing key: %s: %w", path, err)
	}
	return &SealingKey{key}, nil
}

// Save writes the key with mode 0600.
func (s *SealingKey) Save(path string) error {
	secret, err := s.key.Bytes()
	if err == nil {
		err = WriteSecret(path, fmt.Appendf(nil, "%x\n", secret))
	}
	if err != nil {
		return fmt.Errorf("save sealing key: %w", err)
	}
	return nil
}

// Public returns the public key, 1216 bytes.
func (s *SealingKey) Public() []byte { return s.key.PublicKey().Bytes() }

// KeyPin is the SHA-256 of a helper's public sealing key. Parties' policies contain it, in
// hexadecimal.
type KeyPin [sha256.Size]byte

// SealingPin returns the SHA-256 of a public key of 1216 bytes.
func SealingPin(public []byte) KeyPin { return sha256.Sum256(public) }

// String returns 64 lower-case hexadecimal digits, as a policy has them.
func (k KeyPin) String() string { return hex.EncodeToString(k[:]) }

// MarshalText writes what String returns. It never fails.
func (k KeyPin) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, k[:]), nil }

// UnmarshalText takes exactly 64 hexadecimal digits, of either case. A helper's other key has the
// same length: only a comparison tells them apart.
func (k *KeyPin) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(k)) {
		return fmt.Errorf("read pin of a sealing key: have %d characters, want %d", len(text), hex.EncodedLen(len(k)))
	}
	_, err := hex.Decode(k[:], text)
	return err
}

// ShareBinding names the context of an encrypted share, which opens only with the same binding.
type ShareBinding struct {
	Plan study.Hash
	// Acceptance is the digest of the helper's acceptance under which the share was made. A helper
	// that was restored to an older state accepts the plan again, with another verify key, and then
	// opens no earlier share.
	Acceptance study.Hash
	Party      study.PartyID
	Weight     int64 // ballots or records, public
	// Head is the nonce and the public share, the same for both servers.
	Head []byte
	// Other is the SHA-256 of the other server's part.
	Other [sha256.Size]byte
}

// bytes returns HPKE's associated data. Each field has a fixed length, or its length comes before
// it.
func (s ShareBinding) bytes() []byte {
	out := append(append([]byte("helper"), s.Plan[:]...), s.Acceptance[:]...)
	for _, field := range [][]byte{[]byte(s.Party), s.Head} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(field)))
		out = append(out, field...)
	}
	out = binary.BigEndian.AppendUint64(out, uint64(s.Weight))
	return append(out, s.Other[:]...)
}

// SealShare encrypts a helper's share to its public key.
func SealShare(public []byte, b ShareBinding, share []byte) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, fmt.Errorf("seal share: %w", err) }
	to, err := sealingKEM.NewPublicKey(public)
	if err != nil {
		return fail(err)
	}
	enc, sender, err := hpke.NewSender(to, sealingKDF, sealingAEAD, []byte(sealingInfo))
	if err != nil {
		return fail(err)
	}
	box, err := sender.Seal(b.bytes(), share)
	if err != nil {
		return fail(err)
	}
	return append(enc, box...), nil
}

// OpenShare decrypts a share that was encrypted with exactly this binding. Errors wrap ErrDamaged.
func (s *SealingKey) OpenShare(b ShareBinding, sealed []byte) ([]byte, error) {
	const enc = SealOverhead - 16
	if len(sealed) < SealOverhead {
		return nil, fmt.Errorf("%w: a sealed share has %d bytes, at least %d are needed", ErrDamaged, len(sealed), SealOverhead)
	}
	from, err := hpke.NewRecipient(sealed[:enc], s.key, sealingKDF, sealingAEAD,
		[]byte(sealingInfo))
	if err != nil {
		return nil, fmt.Errorf("%w: a sealed share: %w", ErrDamaged, err)
	}
	share, err := from.Open(b.bytes(), sealed[enc:])
	if err != nil {
		return nil, fmt.Errorf("%w: a share was sealed to another key, or for another plan, acceptance, party, weight or upload", ErrDamaged)
	}
	return share, nil
}
