package labels

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"caucus/study"
	"caucus/study/bodies"
)

// reader reads the contributions of a labels study, two bytes a feature of each
// record. A fit takes every one, so that they are kept as they are.
type reader struct {
	bodies.AtParties
	most    int // records of a contribution
	dim     int // features of a record
	classes int
	// empty are the features of a record without any: see records.
	empty []byte
}

func (l task) Check(body []byte) error {
	_, _, err := l.reader.parse(body)
	return err
}

// NewSum: see Keeper.
func (l task) NewSum() (study.Sum, error) { return nil, study.ErrKept }

// PublicBodies: the features beside the labels are for the coordinator alone.
func (l task) PublicBodies() bool { return false }

// parse takes a body apart: its features, still encoded, and labels. It checks
// that the labels were released under exactly the plan's terms.
func (s reader) parse(body []byte) (features []byte, y []int64, err error) {
	fail := func(format string, args ...any) ([]byte, []int64, error) {
		return nil, nil, fmt.Errorf("%w: %w", study.ErrContribution, fmt.Errorf(format, args...))
	}
	n, size := binary.Uvarint(body)
	if size <= 0 {
		return fail("it is truncated or not a contribution")
	}
	if n > uint64(s.most) {
		return fail("it has %d records, the plan takes at most %d", n, s.most)
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
	r, err := s.Published(body, int(n))
	if err != nil {
		return fail("%w", err)
	}
	y = r.Values
	for i, k := range y {
		if k < 0 || k >= int64(s.classes) {
			return fail("the label of record %d is none of the schema's %d classes", i, s.classes)
		}
	}
	return features, y, nil
}

// records are all contributed records: features, N×dim, and noisy labels. Left out are
// those whose features are an empty record's. An agent fills up its number with these,
// and sends one for each record that the plan is not about; their labels are uniform and
// would pull each class's share to 1/K. That one is empty is in the clear features alone.
// It walks the bodies twice, first to count, so that the matrix is made once and each
// body can go when it was read.
func (s reader) records(all study.Bodies) (*mat.Dense, []int, error) {
	var y []int
	err := s.each(all, func(_ []byte, label int64) { y = append(y, int(label)) })
	if err != nil || len(y) == 0 {
		return &mat.Dense{}, nil, err
	}
	x, at := mat.NewDense(len(y), s.dim, nil), 0
	err = s.each(all, func(features []byte, _ int64) {
		row := x.RawRowView(at)
		for j := range row {
			row[j] = float64(int16(binary.BigEndian.Uint16(features[2*j:]))) / bodies.FeatureUnit
		}
		at++
	})
	return x, y, err
}

// each calls do for every record that is not empty.
func (s reader) each(all study.Bodies, do func(features []byte, label int64)) error {
	for body, err := range all {
		if err != nil {
			return err
		}
		features, labels, err := s.parse(body)
		if err != nil {
			return err
		}
		for i, k := range labels {
			if of := features[2*s.dim*i : 2*s.dim*(i+1)]; !bytes.Equal(of, s.empty) {
				do(of, k)
			}
		}
	}
	return nil
}
