package survival

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"caucus/aggregation/shares"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/keyed"
)

// Counts is the statistic of a survival plan: one histogram of the records, by group, interval of
// time and event.
//
// Proof note.
//   - Neighbours: replace one record, or at unit party all records of one party. Public: the plan
//     and, at unit record, each site's number of records.
//   - Lemma: a record lies in exactly one cell (Layout.Of): cell 0 takes every record without a
//     time, an event or a group of its own, and those that fail the condition (Records.IsExcluded).
//     So a record that moves from cell a to cell b changes the histogram by e_b − e_a: by 2 in L1
//     and in L2², in two cells, or not at all; the sum stays. At unit party a histogram x of at
//     most c records becomes y of at most c, both non-negative: ‖x − y‖₁ ≤ 2c, ‖x − y‖² ≤ ‖x‖² +
//     ‖y‖² ≤ 2c².
//   - Without cell 0 a record that leaves the study would change one cell and the sum.
//   - Numeric model: counts are integers. Floating point decides the cell from the one record and
//     the plan. So rounding can move a record to another cell but never into two.
//   - The caller guarantees that one party is behind a site. A site counts at most the per-party
//     number of records (Local), chosen by keys; at unit party nothing else reveals a site's size
//     (Weights).
type Counts struct {
	plan  study.Plan
	terms Terms
	Layout
}

func newCounts(p study.Plan) (*Counts, error) {
	t := study.TermsOf[Terms](p)
	l, err := LayoutOf(p.Schema, t)
	return &Counts{plan: p, terms: t, Layout: l}, err
}

func boundOf(p study.Plan, t Terms) privacy.Bound {
	if c := t.PerParty; p.Unit == privacy.Party {
		return privacy.Bound{Unit: p.Unit, L1: 2 * c, L2sq: 2 * c * c}
	}
	return privacy.Bound{Unit: p.Unit, L1: 2, L2sq: 2, Cells: 2, PerParty: t.PerParty,
		PerPatient: p.PerPatient}
}

// Bound returns how far one unit moves the histogram.
func (c *Counts) Bound() privacy.Bound { return boundOf(c.plan, c.terms) }

// ReleasedCells is Cells: the histogram is released as it is, with noise.
func (c *Counts) ReleasedCells() int { return c.Cells() }

// Weights returns the range of a contribution's weight, which is its number of records. At unit
// party the weight is always 1, which hides that number.
func (c *Counts) Weights() (int64, int64) {
	if c.plan.Unit == privacy.Party {
		return 1, 1
	}
	return 0, c.most()
}

func (c *Counts) most() int64 {
	most := int64(1<<40) / c.plan.MostParties()
	if k := c.terms.PerParty; k > 0 {
		most = min(most, k)
	}
	return most
}

// Additive is false at unit party, where the weight is not the number of records.
func (c *Counts) Additive(records int64) bool {
	return c.plan.Unit != privacy.Party && records <= c.most()
}

// Local counts a party's records.
func (c *Counts) Local(in study.Inputs) ([]int64, int64) {
	records := keyed.AtMostRecords(in, c.plan.Unit, c.most())
	weight := int64(records.Len())
	if c.plan.Unit == privacy.Party {
		weight = 1
	}
	return c.count(records), weight
}

func (c *Counts) count(r *dataset.Records) []int64 {
	out := make([]int64, c.Cells())
	for i := range r.Y {
		out[c.CellOf(r, i)]++
	}
	return out
}

// CellOf returns the cell of record i. Records that fail the condition lie in cell 0.
func (c *Counts) CellOf(r *dataset.Records, i int) int {
	if r.IsExcluded(i) {
		return 0
	}
	return c.Of(r.X.RawRowView(i), r.Y[i])
}

// AppendClear encodes a contribution without noise.
func (c *Counts) AppendClear(vector []int64, weight int64) ([]byte, error) {
	return bodies.AppendSums(vector, weight), nil
}

// ParseClear refuses counts that do not add up to the number of records or, at unit party, to more
// than the plan's bound.
func (c *Counts) ParseClear(body []byte) ([]int64, int64, error) {
	v, weight, err := bodies.ParseSums("counts", body, c)
	if err != nil {
		return nil, 0, err
	}
	sum := int64(0)
	for _, n := range v {
		if n < 0 || n > c.most() {
			return nil, 0, errors.New("read counts: one is of no number of records that the plan takes")
		}
		sum += n // no overflow: at most 2¹⁶ counts of 2⁴⁰
	}
	if sum > c.most() || c.plan.Unit != privacy.Party && sum != weight {
		return nil, 0, errors.New("read counts: they are not of the records that are declared")
	}
	return v, weight, nil
}

// Form gives the range of a cell, from 0 to the number of records. A party's number is private at
// unit party, so there the range ends at the largest number of records that may count.
func (c *Counts) Form(weight int64) shares.VectorForm {
	if c.plan.Unit == privacy.Party {
		weight = c.most()
	}
	return shares.CountForm(c.Cells(), weight)
}

// Terms ignores the number of records, so all sites have the same terms.
func (c *Counts) Terms(int64) (study.ReleaseTerms, error) {
	m, err := c.plan.Calibrate(c.Bound(), c.Cells())
	return study.ReleaseTerms{Output: "histogram", Bound: c.Bound(), Mechanism: m}, err
}

// Sensitive wraps a vector under the plan's bound.
func (c *Counts) Sensitive(
	vector []int64, _ int64, t study.ReleaseTerms,
) (privacy.Sensitive, error) {
	return privacy.NewSensitive(vector, t.Bound)
}

// Deviation returns the standard deviation of the noise on a count that has so many noises.
func (c *Counts) Deviation(draws int) (float64, error) {
	v, err := variance(c.plan, c.terms, c.Cells(), draws)
	return math.Sqrt(v), err
}

// Counts implements study.Counter: it describes one site's histogram before noise, a line for each
// group.
func (t Task) Counts(values []int64) ([]string, int64) {
	c := t.Counted
	if len(values) != c.Cells() {
		return nil, 1
	}
	var lines []string
	lines = append(lines, fmt.Sprintf("in no curve: %d", values[0]))
	for g, name := range c.Groups {
		run := values[1+g*c.CountsPerGroup() : 1+(g+1)*c.CountsPerGroup()]
		line, from := cmp.Or(name, "all")+":", 0.
		for j, edge := range c.Edges {
			at := run[j*c.Columns : (j+1)*c.Columns]
			line += fmt.Sprintf(" %g to %g: %d with the event", from, edge, at[0])
			for k, cause := range c.terms.Causes {
				line += fmt.Sprintf(", %d with %s", at[k+1], cause)
			}
			line += fmt.Sprintf(", %d last seen;", at[len(at)-1])
			from = edge
		}
		lines = append(lines, line+fmt.Sprintf(" %d beyond", run[len(run)-1]))
	}
	return lines, 1
}
