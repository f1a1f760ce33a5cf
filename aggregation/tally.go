package aggregation

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
)

// ErrTally is wrapped by every refusal of an encoded tally, and of adding tallies of different
// shapes.
var ErrTally = errors.New("invalid tally")

// Tally counts, for each pool row, the ballots that chose each class. Its size does not grow with
// the number of ballots. Additions are exact and commute, so neither order of arrival nor sharding
// changes a bit.
type Tally struct {
	rows, classes int
	ballots       int64
	counts        []int64 // row-major rows × classes
}

// NewTally returns a tally of no ballots, which takes 8·rows·classes bytes. It does not check its
// arguments.
func NewTally(rows, classes int) *Tally {
	return &Tally{rows: rows, classes: classes, counts: make([]int64, rows*classes)}
}

// Ballots counts what was added, also by Merge: the sum of each row's counts.
func (t *Tally) Ballots() int64 { return t.ballots }

// Rows is the number of the pool's rows, and so of votes in each ballot.
func (t *Tally) Rows() int { return t.rows }

// Classes is the number K that each added ballot must have, also where Vector keeps only one count
// of two.
func (t *Tally) Classes() int { return t.classes }

// Count returns the number of ballots that chose class k on row i.
func (t *Tally) Count(i, k int) int64 { return t.counts[i*t.classes+k] }

// Add counts one vote in each row of b. A ballot of another shape gives an error that wraps
// ErrTally, and changes nothing. Concurrent calls need a lock.
func (t *Tally) Add(b Ballot) error {
	if b.classes != t.classes || len(b.votes) != t.rows {
		return fmt.Errorf("%w: a ballot on %d rows of %d classes does not fit a tally of %d rows of %d classes", ErrTally, len(b.votes), b.classes, t.rows, t.classes)
	}
	for i, v := range b.votes {
		t.counts[i*t.classes+int(v)]++
	}
	t.ballots++
	return nil
}

// Merge adds the counts of o, which stays as it is, so that shards of a tally give the same sum in
// any order. Another shape gives ErrTally and changes nothing.
func (t *Tally) Merge(o *Tally) error {
	if o.rows != t.rows || o.classes != t.classes {
		return fmt.Errorf("%w: %d rows of %d classes do not fit %d rows of %d classes", ErrTally, o.rows, o.classes, t.rows, t.classes)
	}
	for i, c := range o.counts {
		t.counts[i] += c
	}
	t.ballots += o.ballots
	return nil
}

// Vector returns the integer vector that mechanisms release, row-major rows ×
// learners.WeightColumns(classes): for two classes the second class's count alone, otherwise all K.
func (t *Tally) Vector() []int64 {
	if t.classes != 2 {
		return append([]int64(nil), t.counts...)
	}
	v := make([]int64, t.rows)
	for i := range v {
		v[i] = t.counts[2*i+1]
	}
	return v
}

func countBytes(ballots int64) int { return (bits.Len64(uint64(ballots)) + 7) / 8 }

// MarshalBinary writes the number of ballots as a varint, then each count in as many bytes as the
// number of ballots needs, so that the size reveals nothing. It omits the last class of each row.
func (t *Tally) MarshalBinary() ([]byte, error) {
	out := binary.AppendUvarint(nil, uint64(t.ballots))
	width := countBytes(t.ballots)
	for i := range t.rows {
		for k := range t.classes - 1 {
			c := binary.LittleEndian.AppendUint64(nil, uint64(t.Count(i, k)))
			out = append(out, c[:width]...)
		}
	}
	return out, nil
}

// ParseTally reads the output of MarshalBinary. It refuses negative counts, rows that do not sum to
// the number of ballots, and more than maxBallots ballots.
func ParseTally(data []byte, rows, classes int, maxBallots int64) (*Tally, error) {
	ballots, n := binary.Uvarint(data)
	if n <= 0 || ballots > uint64(max(maxBallots, 0)) {
		return nil, fmt.Errorf("%w: it is truncated, or counts more than the %d ballots allowed", ErrTally, maxBallots)
	}
	data = data[n:]
	width := countBytes(int64(ballots))
	if want := rows * (classes - 1) * width; len(data) != want {
		return nil, fmt.Errorf("%w: %d bytes of counts, want %d", ErrTally, len(data), want)
	}
	t := NewTally(rows, classes)
	t.ballots = int64(ballots)
	for i := range rows {
		rest := t.ballots
		for k := range classes - 1 {
			var c [8]byte
			copy(c[:], data[:width])
			data = data[width:]
			count := binary.LittleEndian.Uint64(c[:])
			if count > uint64(rest) {
				return nil, fmt.Errorf("%w: row %d has more votes than the %d ballots", ErrTally, i,
					ballots)
			}
			t.counts[i*classes+k] = int64(count)
			rest -= int64(count)
		}
		t.counts[i*classes+classes-1] = rest
	}
	return t, nil
}

// TallyOf returns the tally whose Vector is vector.
func TallyOf(vector []int64, rows, classes int, ballots int64) *Tally {
	t := NewTally(rows, classes)
	t.ballots = ballots
	if classes != 2 {
		copy(t.counts, vector)
		return t
	}
	for i := range rows {
		t.counts[2*i], t.counts[2*i+1] = ballots-vector[i], vector[i]
	}
	return t
}

// OnlyBallot turns a tally of exactly one ballot back into it. For other tallies the result means
// nothing: a row's last class with count 1, or class 0.
func (t *Tally) OnlyBallot() Ballot {
	b := ConstantBallot(t.rows, t.classes)
	for i := range t.rows {
		for k := range t.classes {
			if t.Count(i, k) == 1 {
				b.votes[i] = uint8(k)
			}
		}
	}
	return b
}
