package protocol

import (
	"crypto/hpke"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"caucus/study"
)

// SealSuite is the suite of HPKE (RFC 9180) that encrypts answers and shares. Its key combines
// ML-KEM-768 and X25519, so that a copy stays unreadable even if one of the two is broken.
func SealSuite() (hpke.KEM, hpke.KDF, hpke.AEAD) {
	return hpke.MLKEM768X25519(), hpke.HKDFSHA256(), hpke.AES256GCM()
}

// SharePurpose is HPKE's info of a helper's share (SealSuite). A share encrypted for another
// purpose does not open.
const SharePurpose = "caucus helper share 2"

// SealOverhead is the number of bytes that the encryption adds to a share.
const SealOverhead = 1120 + 16

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
	// CommonPart is the nonce and the public share, the same for both servers.
	CommonPart []byte
	// OtherDigest is the SHA-256 of the other server's part.
	OtherDigest [sha256.Size]byte
}

// Bytes returns HPKE's associated data. Each field has a fixed length, or its length comes before
// it.
func (s ShareBinding) Bytes() []byte {
	out := append(append([]byte("helper"), s.Plan[:]...), s.Acceptance[:]...)
	for _, field := range [][]byte{[]byte(s.Party), s.CommonPart} {
		out = binary.BigEndian.AppendUint32(out, uint32(len(field)))
		out = append(out, field...)
	}
	out = binary.BigEndian.AppendUint64(out, uint64(s.Weight))
	return append(out, s.OtherDigest[:]...)
}

// SealShare encrypts a helper's share to its public key.
func SealShare(public []byte, b ShareBinding, share []byte) ([]byte, error) {
	fail := func(err error) ([]byte, error) { return nil, fmt.Errorf("seal share: %w", err) }
	kem, kdf, aead := SealSuite()
	to, err := kem.NewPublicKey(public)
	if err != nil {
		return fail(err)
	}
	enc, sender, err := hpke.NewSender(to, kdf, aead, []byte(SharePurpose))
	if err != nil {
		return fail(err)
	}
	box, err := sender.Seal(b.Bytes(), share)
	if err != nil {
		return fail(err)
	}
	return append(enc, box...), nil
}
