package study

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/privacy"
)

// means is the question of the mechanism of that name, for unit party: each
// party sends the direction of its mean of label × features, and the mean of
// these directions stands for the moments of the votes. It trains nothing at a
// party, so small parties lose nothing by learning alone; but only a linear
// classifier can be fitted to it, where votes take any.
//
// Proof note.
//   - Neighbours: replace one party. Public: plan, pool, and how many parties
//     contributed.
//   - Lemma: aggregation.MeansL2sq and aggregation.MeansL1.
//   - Numeric model: a party's vector is checked to be in range in integers,
//     last (aggregation.MeansInRange), and is zeros if it is not; the sum is
//     exact. What floating point did before decides where in the range the
//     vector is, not how far it can move.
//   - The caller guarantees that a party sends one vector. parseClear refuses
//     what is out of range, so a party that lies moves the result by no more
//     than an honest one may.
type means struct {
	plan   Plan
	design *aggregation.MeansDesign
	pool   *auxdata.Pool
}

func newMeans(p Plan, pool *auxdata.Pool) (question, error) {
	return &means{plan: p, pool: pool, design: aggregation.NewMeansDesign(pool.X, pool.Weight, len(p.Schema.Classes()))}, nil
}

func (m *means) cells() int         { return m.design.Cells() }
func (m *means) releasedCells() int { return m.design.Cells() }
func (m *means) maxWeight() int64   { return 1 }

func (m *means) local(in Inputs) ([]int64, int64) {
	return m.design.Direction(mapped(m.plan, in.Records), in.Records.Y), 1
}

// appendClear writes 16 bits a cell: the length tells nothing.
func (m *means) appendClear(vector []int64, _ int64) ([]byte, error) {
	body := make([]byte, 0, 2*len(vector))
	for _, v := range vector {
		body = binary.BigEndian.AppendUint16(body, uint16(int16(v)))
	}
	return body, nil
}

func (m *means) parseClear(body []byte) ([]int64, int64, error) {
	if want := 2 * m.cells(); len(body) != want {
		return nil, 0, fmt.Errorf("read a mean: %d bytes, want %d", len(body), want)
	}
	v := make([]int64, m.cells())
	for i := range v {
		v[i] = int64(int16(binary.BigEndian.Uint16(body[2*i:])))
	}
	if !aggregation.MeansInRange(v) {
		return nil, 0, fmt.Errorf("read a mean: it is longer than one party's may be")
	}
	return v, 1, nil
}

func (m *means) terms(int64) (terms, error) {
	t := terms{Output: "means", Bound: privacy.Bound{
		Unit: m.plan.Unit, L1: aggregation.MeansL1(m.cells()), L2sq: aggregation.MeansL2sq,
	}}
	var err error
	if m.plan.Delta == 0 {
		t.Mechanism, err = privacy.CalibratePure(t.Bound, m.cells(), m.plan.Epsilon)
	} else {
		t.Mechanism, err = privacy.CalibrateGaussian(t.Bound, m.plan.Budget())
	}
	return t, err
}

func (m *means) sensitive(vector []int64, _ int64, t terms) (privacy.Sensitive, error) {
	return privacy.NewSensitive(vector, t.Bound)
}

func (m *means) finish(total released, rng *rand.Rand) (Result, error) {
	if total.Weight <= 0 {
		return Result{}, fmt.Errorf("fit means: no party contributed")
	}
	noise, err := m.noise(total.Weight, total.Draws)
	if err != nil {
		return Result{}, err
	}
	mu, err := m.design.Mu(total.Values, total.Weight)
	if err != nil {
		return Result{}, err
	}
	fit := aggregation.FitVotes(m.pool.X, m.pool.Weight, len(m.plan.Schema.Classes()), mu, noise, m.plan.Lambda, rng)
	return classifierResult(m.plan, fit), nil
}

func (m *means) noise(parties float64, draws int) (aggregation.Noise, error) {
	t, err := m.terms(int64(parties))
	if err != nil {
		return aggregation.Noise{}, err
	}
	return m.design.Noise(float64(draws)*privacy.VarianceOf(t.Mechanism, t.Bound, 0, m.cells()), parties), nil
}
