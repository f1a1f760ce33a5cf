package bodies

import (
	"encoding/binary"
	"fmt"
	"math"

	"caucus/study"
)

// ClearSum adds contributions without noise. The coordinator adds noise once, to the sum.
type ClearSum struct {
	Statistic Statistic
	committed bool // each body begins with a commitment
	vector    []int64
	weight    int64
}

// NewClearSum makes an empty sum of bodies that have no commitment (Statistic.AppendClear).
func NewClearSum(q Statistic) *ClearSum {
	return &ClearSum{Statistic: q, vector: make([]int64, q.Cells())}
}

// Check reads the whole body and keeps nothing. Errors wrap study.ErrContribution.
func (c *ClearSum) Check(body []byte) error {
	_, _, err := c.parse(body)
	return err
}

func (c *ClearSum) parse(body []byte) ([]int64, int64, error) {
	if c.committed {
		if len(body) < commitmentSize {
			return nil, 0, fmt.Errorf("%w: it has no commitment before its numbers",
				study.ErrContribution)
		}
		body = body[commitmentSize:]
	}
	v, w, err := c.Statistic.ParseClear(body)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", study.ErrContribution, err)
	}
	return v, w, nil
}

// Add adds exact integers, so order does not matter. An error leaves the sum unchanged.
func (c *ClearSum) Add(body []byte) error {
	v, w, err := c.parse(body)
	if err != nil {
		return err
	}
	addInto(c.vector, v)
	c.weight += w
	return nil
}

// Merge adds another sum of the same statistic's length. It does not compare plans.
func (c *ClearSum) Merge(o study.Sum) error {
	other, ok := o.(*ClearSum)
	if !ok || len(other.vector) != len(c.vector) {
		return fmt.Errorf("merge sums: they belong to different plans")
	}
	addInto(c.vector, other.vector)
	c.weight += other.weight
	return nil
}

// Requests asks for one release of the whole sum, on terms of its weight. The number of
// contributions has no influence.
func (c *ClearSum) Requests(int) ([]study.Request, error) {
	return Requests(c.Statistic, c.vector, c.weight)
}

// ReadersMaySee is false: exact sums are for the coordinator alone, and no reader of a release may
// see one.
func (c *ClearSum) ReadersMaySee() bool { return false }

// Contributions is −1: weight is counted, not contributions.
func (c *ClearSum) Contributions() int { return -1 }

// Weight is the total of ballots or records as the bodies declare it. Each party's share of it is
// public.
func (c *ClearSum) Weight() int64 { return c.weight }

// MarshalBinary writes weight and vector as signed varints. The length depends on the sum: store it
// where its exact bytes may be seen.
func (c *ClearSum) MarshalBinary() ([]byte, error) {
	return AppendVector(binary.AppendVarint(nil, c.weight), c.vector), nil
}

// UnmarshalBinary replaces the sum. It refuses another number of cells, bytes at the end and a
// negative weight; the old sum then stays.
func (c *ClearSum) UnmarshalBinary(b []byte) error {
	w, b, err := CutVarint(b)
	if err != nil {
		return err
	}
	vector, err := ParseVector(b, len(c.vector))
	if err != nil {
		return err
	}
	if w < 0 {
		return fmt.Errorf("read sum: its weight is %d", w)
	}
	c.vector, c.weight = vector, w
	return nil
}

// releasedSum adds the parties' own releases, so the sum contains every party's noise.
type releasedSum struct {
	q      Statistic
	at     PartyReleases
	vector []int64
	weight int64
	draws  int
}

func releasedOf(p study.Plan, q Statistic) (PartyReleases, error) {
	t, err := q.Terms(1)
	if err != nil {
		return PartyReleases{}, err
	}
	return NewPartyReleases(p, t)
}

const weightSize = 8

func (rs *releasedSum) Check(body []byte) error {
	_, _, err := rs.parse(body)
	return err
}

func (rs *releasedSum) Add(body []byte) error {
	v, w, err := rs.parse(body)
	if err != nil {
		return err
	}
	addInto(rs.vector, v)
	rs.weight += w
	rs.draws++
	return nil
}

func (rs *releasedSum) parse(body []byte) ([]int64, int64, error) {
	fail := func(format string, args ...any) ([]int64, int64, error) {
		return nil, 0, fmt.Errorf("%w: %w", study.ErrContribution, fmt.Errorf(format, args...))
	}
	if len(body) < weightSize {
		return fail("it is truncated or not a contribution")
	}
	weight, body := binary.BigEndian.Uint64(body), body[weightSize:]
	if least, most := rs.q.Weights(); weight < uint64(least) || weight > uint64(most) {
		return fail("it declares a weight of %d, the plan takes %d to %d", weight, least, most)
	}
	r, err := rs.at.Published(body, len(rs.vector))
	if err != nil {
		return fail("%w", err)
	}
	for _, v := range r.Reals { // only in simulations
		r.Values = append(r.Values, int64(math.Round(v)))
	}
	if r.Simulated {
		return r.Values, int64(weight), nil
	}
	// The limit keeps the sum over all sites from overflowing. Honest values are far smaller.
	limit := (1 << 60) / rs.at.Plan.MostParties()
	for _, v := range r.Values {
		if v < -limit || v > limit {
			return fail("a value is beyond %d, which no honest release is", limit)
		}
	}
	return r.Values, int64(weight), nil
}

