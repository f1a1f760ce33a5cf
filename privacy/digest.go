package privacy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

// Digest is a SHA-256 hash; as text it is hexadecimal.
type Digest [sha256.Size]byte

// String returns 64 lower-case hexadecimal digits, the form in heads, journals and JSON.
func (d Digest) String() string { return hex.EncodeToString(d[:]) }

// MarshalText writes what String returns. It never fails.
func (d Digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText takes exactly 64 hexadecimal digits, of either case. After an error d may be partly
// changed.
func (d *Digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return fmt.Errorf("read digest: have %d characters, want %d", len(text),
			hex.EncodedLen(len(d)))
	}
	_, err := hex.Decode(d[:], text)
	return err
}
