package bodies

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"caucus/privacy"
	"caucus/study"
)

// KeptBodies is the part of a Sum whose kind needs every contribution later, so
// that it keeps the bodies and grows with them: at most MaxBody a party. They
// are kept in the order of their hashes, which has nothing to do with who sent
// them, so neither order of arrival nor sharding changes its bytes. Each body
// holds what its party released through its own ledger; nothing is left to
// release.
type KeptBodies struct {
	Plan  study.Plan
	Terms study.ReleaseTerms
	id    string // of the release in every party's ledger
	All   []Body
}

type Body struct {
	hash  [sha256.Size]byte
	Bytes []byte
}

func KeepBodies(p study.Plan, t study.ReleaseTerms) (KeptBodies, error) {
	canonical, err := p.Canonical()
	if err != nil {
		return KeptBodies{}, err
	}
	return KeptBodies{Plan: p, Terms: t, id: study.ReleaseID(study.HashOf(canonical), t.Output)}, nil
}

var ErrOtherPlan = errors.New("merge sums: they belong to different plans")

// Keep takes a checked body; two alike are kept twice.
func (k *KeptBodies) Keep(body []byte) {
	b := Body{sha256.Sum256(body), body}
	at, _ := slices.BinarySearchFunc(k.All, b, func(a, b Body) int { return bytes.Compare(a.hash[:], b.hash[:]) })
	k.All = slices.Insert(k.All, at, b)
}

func (k *KeptBodies) Merge(other *KeptBodies) error {
	if other.id != k.id {
		return ErrOtherPlan
	}
	for _, b := range other.All {
		k.Keep(b.Bytes)
	}
	return nil
}

// Published reads a publication of n numbers and checks that it was released
// for this plan, under exactly its terms and under the given bound.
func (k *KeptBodies) Published(b []byte, bound privacy.Bound, n int) (privacy.Published, error) {
	r, err := privacy.ParsePublished(b)
	if err != nil {
		return r, err
	}
	name, parameters := k.Terms.Mechanism.Name(), privacy.ParametersOf(k.Terms.Mechanism)
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

func (k *KeptBodies) Contributions() int { return len(k.All) }
func (k *KeptBodies) Weight() int64      { return 0 }

// Requests is empty: the parties released all there is.
func (k *KeptBodies) Requests(int) ([]study.Request, error) { return nil, nil }

// MarshalBinary is the bodies in order, each after its length.
func (k *KeptBodies) MarshalBinary() ([]byte, error) {
	out := binary.AppendUvarint(nil, uint64(len(k.All)))
	for _, b := range k.All {
		out = append(binary.AppendUvarint(out, uint64(len(b.Bytes))), b.Bytes...)
	}
	return out, nil
}

func (k *KeptBodies) UnmarshalBinary(b []byte) error {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)) {
		return errors.New("read sum: it is truncated")
	}
	b = b[n:]
	read := KeptBodies{}
	for range count {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return errors.New("read sum: it is truncated")
		}
		read.Keep(bytes.Clone(b[n : n+int(size)]))
		b = b[n+int(size):]
	}
	if len(b) != 0 {
		return fmt.Errorf("read sum: %d bytes too many", len(b))
	}
	k.All = read.All
	return nil
}

// ErrForm: a fitted result is not of the form that the plan gives it.
var ErrForm = errors.New("its fitted numbers are not of the form that the plan gives them")
