package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Sentinels for callers that must branch on why a contribution was refused.
var (
	// ErrNotOpen: the study is not open, or no longer.
	ErrNotOpen = errors.New("the study is not open")
	// ErrNotEnrolled: the party is not on the roster.
	ErrNotEnrolled = errors.New("the party is not on the study's roster")
	// ErrOtherPlan: the contribution was made for another plan.
	ErrOtherPlan = errors.New("the contribution was made for another plan")
	// ErrOtherBytes: the party has contributed already, something else.
	ErrOtherBytes = errors.New("the party has already contributed other bytes to this study")
	// ErrTooFew: fewer have contributed than the study seals with.
	ErrTooFew = errors.New("too few have contributed")
)

// State is where a study is in its life.
type State string

// The life of a study: Draft → Open → Sealed → Folded → Released, or Failed; and from
// Failed to Open again while no noise was drawn.
const (
	InDraft  State = "draft"
	Open     State = "open"
	Sealed   State = "sealed"
	Folded   State = "folded"
	Released State = "released"
	Failed   State = "failed"
)

// States are all of them, in the order of a life.
func States() []State { return []State{InDraft, Open, Sealed, Folded, Released, Failed} }

// BodyDigest is the SHA-256 of a contribution's body.
type BodyDigest [sha256.Size]byte

// String is the digest in hexadecimal.
func (d BodyDigest) String() string { return hex.EncodeToString(d[:]) }

// What seals a study before its deadline, beside that all have contributed.
const (
	// SealedByRule: as many contributed as the plan or an amendment asks for.
	SealedByRule = "rule"
	// SealedByOperator: an operator closed it.
	SealedByOperator = "operator"
)

// Compare orders digests by their bytes.
func (d BodyDigest) Compare(other BodyDigest) int { return bytes.Compare(d[:], other[:]) }
