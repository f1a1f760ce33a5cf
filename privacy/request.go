package privacy

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
)

// asked is what a ledger is asked for under an id. Its digest is in the entry:
// the same id asked for anything else is ErrConflict, without a draw.
//
// The terms are public. The source may be a digest of private bytes, such as of
// the exact contributions in a sum: whoever could compare it with guesses would
// have them. So the entry's digest is over SHA-256(salt ‖ source), under 256
// random bits that only the journal has, and a line shows nothing of it.
type asked struct {
	terms  []byte
	source Digest // zero: nothing beyond the terms
}

// under is the digest of what is asked, under an entry's salt.
func (a asked) under(salt [32]byte) [32]byte {
	if a.source == (Digest{}) {
		return sha256.Sum256(a.terms)
	}
	hidden := sha256.Sum256(slices.Concat(salt[:], a.source[:]))
	return sha256.Sum256(slices.Concat(a.terms, hidden[:]))
}

// salt is a new one where something has to be hidden. What a simulation makes
// repeats, and hides nothing.
func (a asked) salt(simulated bool) (salt [32]byte) {
	if a.source != (Digest{}) && !simulated {
		rand.Read(salt[:])
	}
	return salt
}

// requestOf is what a release asks: everything but values and number.
func requestOf(draft Published, shape string, source Digest) asked {
	return asked{append(encodePublished(draft), shape...), source}
}

// shapeOf says of what a vector is made.
func shapeOf(length int, literal bool) string {
	return fmt.Sprintf("%d coordinates, literal %t", length, literal)
}

// shape says of what a secret is made: a share is never asked for as the vector.
func (s *secret) shape() string {
	if s.residues != nil {
		return fmt.Sprintf("%d coordinates mod %v", len(s.residues), s.modulus)
	}
	return shapeOf(max(len(s.values), len(s.reals)), s.values == nil)
}
