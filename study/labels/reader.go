package labels

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"caucus/study"
	"caucus/study/bodies"
)

// reader reads contributions, which have two bytes for each feature of a record.
type reader struct {
	bodies.AtParties
	most    int // largest number of records of a contribution
	dim     int // number of features of a record
	classes int
	// empty holds the encoded features of an empty record (records).
	empty []byte
}

func (l task) Check(body []byte) error {
	_, _, err := l.reader.parse(body)
	return err
}

func (l task) NewSum() (study.Sum, error) { return nil, study.ErrKept }

// PublicBodies returns false, because only the coordinator may see the features.
func (l task) PublicBodies() bool { return false }

// parse splits a body into encoded features and labels. It checks that labels were released on the
// plan's terms.
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

// records returns the features (N×dim) and noisy labels of all contributed records, except those
// with the features of an empty record. An agent adds empty records up to its declared number, and
// sends an empty record for each record that fails the plan's condition. Their labels are uniform
// and would pull each class's share to 1/K. Leaving them out reveals nothing, because their clear
// features show that they are empty. A first reading of the bodies counts the records, so that the
// matrix can be allocated, and a second reading fills it.
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
