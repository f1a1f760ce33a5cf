package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Errors that refuse a contribution or a step, for callers that branch on them.
var (
	ErrNotOpen         = errors.New("the study is not open")
	ErrNotEnrolled     = errors.New("the party is not on the study's roster")
	ErrDifferentPlan   = errors.New("the contribution was made for another plan")
	ErrDifferentUpload = errors.New("the party has already contributed other bytes to this study")
	ErrTooFew          = errors.New("too few have contributed")
)

// State is a step in a study's life.
type State string

// Draft → Open → Sealed → Summed → Released. Each may become Failed, which can open again if no
// noise was drawn.
const (
	Draft    State = "draft"
	Open     State = "open"
	Sealed   State = "sealed"
	Summed   State = "folded"
	Released State = "released"
	Failed   State = "failed"
)

// States lists all states in the order of a life.
func States() []State { return []State{Draft, Open, Sealed, Summed, Released, Failed} }

// BodyDigest is the SHA-256 of a contribution's body.
type BodyDigest [sha256.Size]byte

// String returns 64 lower-case hexadecimal digits.
func (b BodyDigest) String() string { return hex.EncodeToString(b[:]) }

// Causes that seal a study before its deadline while contributions are missing.
const (
	SealedByRule     = "rule"     // enough contributed under the rule in force
	SealedByOperator = "operator" // an operator closed it
)

// Compare orders digests by their bytes.
func (b BodyDigest) Compare(other BodyDigest) int { return bytes.Compare(b[:], other[:]) }
