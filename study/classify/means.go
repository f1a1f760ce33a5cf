package classify

import (
	"encoding/binary"
	"fmt"

	"caucus/aggregation"
	"caucus/aggregation/shares"
	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// means is the statistic of mechanism means, for unit party. Each party sends its mean of label ×
// features, scaled to a fixed norm. A linear classifier is fitted to the average of these
// directions. Parties train nothing, so a party with few records does not send the votes of a poor
// classifier. But a party cannot use another learner, as it can for votes.
//
// Proof note.
//   - Neighbours: replace one party. Public: plan, pool, and the number of parties that
//     contributed.
//   - Lemma: aggregation.MeansL2sq and aggregation.MeansL1.
//   - Numeric model: the last step checks in integers that a party's vector is in range, and sends
//     zeros if not (aggregation.MeansInRange). The sum is exact. Earlier floating-point steps
//     decide where in the range the vector lies, not how far it can move.
//   - The caller guarantees that a party sends one vector. ParseClear refuses a vector out of
//     range, so a lying party moves the result no further than an honest one may.
type means struct {
	plan   study.Plan
	design *aggregation.MeansDesign
	pool   *auxdata.Pool
}

func newMeans(p study.Plan, pool *auxdata.Pool) (bodies.Statistic, error) {
	return &means{plan: p, pool: pool,
		design: aggregation.NewMeansDesign(pool.X, pool.Weight, len(p.Schema.Classes()))}, nil
}

func (m *means) Cells() int                   { return m.design.Cells() }
func (m *means) ReleasedCells() int           { return m.design.Cells() }
func (m *means) Weights() (least, most int64) { return 1, 1 }

func (m *means) Local(in study.Inputs) ([]int64, int64) {
	sum := m.design.NewSum()
	for r := range in.RecordBlocks() {
		m.design.Add(sum, m.plan.MapRecords(r), r.Y)
	}
	return m.design.PartyVector(sum), 1
}

func (m *means) Blockwise(int) bool { return true }

// AppendClear writes 16 bits for each number, so the length reveals nothing.
func (m *means) AppendClear(vector []int64, _ int64) ([]byte, error) {
	body := make([]byte, 0, 2*len(vector))
	for _, v := range vector {
		body = binary.BigEndian.AppendUint16(body, uint16(int16(v)))
	}
	return body, nil
}

func (m *means) ParseClear(body []byte) ([]int64, int64, error) {
	if want := 2 * m.Cells(); len(body) != want {
		return nil, 0, fmt.Errorf("read a mean: %d bytes, want %d", len(body), want)
	}
	v := make([]int64, m.Cells())
	for i := range v {
		v[i] = int64(int16(binary.BigEndian.Uint16(body[2*i:])))
	}
	if !aggregation.MeansInRange(v) {
		return nil, 0, fmt.Errorf("read a mean: it is longer than one party's may be")
	}
	return v, 1, nil
}

// Form proves the range of each number, but not the vector's norm.
func (m *means) Form(int64) shares.VectorForm {
	return shares.IntegerForm(m.Cells(), aggregation.MaxMeansEntry)
}

func (m *means) Terms(int64) (study.ReleaseTerms, error) {
	t := study.ReleaseTerms{Output: "means", Bound: privacy.Bound{
		Unit: m.plan.Unit, L1: aggregation.MeansL1(m.Cells()), L2sq: aggregation.MeansL2sq,
	}}
	var err error
	t.Mechanism, err = m.plan.Calibrate(t.Bound, m.Cells())
	return t, err
}

func (m *means) Sensitive(vector []int64, _ int64, t study.ReleaseTerms) (privacy.Sensitive,
	error) {
	return privacy.NewSensitive(vector, t.Bound)
}

// Means returns the design of mechanism means, nil for other mechanisms.
func (t Task) Means() *aggregation.MeansDesign {
	if m, ok := t.Statistic.(*means); ok {
		return m.design
	}
	return nil
}
