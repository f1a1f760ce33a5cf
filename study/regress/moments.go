package regress

import (
	"errors"
	"math"

	"caucus/aggregation/shares"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/keyed"
)

// Moments is the statistic of a regress plan: the sums over records of the products of each two
// numbers of their rows.
//
// Proof note.
//   - Neighbours: replace one record, or at unit party all records of one party. Public: the plan,
//     the pool and, at unit record, each site's number of records.
//   - A record's row w is (One, u₁, …, u_d−1) with ‖u‖² ≤ Longest, so ‖w‖² ≤ B = One² + Longest; or
//     0, the constant too, if the record drops out: without its outcome or a column
//     (Design.Standard), or failing the condition (Records.IsExcluded). With the constant kept, the
//     bound would hold too, but the result would count records that are not in it.
//   - Lemma: let X be the sum of wwᵀ over a unit's c records, and X′ over those in their place.
//     Both are positive semidefinite with trace at most cB, so ⟨X,X′⟩ ≥ 0 and D = X − X′ has ‖D‖² ≤
//     ‖X‖² + ‖X′‖² ≤ 2c²B² in the norm of Frobenius. The vector has 5·D_ii and 7·D_ij for i < j, so
//     its L2² is Σ 25·D_ii² + Σ 49·D_ij² ≤ 25·‖D‖² ≤ 50·c²B².
//   - Tight but for the lattice: for c = 1 and orthogonal rows ‖D‖² = 2B², and √2·5 = 7.07.
//   - Lemma, L1: it is ⟨M,D⟩ for a symmetric M with ±5 on the diagonal and ±3.5 beside it. With λ
//     and −μ the ends of M's eigenvalues (both at least 0, as 0 is for a smaller trace),
//     ⟨M,X⟩ − ⟨M,X′⟩ ≤ cB(λ+μ) ≤ cB·√(2‖M‖²) = cB·√(24.5d² + 25.5d).
//   - Numeric model: a row is integers, and integers are multiplied and added. Floating point
//     decides the row from the one record, plan and pool; Lattice.Shorten compares the row's
//     integers with Longest, so rounding never makes a row longer. No rounding enters the bound.
//     lattice.bounds is exact in integers but for one root, which is rounded up.
//   - No overflow: a product of a row's numbers is at most 5·B, and Weights keeps the sum over all
//     sites below 2⁶⁰. Lattice is the finest for which 50·c²B² is an int64.
//   - The caller guarantees that one party is behind a site. A site adds at most the per-party
//     number of records (Local), chosen by keys; at unit party nothing else reveals a site's size
//     (Weights).
type Moments struct {
	*Design
	plan  study.Plan
	terms Terms
}

func newMoments(p study.Plan, pool *auxdata.Pool) (*Moments, error) {
	d, err := DesignOf(p, pool)
	return &Moments{Design: d, plan: p, terms: study.TermsOf[Terms](p)}, err
}

// bound returns how far one unit moves the sums of a plan.
func (l Lattice) bound(p study.Plan) privacy.Bound {
	b, _ := l.bounds()
	b.Unit = p.Unit
	if p.Unit != privacy.Party {
		b.PerParty, b.PerPatient = study.TermsOf[Terms](p).PerParty, p.PerPatient
	}
	return b
}

// Bound returns how far one unit moves the sums.
func (m *Moments) Bound() privacy.Bound { return m.bound(m.plan) }

// ReleasedCells is Cells: the sums are released as they are, with noise.
func (m *Moments) ReleasedCells() int { return m.Cells() }

// Weights returns the range of a contribution's weight, which is its number of records. At unit
// party the weight is always 1, which hides that number.
func (m *Moments) Weights() (int64, int64) {
	if m.plan.Unit == privacy.Party {
		return 1, 1
	}
	return 0, m.most()
}

// most is the largest number of records of a site: that of all sites keeps a sum below 2⁶⁰.
func (m *Moments) most() int64 { return mostRecords(m.plan, m.terms, m.Lattice) }

func mostRecords(p study.Plan, t Terms, l Lattice) int64 {
	most := min(1<<40, 1<<60/(OfSquare*l.Squared())) / p.MostParties()
	if t.PerParty > 0 {
		most = min(most, t.PerParty)
	}
	return most
}

