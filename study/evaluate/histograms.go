package evaluate

import (
	"fmt"
	"math"

	"caucus/aggregation/shares"
	"caucus/aggregation/validation"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/keyed"
)

// histograms is the statistic of an evaluate plan. It has one histogram for each pair of a judged
// class and a grouping (if the plan names no grouping, one group of all records). For each level of
// the grouping, the histogram counts three sorts of records: those in the class and those in other
// classes, both by bin of the score (with a bin for records without a score), and those without a
// label.
//
// Proof note.
//   - Neighbours: replace one record, or at unit party all records of one party. Public: the plan
//     (including model, bins, subgroups and thresholds, whoever chose them and why) and, at unit
//     record, each site's number of records.
//   - Lemma: a record lies in exactly one cell of each of the H histograms (cellOf): groups.of
//     gives one level, Scale.Bin one bin, and missing values have cells of their own. At unit
//     record, a record that moves from cell a to cell b changes a histogram by e_b − e_a (unit
//     vectors of the cells): by 2 in L1 and in L2², in two cells, or not at all if a = b; the sum
//     stays. H histograms change by 2H in L1, in L2² and in cells. At unit party a histogram x of
//     at most c records becomes y of at most c, both non-negative, so ‖x − y‖₁ ≤ 2c and ‖x − y‖² ≤
//     ‖x‖² + ‖y‖² ≤ 2c²; H histograms together change by 2cH and 2c²H.
//   - Numeric model: counts are integers. Scores are computed in floating point from the one record
//     and the plan, row by row (scorer.of). So rounding can move a record to another cell but never
//     into two, and moves no other record. A checked model gives no infinite score; a NaN counts as
//     missing.
//   - If a party's own program scores (program.go), at unit party only, scores may be any function
//     of all of the party's data: the unit-party lemma needs only that each of at most c records is
//     in one cell.
//   - The caller guarantees that one party is behind a site. A site counts at most the per-party
//     number of records (Local), chosen by keys; at unit party nothing else reveals a site's size
//     (Weights).
type histograms struct {
	plan   study.Plan
	terms  Terms
	score  *scorer
	groups []groups
	// the bins of each judged class; until method read runs, they have only edges
	scales []validation.Scale
	// shares[g][l] is the share of the pool's rows in level l of grouping g
	shares [][]float64
	// sure is, for each judged class, the share of the pool's scores that are 0 or 1 or as good as
	// that.
	sure []float64
}

// sureLogOdds is the size of log-odds, beyond which a score counts as 0 or 1: 2·10⁻⁹ from there.
const sureLogOdds = 20

// countsMissing reports whether every grouping of a plan has a level for missing values.
func countsMissing(p study.Plan) bool { return p.Form >= study.FormCommitted }

func newHistograms(p study.Plan, t Terms) *histograms {
	h := &histograms{plan: p, terms: t, score: newScorer(p, t)}
	for _, by := range t.By {
		g, _ := groupsOf(p.Schema, by, countsMissing(p)) // no error: the plan was checked
		h.groups = append(h.groups, g)
	}
	if len(h.groups) == 0 {
		h.groups = []groups{everybody}
	}
	for _, edges := range t.Edges {
		h.scales = append(h.scales, validation.NewScale(edges, nil, nil, h.score.logOdds))
	}
	return h
}

// read computes, from the pool's rows, the mean score in each bin and the share of each level.
func (h *histograms) read(pool *auxdata.Pool) {
	h.sure = make([]float64, len(h.scales))
	for at, scores := range h.score.all(pool.Encoded) {
		z, w := known(scores, pool.Weight)
		for _, v := range z {
			if h.score.logOdds && math.Abs(v) > sureLogOdds {
				h.sure[at] += 1 / float64(len(z))
			}
		}
		if h.terms.Program {
			z, w = spread(h.terms.Bins)
		}
		h.scales[at] = validation.NewScale(h.terms.Edges[at], z, w, h.score.logOdds)
	}
	rows, _ := pool.Encoded.Dims()
	h.shares = nil
	for _, g := range h.groups {
		share := make([]float64, len(g.levels))
		for i := range rows {
			share[g.of(pool.Encoded.RawRowView(i))] += 1 / float64(rows)
		}
		h.shares = append(h.shares, share)
	}
}

// cellsOfLevel counts the cells of a level. The class has one for each bin and one for records
// without a score; the other classes together have as many. Records without a label have one cell.
func cellsOfLevel(bins int) int { return 2*(bins+1) + 1 }

func cellOf(s validation.Scale, z float64, class, judged int) int {
	bins := s.Bins()
	if class < 0 {
		return 2 * (bins + 1)
	}
	bin := bins // the bin of records without a score
	if z-z == 0 {
		bin = s.Bin(z)
	}
	if class == judged {
		return bin
	}
	return bins + 1 + bin
}

func (h *histograms) Cells() (n int) {
	for _, s := range h.scales {
		for _, g := range h.groups {
			n += len(g.levels) * cellsOfLevel(s.Bins())
		}
	}
	return n
}

func (h *histograms) ReleasedCells() int { return h.Cells() }

