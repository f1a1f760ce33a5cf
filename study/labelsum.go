package study

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/privacy"
)

// labelSum keeps the contributions of a labels study: a fit needs every
// record, so unlike other sums it grows with them, two bytes a feature. It
// keeps them sorted, so neither order of arrival nor sharding changes its
// bytes.
type labelSum struct {
	plan    Plan
	terms   terms
	id      string // of the release in every party's ledger
	dim     int    // features of a record
	classes int
	bodies  [][]byte
}

func newLabelSum(p Plan, pool *auxdata.Pool) (*labelSum, error) {
	if err := samePool(p, pool); err != nil {
		return nil, err
	}
	t, err := labelTerms(p)
	if err != nil {
		return nil, err
	}
	canonical, err := p.Canonical()
	if err != nil {
		return nil, err
	}
	return &labelSum{
		plan: p, terms: t, id: releaseID(HashOf(canonical), t.Output),
		dim: pool.Dim(), classes: len(p.Schema.Label.Classes),
	}, nil
}

func (s *labelSum) Check(body []byte) error {
	_, _, err := s.parse(body)
	return err
}

// parse takes a body apart: its features, still encoded, and labels. It checks
// that the labels were released under exactly the plan's terms.
func (s *labelSum) parse(body []byte) (features []byte, y []int64, err error) {
	fail := func(format string, args ...any) ([]byte, []int64, error) {
		return nil, nil, fmt.Errorf("%w: %w", ErrContribution, fmt.Errorf(format, args...))
	}
	n, size := binary.Uvarint(body)
	if size <= 0 {
		return fail("it is truncated or not a contribution")
	}
	if n > uint64(s.plan.Labels.MaxRecords) {
		return fail("it has %d records, the plan takes at most %d", n, s.plan.Labels.MaxRecords)
	}
	if size != len(binary.AppendUvarint(nil, n)) {
		return fail("its number of records is not written in the shortest way")
	}
	body = body[size:]
	if n == 0 {
		if len(body) > 0 {
			return fail("%d bytes follow no records", len(body))
		}
		return nil, nil, nil
	}
	if len(body) < 2*s.dim*int(n) {
		return fail("it is truncated")
	}
	features, body = body[:2*s.dim*int(n)], body[2*s.dim*int(n):]
	if y, err = s.parseLabels(body, int(n)); err != nil {
		return fail("%w", err)
	}
	for i, k := range y {
		if k < 0 || k >= int64(s.classes) {
			return fail("the label of record %d is none of the schema's %d classes", i, s.classes)
		}
	}
	return features, y, nil
}

func (s *labelSum) parseLabels(body []byte, n int) ([]int64, error) {
	if s.plan.Simulated {
		if len(body) == 0 || body[0] != 0 {
			return nil, errors.New("a simulated plan takes simulated publications only")
		}
		return parseVector(body[1:], n)
	}
	r, err := privacy.ParsePublished(body)
	if err != nil {
		return nil, err
	}
	switch want := s.terms; {
	case r.ID != s.id:
		return nil, errors.New("its labels were released for another plan")
	case r.Mechanism != want.Mechanism.Name() || !maps.Equal(r.Parameters, privacy.ParametersOf(want.Mechanism)):
		return nil, fmt.Errorf("its labels were released by %s %v, the plan's terms give %s %v", r.Mechanism, r.Parameters, want.Mechanism.Name(), privacy.ParametersOf(want.Mechanism))
	case !r.Bound.Equal(want.Bound):
		return nil, errors.New("its labels were released under another bound than the plan gives")
	case len(r.Values) != n:
		return nil, fmt.Errorf("it has %d labels for %d records", len(r.Values), n)
	}
	return r.Values, nil
}

func (s *labelSum) Add(body []byte) error {
	if err := s.Check(body); err != nil {
		return err
	}
	s.insert(bytes.Clone(body))
	return nil
}

// insert keeps bodies in the order of their hashes, which has nothing to do with
// who sent them.
func (s *labelSum) insert(body []byte) {
	at, _ := slices.BinarySearchFunc(s.bodies, sha256.Sum256(body), func(b []byte, h [sha256.Size]byte) int {
		other := sha256.Sum256(b)
		return bytes.Compare(other[:], h[:])
	})
	s.bodies = slices.Insert(s.bodies, at, body)
}

func (s *labelSum) Merge(o Sum) error {
	other, ok := o.(*labelSum)
	if !ok || other.id != s.id {
		return fmt.Errorf("merge sums: they belong to different plans")
	}
	for _, b := range other.bodies {
		s.insert(b)
	}
	return nil
}

func (s *labelSum) Asks(int) ([]Ask, error) { return nil, nil }

func (s *labelSum) MarshalBinary() ([]byte, error) {
	out := binary.AppendUvarint(nil, uint64(len(s.bodies)))
	for _, b := range s.bodies {
		out = append(binary.AppendUvarint(out, uint64(len(b))), b...)
	}
	return out, nil
}

func (s *labelSum) UnmarshalBinary(b []byte) error {
	count, n := binary.Uvarint(b)
	if n <= 0 || count > uint64(len(b)) {
		return errors.New("read sum: it is truncated")
	}
	b = b[n:]
	bodies := make([][]byte, 0, count)
	for range count {
		size, n := binary.Uvarint(b)
		if n <= 0 || size > uint64(len(b)-n) {
			return errors.New("read sum: it is truncated")
		}
		bodies = append(bodies, bytes.Clone(b[n:n+int(size)]))
		b = b[n+int(size):]
	}
	if len(b) != 0 {
		return fmt.Errorf("read sum: %d bytes too many", len(b))
	}
	s.bodies = bodies
	return nil
}

// records are all contributed records: features, N×dim, and noisy labels.
func (s *labelSum) records() (*mat.Dense, []int, error) {
	var y []int
	var all [][]byte
	for _, body := range s.bodies {
		features, labels, err := s.parse(body)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, features)
		for _, k := range labels {
			y = append(y, int(k))
		}
	}
	if len(y) == 0 {
		return &mat.Dense{}, nil, nil
	}
	x := mat.NewDense(len(y), s.dim, nil)
	data := x.RawMatrix().Data
	at := 0
	for _, features := range all {
		for ; len(features) > 0; features = features[2:] {
			data[at] = float64(int16(binary.BigEndian.Uint16(features))) / featureUnit
			at++
		}
	}
	return x, y, nil
}
