package privacy

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"slices"
)

// asked is a caller's request under an id. The entry holds its digest: asking for anything else
// under the same id is ErrConflict, without a draw.
//
// The terms are public. The source may be a digest of private bytes, such as the exact
// contributions in a sum. Anyone could test guesses against a bare digest, so the entry stores
// SHA-256 over the terms and SHA-256(salt ‖ source). The salt has 256 random bits and is only in
// the journal; a line reveals nothing about the source.
type asked struct {
	terms  []byte
	source Digest // zero if nothing is asked beyond the terms
}

func (a asked) under(salt [32]byte) [32]byte {
	if a.source == (Digest{}) {
		return sha256.Sum256(a.terms)
	}
	hidden := sha256.Sum256(slices.Concat(salt[:], a.source[:]))
	return sha256.Sum256(slices.Concat(a.terms, hidden[:]))
}

// salt returns a new salt if there is a source to hide. A simulation uses none, because it must
// repeat.
func (a asked) salt(simulated bool) (salt [32]byte) {
	if a.source != (Digest{}) && !simulated {
		rand.Read(salt[:])
	}
	return salt
}

// requestOf returns the request for a draft: everything in the draft except values and sequence
// number.
func requestOf(draft Published, shape string, source Digest) asked {
	return asked{append(encodePublished(draft), shape...), source}
}

func shapeOf(length int, literal bool) string {
	return fmt.Sprintf("%d coordinates, literal %t", length, literal)
}

// shape describes a secret's form, so that asking for a share never equals asking for the vector.
func (s *secret) shape() string {
	if s.residues != nil {
		return fmt.Sprintf("%d coordinates mod %v", len(s.residues), s.modulus)
	}
	return shapeOf(max(len(s.values), len(s.reals)), s.values == nil)
}
