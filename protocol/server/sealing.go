package server

import (
	"bytes"
	"crypto/hpke"
	"encoding/hex"
	"fmt"

	"caucus/protocol"
)

// SealingKey is a helper's private key, which decrypts shares.
type SealingKey struct{ key hpke.PrivateKey }

// NewSealingKey draws a key of ML-KEM-768 with X25519. Save it: shares encrypted to a lost key are
// lost.
func NewSealingKey() (*SealingKey, error) {
	kem, _, _ := protocol.SealSuite()
	key, err := kem.GenerateKey()
	if err != nil {
		return nil, fmt.Errorf("make sealing key: %w", err)
	}
	return &SealingKey{key}, nil
}

// LoadSealingKey reads a file that Save wrote, hexadecimal with white space around. It refuses a
// file that others than the owner may read.
func LoadSealingKey(path string) (*SealingKey, error) {
	text, err := protocol.ReadSecret(path)
	if err != nil {
		return nil, fmt.Errorf("read sealing key: %w", err)
	}
	secret, err := hex.DecodeString(string(bytes.TrimSpace(text)))
	if err != nil {
		return nil, fmt.Errorf("read sealing key: %s is not hexadecimal", path)
	}
	kem, _, _ := protocol.SealSuite()
	key, err := kem.NewPrivateKey(secret)
	if err != nil {
		return nil, fmt.Errorf("read sealing key: %s: %w", path, err)
	}
	return &SealingKey{key}, nil
}

// Save writes the key with mode 0600.
func (s *SealingKey) Save(path string) error {
	secret, err := s.key.Bytes()
	if err == nil {
		err = protocol.WriteSecret(path, fmt.Appendf(nil, "%x\n", secret))
	}
	if err != nil {
		return fmt.Errorf("save sealing key: %w", err)
	}
	return nil
}

// Public returns the public key, 1216 bytes.
func (s *SealingKey) Public() []byte { return s.key.PublicKey().Bytes() }

// OpenShare decrypts a share that was encrypted with exactly this binding. Errors wrap ErrDamaged.
func (s *SealingKey) OpenShare(b protocol.ShareBinding, sealed []byte) ([]byte, error) {
	const enc = protocol.SealOverhead - 16
	if len(sealed) < protocol.SealOverhead {
		return nil, fmt.Errorf("%w: a sealed share has %d bytes, at least %d are needed", protocol.ErrDamaged, len(sealed), protocol.SealOverhead)
	}
	_, kdf, aead := protocol.SealSuite()
	from, err := hpke.NewRecipient(sealed[:enc], s.key, kdf, aead, []byte(protocol.SharePurpose))
	if err != nil {
		return nil, fmt.Errorf("%w: a sealed share: %w", protocol.ErrDamaged, err)
	}
	share, err := from.Open(b.Bytes(), sealed[enc:])
	if err != nil {
		return nil, fmt.Errorf("%w: a share was sealed to another key, or for another plan, acceptance, party, weight or upload", protocol.ErrDamaged)
	}
	return share, nil
}

// NewSealKey makes a study's private key for answers, for the coordinator's store.
func NewSealKey() (private []byte, err error) {
	kem, _, _ := protocol.SealSuite()
	k, err := kem.GenerateKey()
	if err != nil {
		return nil, fmt.Errorf("make key for answers: %w", err)
	}
	return k.Bytes()
}

// SealKeyOf computes the public key, 1216 bytes, to which parties encrypt answers by file. It fails
// if the stored private key is damaged.
func SealKeyOf(private []byte) (public []byte, err error) {
	kem, _, _ := protocol.SealSuite()
	k, err := kem.NewPrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("read key for answers: %w", err)
	}
	return k.PublicKey().Bytes(), nil
}
