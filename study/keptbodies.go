package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"caucus/privacy"
)

// keptBodies is the part of a Sum whose kind needs every contribution later, so
// that it keeps the bodies and grows with them: at most MaxBody a party. They
// are kept in the order of their hashes, which has nothing to do with who sent
// them, so neither order of arrival nor sharding changes its bytes. Each body
// holds what its party released through its own ledger; nothing is left to
// release.
type keptBodies struct {
	plan   Plan
	terms  terms
	id     string // of the release in every party's ledger
	bodies []keptBody
}

type keptBody struct {
	hash  [sha256.Size]byte
	bytes []byte
}

func keepBodies(p Plan, t terms) (keptBodies, error) {
	canonical, err := p.Canonical()
	if err != nil {
		return keptBodies{}, err
	}
	return keptBodies{plan: p, terms: t, id: ReleaseID(HashOf(canonical), t.Output)}, nil
}

var errOtherPlan = errors.New("merge sums: they belong to different plans")

// keep takes a checked body; two alike are kept twice.
func (k *keptBodies) keep(body []byte) {
	b := keptBody{sha256.Sum256(body), body}
	at, _ := slices.BinarySearchFunc(k.bodies, b, func(a, b keptBody) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	k.bodies = slices.Insert(k.bodies, at, b)
}

func (k *keptBodies) merge(other *keptBodies) error {
	if other.id != k.id {
		return errOtherPlan
	}
	for _, b := range other.bodies {
		k.keep(b.bytes)
	}
	return nil
}

// published reads a publication of n numbers and checks that it was released
// for this plan, under exactly its terms and under the given bound.
func (k *keptBodies) published(b []byte, bound privacy.Bound, n int) (privacy.Published, error) {
	r, err := privacy.ParsePublished(b)
	if err != nil {
		return r, err
	}
	name, parameters := k.terms.Mechanism.Name(), privacy.ParametersOf(k.terms.Mechanism)
	switch {
	case r.ID != k.id:
		return r, errors.New("it was released for another plan")
	case r.Mechanism != name || !maps.Equal(r.Parameters, parameters):
		return r, fmt.Errorf("it was released by %s %v, the plan's terms give %s %v", r.Mechanism, r.Parameters, name, parameters)
	case !r.Bound.Equal(bound):
		return r, errors.New("it was released under another bound than the plan gives")
	case len(r.Values) != n:
		return r, fmt.Errorf("it has %d released numbers, want %d", len(r.Values), n)
	}
	return r, nil
}

// Asks is empty: the parties released all there is.
func (k *keptBodies) Asks(int) ([]Ask, error) { return nil, nil }

// MarshalBinary is the bodies in order, each after its length.
func (k *keptBodies) MarshalBinary() ([]byte, error) {
	out := binary.AppendUvarint(nil, uint64(len(k.bodies)))
	for _, b := range k.bodies {
		out = append(binary.AppendUvarint(out, uint64(len(b.bytes))), b.bytes...)
	}
	return out, nil
}

func (k *keptBodies) UnmarshalBinary(b []byte) error {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)) {
		return errors.New("read sum: it is truncated")
	}
	b = b[n:]
	read := keptBodies{}
	for range count {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return errors.New("read sum: it is truncated")
		}
		read.keep(bytes.Clone(b[n : n+int(size)]))
		b = b[n+int(size):]
	}
	if len(b) != 0 {
		return fmt.Errorf("read sum: %d bytes too many", len(b))
	}
	k.bodies = read.bodies
	return nil
}
