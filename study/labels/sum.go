package labels

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"caucus/study"
	"caucus/study/bodies"
)

// sum keeps the contributions of a labels study, two bytes a feature of
// each record: a fit needs every one.
type sum struct {
	bodies.KeptBodies
	dim     int // features of a record
	classes int
}

func (s *sum) Check(body []byte) error {
	_, _, err := s.parse(body)
	return err
}

// parse takes a body apart: its features, still encoded, and labels. It checks
// that the labels were released under exactly the plan's terms.
func (s *sum) parse(body []byte) (features []byte, y []int64, err error) {
	fail := func(format string, args ...any) ([]byte, []int64, error) {
		return nil, nil, fmt.Errorf("%w: %w", study.ErrContribution, fmt.Errorf(format, args...))
	}
	n, size := binary.Uvarint(body)
	if size <= 0 {
		return fail("it is truncated or not a contribution")
	}
	if n > uint64(termsOf(s.Plan).MaxRecords) {
		return fail("it has %d records, the plan takes at most %d", n, termsOf(s.Plan).MaxRecords)
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

func (s *sum) parseLabels(body []byte, n int) ([]int64, error) {
	if s.Plan.Simulated {
		if len(body) == 0 || body[0] != 0 {
			return nil, errors.New("a simulated plan takes simulated publications only")
		}
		return bodies.ParseVector(body[1:], n)
	}
	r, err := s.Published(body, s.Terms.Bound, n)
	return r.Values, err
}

func (s *sum) Add(body []byte) error {
	if err := s.Check(body); err != nil {
		return err
	}
	s.Keep(bytes.Clone(body))
	return nil
}

func (s *sum) Merge(o study.Sum) error {
	other, ok := o.(*sum)
	if !ok {
		return bodies.ErrOtherPlan
	}
	return s.KeptBodies.Merge(&other.KeptBodies)
}

// Public: the features beside the labels are for the coordinator alone.
func (s *sum) Public() bool { return false }

// records are all contributed records: features, N×dim, and noisy labels.
func (s *sum) records() (*mat.Dense, []int, error) {
	var y []int
	var all [][]byte
	for _, b := range s.All {
		features, labels, err := s.parse(b.Bytes)
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
			data[at] = float64(int16(binary.BigEndian.Uint16(features))) / bodies.FeatureUnit
			at++
		}
	}
	return x, y, nil
}
