package describe

import (
	"fmt"
	"math"

	"caucus/aggregation/shares"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/keyed"
)

const (
	// leastStep is the least integer that a record adds to a count beside sums of
	// Column.BinCorrections, and the only one in plans of before study.FormCommitted.
	leastStep = 1024
	// sumShare is what a record adds to a count, divided by the most that it adds to a sum of
	// Column.BinCorrections. With 8, these sums make Gaussian noise 6 % larger and Laplace noise up
	// to 25 %. In a mean, the noise of such a sum is 4 times a count's noise times the widest bin's
	// width, less than the noise from the counts.
	sumShare = 8
	// Up to fineRecords, and up to fineEpsilon, the rounding of the sums is below a tenth of their
	// noise.
	fineRecords, fineEpsilon = 10_000_000, 10
)

// stepOf returns what a record adds to a count, for a plan of d columns, k of them numbers.
//
// Proof note.
//   - Claim: with n ≤ fineRecords and ε ≤ fineEpsilon, rounding moves the sums of v and of v² that
//     moments estimates by at most a tenth of the standard deviation of their noise, whatever the
//     records are.
//   - Let q be the step, and S = q/4 the integers in a widest bin, of width w (steps). Rounding to
//     nearest moves a record's term of a sum by at most ½, so n records by at most n/2, in the
//     number's unit nw/(2S). The noise on a sum has a deviation of at least q√(2d+k/8)/ε: the L2
//     bound is L ≥ q√(2d+k/8), Gaussian noise has the deviation L/√(2ρ) with ρ ≤ ε²/2 (for δ ≤ ε),
//     Laplace noise √2·L1/ε ≥ L/ε, and K-norm noise at least L/ε. In the number's unit that is
//     4w√(2d+k/8)/ε.
//   - moments adds one sum to that of v, and a combination of both to that of v², with weights that
//     its noise has too. |a|+|b| ≤ √2·√(a²+b²), so the ratio is at most a tenth if
//     q ≥ 5·√2·nε/√(2d+k/8). The noise of the counts and of further draws makes the ratio smaller.
//   - No overflow: q is less than twice that, so q²(2d+k/8) < 2⁶³ with n = fineRecords and
//     ε ≤ fineEpsilon; or q is leastStep, and d ≤ maxCells. Weights bounds the sum of all sites.
//   - Numeric model: √ and the four operations are rounded alike everywhere, so all machines agree.
func stepOf(p study.Plan, d, k int64) int64 {
	step := int64(leastStep)
	if p.Form < study.FormCommitted {
		return step
	}
	least := 5 * math.Sqrt2 * fineRecords * math.Min(p.Epsilon, fineEpsilon)
	least /= math.Sqrt(2*float64(d) + float64(k)/sumShare)
	for float64(step) < least {
		step *= 2
	}
	return step
}

// counts is the statistic of a describe plan: for each group and column, the number of records in
// each cell; if the column is a number, also two sums (Column.BinCorrections); and, under a
// condition, the number of records that meet it.
//
// Proof note.
//   - Neighbours: replace one record. Public: plan, and each site's number of records.
//   - Lemma: let the record meet the condition in both neighbours. In each column it is in exactly
//     one cell of one group (column.of), which for a missing value is the last cell. If it moves to
//     another cell, with q = step the counts change by q in 2 cells, so by 2q in L1 and 2q² in L2².
//     A column with one cell and one group does not change. A number also adds two integers within
//     ±a, a = most = q/8 (the last step limits each to this range, and a missing number adds none,
//     which is 0), to the two sums of its group. If the group stays the same, each sum changes by
//     at most 2a in one cell, else by at most a in each of two cells: at most 2a in L1 and 4a² in
//     L2² for each sum. d columns that change, k of them numbers, change by 2qd + 4ak in L1, 2q²d +
//     8a²k in L2², and in 2d + 2k cells, or 2d + 4k with groups. The count of records that meet the
//     condition does not change.
//   - Lemma: let the record meet the condition in one neighbour only. It disappears from its cell
//     of each of the D columns, those with one cell too, from the sums, and from the count of
//     records that meet the condition: q(D+1) + 2ak in L1, q²(D+1) + 2a²k in L2², D + 1 + 2k cells.
//     The bound is the larger one of both lemmas (bound). A study that only counts the records that
//     meet the condition has D = 0, so q, q² and 1.
//   - Numeric model: released numbers are integers. Floating point decides the cell, and the
//     integers for the sums, from the one record and the plan. So rounding can move a record to
//     another cell but never into two, and change the integers within ±a.
//   - A record that fails the condition was replaced by the empty record and marked
//     (dataset.Records.FailsCondition). That follows from the record's own cells and the plan.
//   - The caller guarantees that one party is behind a site. A site counts at most the per-party
//     number of records (Local), and a larger weight is refused (Weights).
type counts struct {
	plan  study.Plan
	terms Terms
	Layout
}

