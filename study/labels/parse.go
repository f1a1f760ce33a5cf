package labels

import (
	"encoding/binary"
	"fmt"

	"caucus/study"
)

// Check refuses a body that Parse refuses.
func (t Task) Check(body []byte) error {
	_, _, err := t.Parse(body)
	return err
}

// NewSum returns study.ErrNoSum, because contributions are not added up.
func (t Task) NewSum() (study.Sum, error) { return nil, study.ErrNoSum }

// PublicBodies returns false, because only the coordinator may see the features.
func (t Task) PublicBodies() bool { return false }

// Parse splits a body into encoded features, two bytes for each of a record's mapped features, and
// noisy labels. It checks that labels were released on the plan's terms. Its errors wrap
// study.ErrContribution.
func (t Task) Parse(body []byte) (features []byte, y []int64, err error) {
	dim, classes := t.Plan().Map.Dim(), len(t.Plan().Schema.Label.Classes)
	fail := func(format string, args ...any) ([]byte, []int64, error) {
		return nil, nil, fmt.Errorf("%w: %w", study.ErrContribution, fmt.Errorf(format, args...))
	}
	n, size := binary.Uvarint(body)
	if size <= 0 {
		return fail("it is truncated or not a contribution")
	}
	if n > uint64(t.most) {
		return fail("it has %d records, the plan takes at most %d", n, t.most)
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
	if len(body) < 2*dim*int(n) {
		return fail("it is truncated")
	}
	features, body = body[:2*dim*int(n)], body[2*dim*int(n):]
	r, err := t.released.Published(body, int(n))
	if err != nil {
		return fail("%w", err)
	}
	y = r.Values
	for i, k := range y {
		if k < 0 || k >= int64(classes) {
			return fail("the label of record %d is none of the schema's %d classes", i, classes)
		}
	}
	return features, y, nil
}
