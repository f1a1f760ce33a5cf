package aggregation

import (
	"errors"
	"fmt"
	"math/bits"
)

// ErrBallot is wrapped by every refusal of a ballot.
var ErrBallot = errors.New("invalid ballot")

// Ballot is one classifier's votes: exactly one class for each pool row. A classifier cannot
// abstain, because the number of votes on a row would then be private.
type Ballot struct {
	classes int
	votes   []uint8
}

// MaxClasses is what a vote's byte can tell apart.
const MaxClasses = 256

// NewBallot takes one class in 0..classes−1 for each pool row, for 2 to MaxClasses classes. Errors
// wrap ErrBallot and name the row. It copies votes.
func NewBallot(votes []int, classes int) (Ballot, error) {
	if classes < 2 || classes > MaxClasses {
		return Ballot{}, fmt.Errorf("%w: %d classes, want 2 to %d", ErrBallot, classes, MaxClasses)
	}
	b := Ballot{classes: classes, votes: make([]uint8, len(votes))}
	for i, v := range votes {
		if v < 0 || v >= classes {
			return Ballot{}, fmt.Errorf("%w: vote %d on row %d is outside 0..%d", ErrBallot, v, i,
				classes-1)
		}
		b.votes[i] = uint8(v)
	}
	return b, nil
}

// Rows counts the pool's rows, each of which has exactly one vote.
func (b Ballot) Rows() int { return len(b.votes) }

// BallotBytes returns the exact size of an encoded ballot: ⌈log₂K⌉ bits per row.
func BallotBytes(rows, classes int) int { return (rows*voteBits(classes) + 7) / 8 }

func voteBits(classes int) int { return bits.Len(uint(classes - 1)) }

// AppendBinary appends the ballot: ⌈log₂K⌉ bits per row, lowest bit first, zero-padded to a byte.
func (b Ballot) AppendBinary(to []byte) ([]byte, error) {
	width := voteBits(b.classes)
	var word uint32
	have := 0
	for _, v := range b.votes {
		word |= uint32(v) << have
		for have += width; have >= 8; have -= 8 {
			to = append(to, byte(word))
			word >>= 8
		}
	}
	if have > 0 {
		to = append(to, byte(word))
	}
	return to, nil
}

// MarshalBinary returns exactly BallotBytes bytes in the form of AppendBinary, and never fails. The
// form says neither rows nor classes: a reader must know both.
func (b Ballot) MarshalBinary() ([]byte, error) {
	return b.AppendBinary(make([]byte, 0, BallotBytes(len(b.votes), b.classes)))
}

// ParseBallot reads a ballot on a pool of the given rows, and accepts exactly MarshalBinary's
// bytes.
func ParseBallot(data []byte, rows, classes int) (Ballot, error) {
	if classes < 2 || classes > MaxClasses || rows < 0 {
		return Ballot{}, fmt.Errorf("%w: %d rows and %d classes", ErrBallot, rows, classes)
	}
	if want := BallotBytes(rows, classes); len(data) != want {
		return Ballot{}, fmt.Errorf("%w: %d bytes, want %d for %d rows of %d classes: it is truncated or meant for another pool", ErrBallot, len(data), want, rows, classes)
	}
	b := Ballot{classes: classes, votes: make([]uint8, rows)}
	width := voteBits(classes)
	mask := uint32(1)<<width - 1
	var word uint32
	have, next := 0, 0
	for i := range b.votes {
		for have < width {
			word |= uint32(data[next]) << have
			next, have = next+1, have+8
		}
		v := word & mask
		if int(v) >= classes {
			return Ballot{}, fmt.Errorf("%w: vote %d on row %d is outside 0..%d", ErrBallot, v, i,
				classes-1)
		}
		b.votes[i] = uint8(v)
		word, have = word>>width, have-width
	}
	if word != 0 {
		return Ballot{}, fmt.Errorf("%w: the padding is not zero", ErrBallot)
	}
	return b, nil
}

// ConstantBallot votes for class 0 on every row. A party without training data casts this ballot.
func ConstantBallot(rows, classes int) Ballot {
	return Ballot{classes: classes, votes: make([]uint8, rows)}
}