// layout says what each number of a plan's vector counts.
type Layout struct {
	// columns are counted in each group. group is the grouping column, or nil; its cells come
	// first.
	Columns []Column
	Group   *Column
	numbers int64 // columns of numbers
	// the first number of the vector counts the records that meet the condition
	CountsCondition bool
	CountsMissing   bool  // each column counts missing values apart, and means divide by the others
	Step            int64 // integer that a record adds to a count
	// most that a record adds to a sum of Column.BinCorrections, 0 without numbers
	Most  int64
	cells int
}

func newCounts(p study.Plan) *counts {
	t := TermsOf(p)
	return &counts{plan: p, terms: t, Layout: LayoutOf(p, t)}
}

// LayoutOf returns the places of a plan's counts in the vector.
func LayoutOf(p study.Plan, t Terms) Layout {
	l := Layout{CountsCondition: p.Where != "", CountsMissing: countsMissing(p), Step: 1}
	if l.CountsCondition {
		l.cells++
	}
	if t.Count {
		return l
	}
	all := columnsOf(p.Schema, t, l.CountsMissing)
	for _, c := range all {
		if c.Levels == nil {
			l.numbers++
		}
	}
	if l.numbers > 0 {
		l.Step = stepOf(p, int64(len(all)), l.numbers)
		l.Most = l.Step / sumShare
	}
	for i, c := range all {
		if c.Name == t.By {
			c.First = l.cells
			l.cells += c.NumbersPerGroup()
			l.Group = &c
			all = append(all[:i:i], all[i+1:]...)
			break
		}
	}
	for _, c := range all {
		if c.First = l.cells; l.Group != nil {
			c.groups = l.Group.Cells()
		}
		l.cells += c.groups * c.NumbersPerGroup()
		l.Columns = append(l.Columns, c)
	}
	return l
}

func (l Layout) whole() []Column {
	if l.Group == nil {
		return l.Columns
	}
	return append([]Column{*l.Group}, l.Columns...)
}

func (l Layout) parts(out []bodies.Addend, row []float64, class int) []bodies.Addend {
	add := func(cell int, n int64) { out = append(out, bodies.Addend{Cell: cell, Adds: n}) }
	group := 0
	if l.CountsCondition {
		add(0, l.Step)
	}
	if l.Group != nil {
		group = l.Group.of(row, class)
		add(l.Group.First+group, l.Step)
	}
	for _, c := range l.Columns {
		k, at := c.of(row, class), c.At(group)
		add(at+k, l.Step)
		if c.Levels == nil && k < c.Bins() {
			first, second := c.BinCorrections(row[c.encoded], k)
			at += c.Cells()
			add(at, l.steps(first))
			add(at+1, l.steps(second))
		}
	}
	return out
}

// AddendsOf returns what each record adds to a site's vector, for a checked plan. The site releases
// the sum with noise.
func AddendsOf(p study.Plan, r *dataset.Records) [][]bodies.Addend {
	l := LayoutOf(p, TermsOf(p))
	out := make([][]bodies.Addend, r.Len())
	for i, class := range r.Y {
		if !r.IsExcluded(i) {
			out[i] = l.parts(nil, r.X.RawRowView(i), class)
		}
	}
	return out
}

// steps rounds a term of a within-bin sum, in widths of the widest bin, to nearest.
func (l Layout) steps(v float64) int64 {
	return max(-l.Most, min(int64(math.Round(v*2*float64(l.Most))), l.Most))
}

// countsMissing reports whether a plan's missing values have cells of their own, although its
// schema has none.
func countsMissing(p study.Plan) bool { return p.Form >= study.FormCommitted }

func (l Layout) count(r *dataset.Records) []int64 {
	out := make([]int64, l.cells)
	var parts []bodies.Addend
	for i, class := range r.Y {
		if r.IsExcluded(i) {
			continue
		}
		parts = l.parts(parts[:0], r.X.RawRowView(i), class)
		for _, p := range parts {
			out[p.Cell] += p.Adds
		}
	}
	return out
}

func (q *counts) bound() privacy.Bound {
	d, numbers := int64(0), q.numbers
	for _, c := range q.whole() {
		if c.Cells()*c.groups > 1 {
			d++
		}
	}
	sums := 2 * numbers // cells of within-bin sums that change
	if q.Group != nil {
		sums *= 2
	}
	step, most := q.Step, q.Most
	b := privacy.Bound{
		Unit: q.plan.Unit, PerParty: q.terms.PerParty, PerPatient: q.plan.PerPatient,
		L1: 2*step*d + 4*most*numbers, L2sq: 2*step*step*d + 8*most*most*numbers,
		Cells: int(2*d + sums),
	}
	if q.CountsCondition {
		gone := q.gone()
		b.L1, b.L2sq, b.Cells = max(b.L1, gone.L1), max(b.L2sq, gone.L2sq), max(b.Cells, gone.Cells)
	}
	return b
}

