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
func requestOf(draft Published, length int, literal bool, source Digest) asked {
	return asked{fmt.Appendf(encodePublished(draft), "%d coordinates, literal %t", length, literal), source}
}