// Additive is false at unit party, where the weight is not the number of records.
func (m *Moments) Additive(records int64) bool {
	return m.plan.Unit != privacy.Party && records <= m.most()
}

// Local sums up a party's records.
func (m *Moments) Local(in study.Inputs) ([]int64, int64) {
	records := keyed.AtMostRecords(in, m.plan.Unit, m.most())
	weight := int64(records.Len())
	if m.plan.Unit == privacy.Party {
		weight = 1
	}
	sums, w := make([]int64, m.Cells()), make([]int64, m.Dim())
	u := make([]float64, m.Dim()-1)
	for i := range records.Y {
		m.Row(w, u, records, i)
		m.Add(sums, w)
	}
	return sums, weight
}

// Row writes the row of record i to w, of Dim numbers: 0 if the record drops out. u is room for
// Dim − 1 numbers.
func (m *Moments) Row(w []int64, u []float64, r *dataset.Records, i int) {
	if r.IsExcluded(i) || !m.Standard(u, r.X.RawRowView(i), r.Y[i]) {
		clear(w)
		return
	}
	m.Shorten(w, u)
}

// AppendClear encodes a contribution without noise.
func (m *Moments) AppendClear(vector []int64, weight int64) ([]byte, error) {
	return bodies.AppendSums(vector, weight), nil
}

// ParseClear refuses sums that no records of the declared number give.
func (m *Moments) ParseClear(body []byte) ([]int64, int64, error) {
	v, weight, err := bodies.ParseSums("sums of products", body, m)
	if err != nil {
		return nil, 0, err
	}
	records, one := weight, OfSquare*m.One*m.One
	if m.plan.Unit == privacy.Party {
		records = m.most()
	}
	if n := v[0] / one; v[0]%one != 0 || n < 0 || n > records {
		return nil, 0, errors.New("read sums of products: they are not of the records that are declared")
	}
	most := v[0] / one * m.Longest
	for i := 1; i < m.Dim(); i++ {
		most -= v[m.Cell(i, i)] / OfSquare
		if v[m.Cell(i, i)] < 0 || most < 0 {
			return nil, 0, errors.New("read sums of products: a square is below 0, or they are larger than their records allow")
		}
	}
	for i := range m.Dim() {
		for j := i + 1; j < m.Dim(); j++ {
			// Cauchy & Schwarz
			x := float64(v[m.Cell(i, j)]) / OfProduct
			of := float64(v[m.Cell(i, i)]) * float64(v[m.Cell(j, j)])
			if x*x > of/(OfSquare*OfSquare)*(1+1e-9) {
				return nil, 0, errors.New("read sums of products: a product is larger than its squares allow")
			}
		}
	}
	return v, weight, nil
}

// Form gives the range of a sum. A party's number of records is private at unit party, so there
// the range is that of the largest number that may count.
func (m *Moments) Form(weight int64) shares.VectorForm {
	if m.plan.Unit == privacy.Party {
		weight = m.most()
	}
	return shares.IntegerForm(m.Cells(), OfSquare*m.Squared()*max(weight, 1))
}

// Terms ignores the number of records, so all sites have the same terms.
func (m *Moments) Terms(int64) (study.ReleaseTerms, error) {
	mechanism, err := m.plan.Calibrate(m.Bound(), m.Cells())
	return study.ReleaseTerms{Output: "moments", Bound: m.Bound(), Mechanism: mechanism}, err
}

// Sensitive wraps a vector under the plan's bound.
func (m *Moments) Sensitive(
	vector []int64, _ int64, t study.ReleaseTerms,
) (privacy.Sensitive, error) {
	return privacy.NewSensitive(vector, t.Bound)
}

// Deviation returns the standard deviation of the noise on a sum that has so many noises. A product
// of standardised numbers has that divided by OfProduct·One², a square by OfSquare·One².
func (m *Moments) Deviation(draws int) (float64, error) {
	t, err := m.Terms(1)
	if err != nil {
		return 0, err
	}
	return math.Sqrt(float64(draws) * privacy.VarianceOf(t.Mechanism, t.Bound, 0, m.Cells())), nil
}
