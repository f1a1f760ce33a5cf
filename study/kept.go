package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"slices"
)

// BodyKeeper is a task whose Finish reads the stored bodies of all contributions, because they are
// not added up.
type BodyKeeper interface {
	Task
	Checker
	// PublicBodies reports whether every reader may see the bodies, because each passed a party's
	// own ledger.
	PublicBodies() bool
}

// ErrNoSum is the error of a Keeper's NewSum.
var ErrNoSum = errors.New("its contributions are kept and not added up: read their bodies")

// Checker decides whether contributions are valid, from a body and public terms alone.
type Checker interface {
	// Check returns an error that wraps ErrContribution if a body is invalid. It is called when a
	// body arrives.
	Check(body []byte) error
}

// NewChecker makes a checker of contributions to a task, for one goroutine.
func NewChecker(t Task) (Checker, error) {
	if k, ok := t.(BodyKeeper); ok {
		return k, nil
	}
	return t.NewSum()
}

// Bodies iterates over all bodies, duplicates included, in the order of their SHA-256, which hides
// sender and time. It reads one body at a time, can be repeated, and ends at the first error.
type Bodies iter.Seq2[[]byte, error]

// ErrBodiesChanged refuses stored bodies whose number or digests differ from those at receipt: a
// disk or a person changed them.
var ErrBodiesChanged = errors.New("the bodies are not those that were received")

// BodiesOf iterates over bodies in memory, given in any order.
func BodiesOf(all [][]byte) Bodies {
	type named struct {
		name BodyDigest
		body []byte
	}
	sorted := make([]named, len(all))
	for i, b := range all {
		sorted[i] = named{sha256.Sum256(b), b}
	}
	slices.SortStableFunc(sorted, func(a, b named) int { return a.name.Compare(b.name) })
	return func(yield func([]byte, error) bool) {
		for _, b := range sorted {
			if !yield(b.body, nil) {
				return
			}
		}
	}
}

// MarshalBinary writes the number of bodies, and then the length and bytes of each. All lengths are
// uvarints.
func (b Bodies) MarshalBinary() ([]byte, error) {
	var out []byte
	count := uint64(0)
	for body, err := range b {
		if err != nil {
			return nil, err
		}
		out = append(binary.AppendUvarint(out, uint64(len(body))), body...)
		count++
	}
	return append(binary.AppendUvarint(nil, count), out...), nil
}

// ParseBodies reads the output of MarshalBinary and also returns the number of bodies. Another
// encoding of the same bodies is refused, because it could hide further data.
func ParseBodies(b []byte) (Bodies, int, error) {
	fail := func(what string) (Bodies, int, error) {
		return nil, 0, fmt.Errorf("read bodies: %s", what)
	}
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)) {
		return fail("they are truncated")
	}
	rest := b[n:]
	var all [][]byte
	for range count {
		size, n := binary.Uvarint(rest)
		if n <= 0 || size > uint64(len(rest)-n) {
			return fail("they are truncated")
		}
		all = append(all, bytes.Clone(rest[n:n+int(size)]))
		rest = rest[n+int(size):]
	}
	read := BodiesOf(all)
	again, err := read.MarshalBinary()
	if err != nil {
		return nil, 0, err
	}
	if !bytes.Equal(again, b) {
		return fail("they are not written in the canonical way")
	}
	return read, len(all), nil
}

// Contributions holds a study's contributions: their sum or, for a Keeper, their bodies. Both are
// nil for readers who may not see them.
type Contributions struct {
	Contributions int
	Weight        int64 // total of ballots or records; 0 if contributions have no weight
	Sum           Sum
	Bodies        Bodies
	// the sender of each body, in the order of Bodies; nil if readers may not see senders
	// (Words.ShownByName)
	Senders []PartyID
}

// MarshalBinary returns the canonical bytes of the sum or the bodies.
func (c Contributions) MarshalBinary() ([]byte, error) {
	if c.Bodies != nil {
		return c.Bodies.MarshalBinary()
	}
	return c.Sum.MarshalBinary()
}

// Accumulator collects contributions in memory: their sum or, for a Keeper, their bodies.
type Accumulator struct {
	Checker
	Sum   Sum // nil if the task is a Keeper
	kept  [][]byte
	count int
}

// NewAccumulator starts without contributions. For a Keeper memory grows with their number, else it
// does not.
func NewAccumulator(t Task) (*Accumulator, error) {
	c, err := NewChecker(t)
	g := &Accumulator{Checker: c}
	g.Sum, _ = c.(Sum)
	return g, err
}

// Add checks a body and adds it. After an error, the gathering is as before.
func (a *Accumulator) Add(body []byte) error {
	if a.Sum != nil {
		if err := a.Sum.Add(body); err != nil {
			return err
		}
	} else {
		if err := a.Check(body); err != nil {
			return err
		}
		a.kept = append(a.kept, bytes.Clone(body))
	}
	a.count++
	return nil
}

// Contributions returns what was added so far. The sum is shared with g: do not Add afterwards.
func (a *Accumulator) Contributions() Contributions {
	s := Contributions{Contributions: a.count, Sum: a.Sum}
	if a.Sum != nil {
		s.Weight = a.Sum.Weight()
	} else {
		s.Bodies = BodiesOf(a.kept)
	}
	return s
}
