package evaluate

import (
	"fmt"

	"caucus/aggregation/binning"
	"caucus/aggregation/shares"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/keyed"
)

// Histograms is the statistic of an evaluate plan. It has one histogram for each pair of a judged
// class and a grouping (if the plan names no grouping, one group of all records). For each level of
// the grouping, the histogram counts three sorts of records: those in the class and those in other
// classes, both by bin of the score (with a bin for records without a score), and those without a
// label.
//
// Proof note.
//   - Neighbours: replace one record, or at unit party all records of one party. Public: the plan
//     (including model, bins, subgroups and thresholds, whoever chose them and why) and, at unit
//     record, each site's number of records.
//   - Lemma: a record lies in exactly one cell of each of the H histograms (cellOf):
//     GroupingColumn.Of gives one level, Edges.Bin one bin, and missing values have cells of their
//     own. At unit record, a record that moves from cell a to cell b changes a histogram by e_b −
//     e_a (unit vectors of the cells): by 2 in L1 and in L2², in two cells, or not at all if a = b;
//     the sum stays. H histograms change by 2H in L1, in L2² and in cells. At unit party a
//     histogram x of at most c records becomes y of at most c, both non-negative, so ‖x − y‖₁ ≤ 2c
//     and ‖x − y‖² ≤ ‖x‖² + ‖y‖² ≤ 2c²; H histograms together change by 2cH and 2c²H.
//   - Numeric model: counts are integers. Scores are computed in floating point from the one record
//     and the plan, row by row (Scorer.Of). So rounding can move a record to another cell but never
//     into two, and moves no other record. A checked model gives no infinite score; a NaN counts as
//     missing.
//   - If a party's own program scores (program.go), at unit party only, scores may be any function
//     of all of the party's data: the unit-party lemma needs only that each of at most c records is
//     in one cell.
//   - The caller guarantees that one party is behind a site. A site counts at most the per-party
//     number of records (Local), chosen by keys; at unit party nothing else reveals a site's size
//     (Weights).
type Histograms struct {
	plan   study.Plan
	terms  Terms
	Scorer *Scorer
	Groups []GroupingColumn // of each grouping; one for all records if the plan has none
	edges  []binning.Edges  // of each judged class's bins
}

// CountsMissing reports whether every grouping of a plan has a level for missing values.
func CountsMissing(p study.Plan) bool { return p.Form >= study.FormCommitted }

// NewHistograms makes the histograms of a plan with these terms, which were checked.
func NewHistograms(p study.Plan, t Terms) *Histograms {
	h := &Histograms{plan: p, terms: t, Scorer: NewScorer(p, t)}
	for _, by := range t.By {
		g, _ := groupsOf(p.Schema, by, CountsMissing(p)) // no error: the plan was checked
		h.Groups = append(h.Groups, g)
	}
	if len(h.Groups) == 0 {
		h.Groups = []GroupingColumn{everybody}
	}
	for _, edges := range t.Edges {
		h.edges = append(h.edges, edges)
	}
	return h
}

// CellsOfLevel counts the cells of a level. The class has one for each bin and one for records
// without a score; the other classes together have as many. Records without a label have one cell.
func CellsOfLevel(bins int) int { return 2*(bins+1) + 1 }

