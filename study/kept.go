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

// Keeper is a task whose result takes every contribution, so that nothing is added
// up: the bodies stay where they are stored, as they are, until Finish reads them
// (Summed.Bodies). A task is a Keeper, or has sums.
type Keeper interface {
	Task
	Checker
	// PublicBodies says whether any reader of the release may see the bodies: all in
	// them passed a party's own ledger.
	PublicBodies() bool
}

// ErrKept is what the NewSum of a Keeper says.
var ErrKept = errors.New("its contributions are kept and not added up: read their bodies")

// Checker decides the validity of contributions.
type Checker interface {
	// Check says whether a body is a valid contribution; an error wraps
	// ErrContribution. It is what decides validity on receipt.
	Check(body []byte) error
}

// NewChecker checks contributions to a task. It is for one goroutine at a time.
func NewChecker(t Task) (Checker, error) {
	if k, ok := t.(Keeper); ok {
		return k, nil
	}
	return t.NewSum()
}

// Bodies are the bodies of all contributions, each as often as it was contributed,
// in the order of their SHA-256: neither who sent one nor when decides its place. A
// walk reads them one at a time, and may be repeated. It ends at the first error.
type Bodies iter.Seq2[[]byte, error]

// ErrOtherBodies: bodies are not those that were received.
var ErrOtherBodies = errors.New("the bodies are not those that were received")

// BodiesOf are bodies in memory, given in any order.
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

// MarshalBinary is how many bodies there are, and the bodies in order, each after its
// length: all numbers as uvarints.
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

// ParseBodies reads what MarshalBinary writes, and how many bodies there are. It
// refuses the same bodies written in another way: that could hold something besides.
func ParseBodies(b []byte) (Bodies, int, error) {
	fail := func(what string) (Bodies, int, error) { return nil, 0, fmt.Errorf("read bodies: %s", what) }
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

// Summed is what came of a study's contributions: their sum, or of a Keeper their
// bodies. A reader of the release who does not get it has neither.
type Summed struct {
	Contributions int
	// Weight is their ballots or records together, 0 where nothing is weighed.
	Weight int64
	Sum    Sum
	Bodies Bodies
	// Senders are who sent each of the bodies, in their order, where the plan says that
	// this is for readers to know (Words.Named); nil elsewhere.
	Senders []PartyID
}

// MarshalBinary is the sum or the bodies in their canonical bytes.
func (s Summed) MarshalBinary() ([]byte, error) {
	if s.Bodies != nil {
		return s.Bodies.MarshalBinary()
	}
	return s.Sum.MarshalBinary()
}

// Gathering is contributions that come together in memory: added up, or of a Keeper
// kept, which takes as much memory as they are large.
type Gathering struct {
	Checker
	Sum   Sum // nil of a Keeper
	kept  [][]byte
	count int
}

// Gather begins with no contributions.
func Gather(t Task) (*Gathering, error) {
	c, err := NewChecker(t)
	g := &Gathering{Checker: c}
	g.Sum, _ = c.(Sum)
	return g, err
}

// Add checks a body, then takes it. An error leaves all as it was.
func (g *Gathering) Add(body []byte) error {
	if g.Sum != nil {
		if err := g.Sum.Add(body); err != nil {
			return err
		}
	} else {
		if err := g.Check(body); err != nil {
			return err
		}
		g.kept = append(g.kept, bytes.Clone(body))
	}
	g.count++
	return nil
}

// Summed is what was gathered so far.
func (g *Gathering) Summed() Summed {
	s := Summed{Contributions: g.count, Sum: g.Sum}
	if g.Sum != nil {
		s.Weight = g.Sum.Weight()
	} else {
		s.Bodies = BodiesOf(g.kept)
	}
	return s
}
