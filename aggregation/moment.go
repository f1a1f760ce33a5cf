package aggregation

import (
	"crypto/sha256"
	"encoding/binary"
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/solving"
	"caucus/learners"
)

// MomentDesign is the public integer matrix A of the mechanism "moment", which releases Aᵀ·counts,
// p×learners.WeightColumns(classes), in place of the counts. A's rows are the whitened pool rows,
// rounded, so the sums are exact.
type MomentDesign struct {
	a       []int64 // A, row-major rows × p
	rows, p int
	Classes int
	// SumsToMoments turns sums into moments, d×p.
	SumsToMoments *mat.Dense
	// L1 and L2 bound the change of Aᵀ·counts by one ballot.
	L1, L2 int64
	// Digest covers p and A's numbers. Sums by different matrices must not be added, and two kinds
	// of processor may round one pool to different matrices.
	Digest [sha256.Size]byte
}

// momentScale is the lattice of A. Whitened entries are of order 1, so rounding moves each by less
// than 1/1000.
const momentScale = 512

// NewMomentDesign whitens the pool rows x (N×d, weights nil: equal) and rounds them.
//
// Bound. One ballot changes row i of the counts by δᵢ: (−1,+1) on two of K columns, or ±1 on the
// single column if K = 2, or nothing. So ‖δ‖₂² ≤ 2N (binary: N) and ‖Aᵀδ‖₂ ≤ σ_max(A)‖δ‖₂. In L1,
// ‖Aᵀδ‖₁ is at most 2Σ|Aᵢⱼ| (binary: Σ|Aᵢⱼ|) and at most √cells times the L2 bound. Both are
// rounded up, with a relative margin of 1e-9 for the eigenvalue's rounding.
func NewMomentDesign(x *mat.Dense, weight []float64, classes int) *MomentDesign {
	n, d := x.Dims()
	total := 0.0
	for i := range n {
		total += solving.WeightAt(weight, i)
	}
	g := solving.SpectrumOf(x, weight)
	// Drop directions of relative variance below 1e-9. They are rounding errors of an exact linear
	// dependence.
	white := g.Whitener(1, 0, 1e-9)
	_, p := white.Dims()
	m := &MomentDesign{rows: n, p: p, Classes: classes, a: make([]int64, n*p)}
	rows := mat.NewDense(n, p, nil)
	rows.Mul(x, white)
	rounded := mat.NewDense(n, p, nil)
	sum := 0.0
	for i := range n {
		v := solving.WeightAt(weight, i) * float64(n) / total
		for j, t := range rows.RawRowView(i) {
			r := math.Round(momentScale * v * t)
			m.a[i*p+j] = int64(r)
			rounded.Set(i, j, r)
			sum += math.Abs(r)
		}
	}
	// white's columns q_j/√λ_j are orthogonal, so its inverse on the kept directions is q_j·√λ_j =
	// white·λ_j.
	m.SumsToMoments = mat.NewDense(d, p, nil)
	for j := range p {
		l := g.Values[len(g.Values)-p+j]
		for i := range d {
			m.SumsToMoments.Set(i, j, white.At(i, j)*l/(momentScale*float64(n)))
		}
	}
	var e mat.EigenSym
	e.Factorize(solving.Gram(1, rounded), false)
	top := e.Values(nil)[p-1]
	moved, cells := float64(n), float64(p)
	if classes > 2 {
		moved, cells, sum = 2*moved, cells*float64(classes), 2*sum
	}
	l2 := math.Sqrt(moved*top) * (1 + 1e-9)
	m.L2 = int64(math.Ceil(l2))
	m.L1 = int64(math.Ceil(math.Min(sum, math.Sqrt(cells)*l2*(1+1e-9))))
	m.Digest = m.digest()
	return m
}

func (m *MomentDesign) digest() (d [sha256.Size]byte) {
	h := sha256.New()
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(m.p)))
	row := make([]byte, 0, 8*m.p)
	for i := range m.rows {
		row = row[:0]
		for _, e := range m.a[i*m.p : (i+1)*m.p] {
			row = binary.BigEndian.AppendUint64(row, uint64(e))
		}
		h.Write(row)
	}
	h.Sum(d[:0])
	return d
}

// Cells returns the length of the released vector.
func (m *MomentDesign) Cells() int { return m.p * learners.WeightColumns(m.Classes) }

// Row returns row i of A, p numbers; do not change it.
func (m *MomentDesign) Row(i int) []int64 { return m.a[i*m.p : (i+1)*m.p] }

// Rows returns the number of A's rows, one for each pool row.
func (m *MomentDesign) Rows() int { return m.rows }

// Sums is Aᵀ·counts, row-major p × learners.WeightColumns(classes).
func (m *MomentDesign) Sums(t *Tally) []int64 {
	c := learners.WeightColumns(m.Classes)
	v := t.Vector()
	out := make([]int64, m.p*c)
	for i := range m.rows {
		a := m.a[i*m.p : (i+1)*m.p]
		for k := range c {
			if n := v[i*c+k]; n != 0 {
				for j, e := range a {
					out[j*c+k] += e * n
				}
			}
		}
	}
	return out
}