func (h *histograms) each(call func(class, grouping, first int)) {
	first := 0
	for at, s := range h.scales {
		for g := range h.groups {
			call(at, g, first)
			first += len(h.groups[g].levels) * cellsOfLevel(s.Bins())
		}
	}
}

func (h *histograms) classOf(r *dataset.Records, i int) int {
	if class := r.Y[i]; class < len(h.plan.Schema.Label.Classes) {
		return class
	}
	return -1
}

func (h *histograms) cellsOf(row []float64, class int, scores []float64, to []int) []int {
	h.each(func(at, g, first int) {
		s := h.scales[at]
		to = append(to, first+h.groups[g].of(row)*cellsOfLevel(s.Bins())+cellOf(s, scores[at],
			class, h.score.classes[at]))
	})
	return to
}

// count counts all records. own holds the scores of the party's program; nil if the plan has no
// program.
func (h *histograms) count(r *dataset.Records, own []float64) []int64 {
	out := make([]int64, h.Cells())
	scores := make([]float64, len(h.scales))
	var cells []int
	for i := range r.Y {
		row, class := r.X.RawRowView(i), h.classOf(r, i)
		if h.score.of(row, scores); own != nil {
			scores[0] = own[i]
		}
		cells = h.cellsOf(row, class, scores, cells[:0])
		for _, c := range cells {
			out[c]++
		}
	}
	return out
}

// Weights returns the range of a contribution's weight, which is its number of records. At unit
// party the weight is always 1, which hides that number.
func (h *histograms) Weights() (least, most int64) {
	if h.plan.Unit == privacy.Party {
		return 1, 1
	}
	return 0, h.most()
}

func (h *histograms) most() int64 {
	most := 1 << 40 / h.plan.MostParties()
	if k := h.terms.PerParty; k > 0 {
		most = min(most, k)
	}
	return most
}

// Additive is false at unit party, where the weight is not the number of records, and for a
// program, which scores all records at once.
func (h *histograms) Additive(records int64) bool {
	return h.plan.Unit != privacy.Party && !h.terms.Program && records <= h.most()
}

func (h *histograms) Local(in study.Inputs) ([]int64, int64) {
	records := keyed.AtMost(in, h.plan.Unit, h.most())
	weight := int64(records.Len())
	if h.plan.Unit == privacy.Party {
		weight = 1
	}
	return h.count(records, h.own(in, records)), weight
}

func (h *histograms) AppendClear(vector []int64, weight int64) ([]byte, error) {
	return bodies.AppendSums(vector, weight), nil
}

// ParseClear refuses counts unless each histogram adds up to the number of records. At unit party,
// all histograms must add up to the same number, at most the plan's bound.
func (h *histograms) ParseClear(body []byte) ([]int64, int64, error) {
	v, weight, err := bodies.ParseSums("counts", body, h)
	if err != nil {
		return nil, 0, err
	}
	want := weight
	if h.plan.Unit == privacy.Party {
		want = -1
	}
	h.each(func(at, g, first int) {
		sum := int64(0)
		for _, n := range v[first : first+len(h.groups[g].levels)*cellsOfLevel(h.scales[at].Bins())] {
			if n < 0 || n > h.most() {
				err = fmt.Errorf("read counts: one is of no number of records that the plan takes")
				return
			}
			sum += n // no overflow: at most 2¹⁶ counts of 2⁴⁰
		}
		if want < 0 {
			want = sum
		}
		if sum != want || sum > h.most() {
			err = fmt.Errorf("read counts: those of a table are not of the records that are declared")
		}
	})
	if err != nil {
		return nil, 0, err
	}
	return v, weight, nil
}

func (h *histograms) bound() privacy.Bound { return boundOf(h.plan, h.terms) }

func boundOf(p study.Plan, t Terms) privacy.Bound {
	n := int64(t.histograms())
	if p.Unit == privacy.Party {
		c := t.PerParty
		return privacy.Bound{Unit: p.Unit, L1: 2 * c * n, L2sq: 2 * c * c * n}
	}
	return privacy.Bound{Unit: p.Unit, L1: 2 * n, L2sq: 2 * n, Cells: int(2 * n),
		PerParty: t.PerParty}
}

// Form gives the range of a cell, from 0 to the number of records. A party's number is private at
// unit party, so there the range ends at the largest number of records that may count.
func (h *histograms) Form(weight int64) shares.Form {
	if h.plan.Unit == privacy.Party {
		weight = h.most()
	}
	return shares.Counts(h.Cells(), weight)
}

// Terms ignores the number of records, so all sites have the same terms.
func (h *histograms) Terms(int64) (t study.ReleaseTerms, err error) {
	t = study.ReleaseTerms{Output: "histograms", Bound: h.bound()}
	t.Mechanism, err = h.plan.Calibrate(t.Bound, h.Cells())
	return t, err
}

func (h *histograms) Sensitive(vector []int64, _ int64, t study.ReleaseTerms) (privacy.Sensitive,
	error) {
	return privacy.NewSensitive(vector, t.Bound)
}

func (h *histograms) deviation(draws int) (float64, error) {
	t, err := h.Terms(1)
	if err != nil {
		return 0, err
	}
	return math.Sqrt(float64(draws) * privacy.VarianceOf(t.Mechanism, t.Bound, 0, h.Cells())), nil
}