// gone returns the bound of the second lemma, for a record that meets the condition in one
// neighbour only.
func (q *counts) gone() privacy.Bound {
	all, numbers := int64(len(q.whole())), q.numbers
	return privacy.Bound{
		Unit: q.plan.Unit, PerParty: q.terms.PerParty, PerPatient: q.plan.PerPatient,
		L1: q.Step*(all+1) + 2*q.Most*numbers, L2sq: q.Step*q.Step*(all+1) + 2*q.Most*q.Most*numbers,
		Cells: int(all + 1 + 2*numbers),
	}
}

func (q *counts) Cells() int         { return q.cells }
func (q *counts) ReleasedCells() int { return q.cells }

// Weights bound a site's number of records for two reasons: no sum can overflow, and the guarantee
// for a whole party relies on the plan's largest number of records per party.
func (q *counts) Weights() (least, most int64) {
	most = min(1<<40, 1<<61/q.Step) / q.plan.MostParties()
	if k := q.terms.PerParty; k > 0 {
		most = min(most, k)
	}
	return 0, most
}

func (q *counts) Additive(records int64) bool {
	_, most := q.Weights()
	return records <= most
}

func (q *counts) Local(in study.Inputs) ([]int64, int64) {
	_, most := q.Weights()
	records := keyed.AtMostRecords(in, q.plan.Unit, most)
	return q.count(records), int64(records.Len())
}

func (q *counts) AppendClear(vector []int64, records int64) ([]byte, error) {
	return bodies.AppendSums(vector, records), nil
}

// ParseClear refuses impossible counts: each column's counts in a group must add up to the group's
// size, and the groups' sizes to the number of records that meet the condition.
func (q *counts) ParseClear(body []byte) ([]int64, int64, error) {
	v, records, err := bodies.ParseSums("counts", body, q)
	if err != nil {
		return nil, 0, err
	}
	most := records
	if q.CountsCondition {
		if v[0] < 0 || v[0]%q.Step != 0 || v[0]/q.Step > records {
			return nil, 0, fmt.Errorf("read counts: how many records the study is about is no number of %d records", records)
		}
		most = v[0] / q.Step
	}
	groups := []int64{most}
	if q.Group != nil {
		if !q.areCounts(v[q.Group.First:q.Group.First+q.Group.Cells()], most) {
			return nil, 0, fmt.Errorf("read counts: those of column %q are not of %d records", q.Group.Name, records)
		}
		groups = groups[:0]
		for _, n := range v[q.Group.First : q.Group.First+q.Group.Cells()] {
			groups = append(groups, n/q.Step)
		}
	}
	for _, c := range q.Columns {
		for g, n := range groups {
			run := v[c.At(g) : c.At(g)+c.NumbersPerGroup()]
			ok := q.areCounts(run[:c.Cells()], n)
			for _, sum := range run[c.Cells():] {
				ok = ok && sum <= n*q.Most && sum >= -n*q.Most
			}
			if !ok { // the error leaves out the counts, because errors are logged
				return nil, 0, fmt.Errorf("read counts: those of column %q are not of %d records", c.Name, records)
			}
		}
	}
	return v, records, nil
}

func (l Layout) areCounts(v []int64, records int64) bool {
	for _, n := range v {
		if n < 0 || n%l.Step != 0 || n/l.Step > records {
			return false
		}
		records -= n / l.Step
	}
	return records == 0
}

// Form gives every cell the range of a count, which contains the range of a within-bin sum. A party
// does not prove that its counts add up.
func (q *counts) Form(records int64) shares.VectorForm {
	return shares.IntegerForm(q.cells, q.Step*max(records, 1))
}

// Terms ignores the number of records, so all sites have the same terms.
func (q *counts) Terms(int64) (t study.ReleaseTerms, err error) {
	t = study.ReleaseTerms{Output: "counts", Bound: q.bound()}
	t.Mechanism, err = q.plan.Calibrate(t.Bound, q.Cells())
	return t, err
}

func (q *counts) Sensitive(vector []int64, _ int64, t study.ReleaseTerms) (privacy.Sensitive,
	error) {
	return privacy.NewSensitive(vector, t.Bound)
}

// Deviation returns the standard deviation of the noise on a count, in records.
func (q *counts) Deviation(draws int) (float64, error) {
	t, err := q.Terms(1)
	if err != nil {
		return 0, err
	}
	return math.Sqrt(float64(draws)*privacy.VarianceOf(t.Mechanism, t.Bound, 0,
		q.Cells())) / float64(q.Step), nil
}

// SumOf returns the vector of records without noise.
func SumOf(p study.Plan, r *dataset.Records) []int64 { return LayoutOf(p, TermsOf(p)).count(r) }