func cellOf(s binning.Edges, z float64, class, judged int) int {
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

// Cells is the number of cells of all histograms: of the whole, then of each level of each group.
func (h *Histograms) Cells() (n int) {
	for _, s := range h.edges {
		for _, g := range h.Groups {
			n += len(g.Levels) * CellsOfLevel(s.Bins())
		}
	}
	return n
}

// ReleasedCells is Cells: the counts are released as they are, with noise.
func (h *Histograms) ReleasedCells() int { return h.Cells() }

// ForEach calls for each histogram, in the order of their cells: the index of its class in the
// plan's, the index of its grouping, and its first cell. The cells of a grouping's levels follow
// one another.
func (h *Histograms) ForEach(call func(class, grouping, first int)) {
	first := 0
	for at, s := range h.edges {
		for g := range h.Groups {
			call(at, g, first)
			first += len(h.Groups[g].Levels) * CellsOfLevel(s.Bins())
		}
	}
}

// ClassOf returns the class of record i, −1 for a record without a label.
func (h *Histograms) ClassOf(r *dataset.Records, i int) int {
	if class := r.Y[i]; class < len(h.plan.Schema.Label.Classes) {
		return class
	}
	return -1
}

// CellsOf appends the cell in which each histogram counts a record: its encoded row, its class
// (ClassOf), and its score for each judged class, NaN for none.
func (h *Histograms) CellsOf(row []float64, class int, scores []float64, to []int) []int {
	h.ForEach(func(at, g, first int) {
		s := h.edges[at]
		to = append(to, first+h.Groups[g].Of(row)*CellsOfLevel(s.Bins())+cellOf(s, scores[at],
			class, h.Scorer.Classes[at]))
	})
	return to
}

// count counts all records. own holds the scores of the party's program; nil if the plan has no
// program.
func (h *Histograms) count(r *dataset.Records, own []float64) []int64 {
	out := make([]int64, h.Cells())
	scores := make([]float64, len(h.edges))
	var cells []int
	for i := range r.Y {
		row, class := r.X.RawRowView(i), h.ClassOf(r, i)
		if h.Scorer.Of(row, scores); own != nil {
			scores[0] = own[i]
		}
		cells = h.CellsOf(row, class, scores, cells[:0])
		for _, c := range cells {
			out[c]++
		}
	}
	return out
}

// Weights returns the range of a contribution's weight, which is its number of records. At unit
// party the weight is always 1, which hides that number.
func (h *Histograms) Weights() (least, most int64) {
	if h.plan.Unit == privacy.Party {
		return 1, 1
	}
	return 0, h.most()
}

func (h *Histograms) most() int64 {
	most := 1 << 40 / h.plan.MostParties()
	if k := h.terms.PerParty; k > 0 {
		most = min(most, k)
	}
	return most
}

// Additive is false at unit party, where the weight is not the number of records, and for a
// program, which scores all records at once.
func (h *Histograms) Additive(records int64) bool {
	return h.plan.Unit != privacy.Party && !h.terms.Program && records <= h.most()
}

// Local counts a party's records, and returns the counts and their weight.
func (h *Histograms) Local(in study.Inputs) ([]int64, int64) {
	records := keyed.AtMostRecords(in, h.plan.Unit, h.most())
	weight := int64(records.Len())
	if h.plan.Unit == privacy.Party {
		weight = 1
	}
	return h.count(records, h.own(in, records)), weight
}

// AppendClear encodes a contribution without noise.
func (h *Histograms) AppendClear(vector []int64, weight int64) ([]byte, error) {
	return bodies.AppendSums(vector, weight), nil
}

// ParseClear refuses counts unless each histogram adds up to the number of records. At unit party,
// all histograms must add up to the same number, at most the plan's bound.
func (h *Histograms) ParseClear(body []byte) ([]int64, int64, error) {
	v, weight, err := bodies.ParseSums("counts", body, h)
	if err != nil {
		return nil, 0, err
	}
	want := weight
	if h.plan.Unit == privacy.Party {
		want = -1
	}
	h.ForEach(func(at, g, first int) {
		sum := int64(0)
		cells := len(h.Groups[g].Levels) * CellsOfLevel(h.edges[at].Bins())
		for _, n := range v[first : first+cells] {
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

// Bound bounds how far one unit moves all histograms together (proof note at Histograms).
func (h *Histograms) Bound() privacy.Bound { return boundOf(h.plan, h.terms) }

func boundOf(p study.Plan, t Terms) privacy.Bound {
	n := int64(t.histograms())
	if p.Unit == privacy.Party {
		c := t.PerParty
		return privacy.Bound{Unit: p.Unit, L1: 2 * c * n, L2sq: 2 * c * c * n}
	}
	return privacy.Bound{Unit: p.Unit, L1: 2 * n, L2sq: 2 * n, Cells: int(2 * n),
		PerParty: t.PerParty, PerPatient: p.PerPatient}
}

// Form gives the range of a cell, from 0 to the number of records. A party's number is private at
// unit party, so there the range ends at the largest number of records that may count.
func (h *Histograms) Form(weight int64) shares.VectorForm {
	if h.plan.Unit == privacy.Party {
		weight = h.most()
	}
	return shares.CountForm(h.Cells(), weight)
}

// Terms ignores the number of records, so all sites have the same terms.
func (h *Histograms) Terms(int64) (t study.ReleaseTerms, err error) {
	t = study.ReleaseTerms{Output: "histograms", Bound: h.Bound()}
	t.Mechanism, err = h.plan.Calibrate(t.Bound, h.Cells())
	return t, err
}

// Sensitive wraps counts under the plan's bound.
func (h *Histograms) Sensitive(vector []int64, _ int64, t study.ReleaseTerms) (privacy.Sensitive,
	error) {
	return privacy.NewSensitive(vector, t.Bound)
}