func (rs *releasedSum) Merge(o study.Sum) error {
	other, ok := o.(*releasedSum)
	if !ok || other.at.id != rs.at.id {
		return fmt.Errorf("merge sums: they belong to different plans")
	}
	addInto(rs.vector, other.vector)
	rs.weight += other.weight
	rs.draws += other.draws
	return nil
}

func (rs *releasedSum) Requests(int) ([]study.Request, error) { return nil, nil }

func (rs *releasedSum) ReadersMaySee() bool { return true }
func (rs *releasedSum) Contributions() int  { return rs.draws }
func (rs *releasedSum) Weight() int64       { return rs.weight }

func (rs *releasedSum) MarshalBinary() ([]byte, error) {
	b := binary.AppendVarint(nil, rs.weight)
	b = binary.AppendVarint(b, int64(rs.draws))
	return AppendVector(b, rs.vector), nil
}

func (rs *releasedSum) UnmarshalBinary(b []byte) error {
	w, b, err := CutVarint(b)
	if err != nil {
		return err
	}
	d, b, err := CutVarint(b)
	if err != nil {
		return err
	}
	vector, err := ParseVector(b, len(rs.vector))
	if err != nil {
		return err
	}
	if w < 0 || d < 0 {
		return fmt.Errorf("read sum: its weight is %d, of %d draws", w, d)
	}
	rs.vector, rs.weight, rs.draws = vector, w, int(d)
	return nil
}

func (rs *releasedSum) released() Total {
	total := Total{Weight: float64(rs.weight), Draws: rs.draws,
		Values: make([]float64, len(rs.vector))}
	for i, v := range rs.vector {
		total.Values[i] = float64(v)
	}
	return total
}

func addInto(sum, v []int64) {
	for i, x := range v {
		sum[i] += x
	}
}

// AppendVector appends signed varints, 1 to 10 bytes each, so the length shows magnitudes.
func AppendVector(b []byte, v []int64) []byte {
	for _, x := range v {
		b = binary.AppendVarint(b, x)
	}
	return b
}

// ParseVector reads exactly this number of varints, and refuses bytes after them.
func ParseVector(b []byte, cells int) ([]int64, error) {
	v := make([]int64, cells)
	for i := range v {
		var err error
		if v[i], b, err = CutVarint(b); err != nil {
			return nil, err
		}
	}
	if len(b) != 0 {
		return nil, fmt.Errorf("read sum: %d bytes too many", len(b))
	}
	return v, nil
}

// AppendFixed appends 8 big-endian bytes for each number, in two's complement, so the length shows
// nothing.
func AppendFixed(b []byte, v []int64) []byte {
	for _, x := range v {
		b = binary.BigEndian.AppendUint64(b, uint64(x))
	}
	return b
}

// ParseFixed reads integers of 8 bytes and demands exactly 8·cells bytes.
func ParseFixed(b []byte, cells int) ([]int64, error) {
	if len(b) != 8*cells {
		return nil, fmt.Errorf("read sum: %d bytes, want %d", len(b), 8*cells)
	}
	v := make([]int64, cells)
	for i := range v {
		v[i] = int64(binary.BigEndian.Uint64(b[8*i:]))
	}
	return v, nil
}

// AppendSums writes exact sums in a fixed width, because a variable length would reveal their
// magnitude.
func AppendSums(sums []int64, records int64) []byte {
	return AppendFixed(binary.AppendVarint(nil, records), sums)
}

// ParseSums reads the output of AppendSums and checks sizes. The statistic checks values.
func ParseSums(what string, body []byte, q Statistic) ([]int64, int64, error) {
	records, rest, err := CutVarint(body)
	if err != nil {
		return nil, 0, err
	}
	if least, most := q.Weights(); records < least || records > most {
		return nil, 0, fmt.Errorf("read %s: %d records, at most %d are allowed", what, records,
			most)
	}
	sums, err := ParseFixed(rest, q.Cells())
	return sums, records, err
}

// CutVarint reads a signed varint and returns the bytes after it. It refuses a cut or overlong one.
func CutVarint(b []byte) (int64, []byte, error) {
	v, n := binary.Varint(b)
	if n <= 0 {
		return 0, nil, fmt.Errorf("read sum: it is truncated")
	}
	return v, b[n:], nil
}
