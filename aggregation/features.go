package aggregation

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
)

// FeatureDesign lists the feature sums that sites release for a reweighting, and bounds how far one
// record moves them. It depends on a schema alone.
//
// Its sums (cells) come in groups. In a group, a record's entries are never negative and sum to at
// most 1: a block of encoded columns, the products of two blocks (a joint margin), or the bins of a
// number.
//
// Bound. In units of 2⁻²⁰ a record's entries in a group are integers ≥ 0 that sum to at most s =
// 2²⁰. Replacing a record removes one such vector a and adds another, b. So in a group of several
// cells ‖a−b‖₁ ≤ ‖a‖₁+‖b‖₁ ≤ 2s and, as ⟨a,b⟩ ≥ 0, ‖a−b‖₂² ≤ ‖a‖₂²+‖b‖₂² ≤ 2s²; in a group of one
// cell s and s². Groups add up: B one-hot blocks move by at most √(2B)·s in L2 and 2B·s in L1.
type FeatureDesign struct {
	// L1 and L2sq bound the movement of Sums when one record is replaced.
	L1, L2sq int64
	// Groups lists the groups in the order of their cells. A mapped design has none.
	Groups []FeatureGroup
	names  []string
	mapped bool
}

// FeatureGroup is a run of Width cells from cell FirstCell. Cell k of a block is the encoded column
// First.Start+k. Cell k of a product is the product of one column of each block. Cell k of bins is
// 1 if the number is in bin k of Bins.
type FeatureGroup struct {
	First, Second    dataset.Block // Second.Width is 0 except in a product
	Bins             int
	FirstCell, Width int
	// SumsToOne reports that the entries of every record sum to exactly 1.
	SumsToOne bool
}

// maxFeatureCells keeps the computation of a tilt, whose work grows with cells², within a minute.
const maxFeatureCells = 4096

// FeatureTerms extend a design beyond the schema's blocks.
type FeatureTerms struct {
	// Pairs names pairs of columns whose joint frequencies are released too.
	Pairs [][2]string
	// Bins, at least 2, adds a histogram of each number. 0: none.
	Bins int
}

// NewFeatureDesign makes the design of a schema. It fails on unknown columns and on too many cells.
func NewFeatureDesign(s dataset.Schema, t FeatureTerms) (*FeatureDesign, error) {
	d := &FeatureDesign{}
	columns := s.FeatureNames()
	blocks := s.Blocks()
	of := map[string]dataset.Block{}
	for _, b := range blocks {
		if _, seen := of[b.Column]; !seen { // the column that marks missing values is not paired
			of[b.Column] = b
		}
		d.add(FeatureGroup{First: b, Width: b.Width, SumsToOne: b.OneHot},
			columns[b.Start:b.Start+b.Width])
	}
	if t.Bins != 0 && (t.Bins < 2 || t.Bins > 256) {
		return nil, fmt.Errorf("design feature sums: %d bins: give 2 to 256, or 0 for none", t.Bins)
	}
	if t.Bins > 0 {
		for _, b := range blocks {
			if b.OneHot || strings.HasSuffix(columns[b.Start], "?") {
				continue
			}
			names := make([]string, t.Bins)
			for k := range names {
				names[k] = fmt.Sprintf("%s in bin %d of %d", b.Column, k+1, t.Bins)
			}
			d.add(FeatureGroup{First: b, Bins: t.Bins, Width: t.Bins, SumsToOne: true}, names)
		}
	}
	for _, pair := range t.Pairs {
		a, okA := of[pair[0]]
		b, okB := of[pair[1]]
		if !okA || !okB || pair[0] == pair[1] {
			return nil, fmt.Errorf("design feature sums: pair %q: name two different feature columns of the schema", pair)
		}
		var names []string
		for i := range a.Width {
			for j := range b.Width {
				names = append(names, columns[a.Start+i]+" and "+columns[b.Start+j])
			}
		}
		d.add(FeatureGroup{First: a, Second: b, Width: a.Width * b.Width, SumsToOne: a.OneHot &&
			b.OneHot}, names)
		if len(d.names) > maxFeatureCells {
			break
		}
	}
	if len(d.names) > maxFeatureCells {
		return nil, fmt.Errorf("design feature sums: more than %d cells: leave out pairs or bins, or project the features", maxFeatureCells)
	}
	return d, nil
}

func (fd *FeatureDesign) add(g FeatureGroup, names []string) {
	g.FirstCell = len(fd.names)
	fd.names = append(fd.names, names...)
	fd.Groups = append(fd.Groups, g)
	k := int64(1)
	if g.Width > 1 {
		k = 2
	}
	fd.L1 += k * SumScale
	fd.L2sq += k * SumScale * SumScale
}

// MappedDesign is the design for rows of a public map (dataset.Map with width columns, of which the
// last, the intercept, is left out). Its methods take mapped rows in place of encoded ones. Mapped
// entries have signs and norm at most R = √½, so one record moves their sum by 2R, and Sums by
// √CrossMomentL2sq.
func MappedDesign(width int) *FeatureDesign {
	d := &FeatureDesign{mapped: true, names: make([]string, width-1), L2sq: CrossMomentL2sq}
	for j := range d.names {
		d.names[j] = fmt.Sprintf("mapped feature %d", j+1)
	}
	d.L1 = int64(math.Ceil(math.Sqrt(float64(width-1)*CrossMomentL2sq) * (1 + 1e-12)))
	return d
}

// Cells returns the length of Sums.
func (fd *FeatureDesign) Cells() int { return len(fd.names) }

func (fd *FeatureDesign) squaredNorm() float64 {
	if fd.mapped {
		return 0.5
	}
	return float64(len(fd.Groups))
}

// Names describes each cell of Sums, in its order. The slice is the design's own: do not change it.
func (fd *FeatureDesign) Names() []string { return fd.names }

// row fills in a record's entries, reals in [0,1], from its encoded columns.
func (fd *FeatureDesign) row(out, encoded []float64) {
	if fd.mapped {
		copy(out, encoded)
		return
	}
	for _, g := range fd.Groups {
		to, a := out[g.FirstCell:g.FirstCell+g.Width],
			encoded[g.First.Start:g.First.Start+g.First.Width]
		switch {
		case g.Bins > 0:
			clear(to)
			to[binOf(a[0], g.Bins)] = 1
		case g.Second.Width > 0:
			b := encoded[g.Second.Start : g.Second.Start+g.Second.Width]
			for i, v := range a {
				for j, w := range b {
					to[i*len(b)+j] = v * w
				}
			}
		default:
			copy(to, a)
		}
	}
}

func binOf(v float64, bins int) int {
	if !(v > 0) {
		return 0
	}
	return min(int(math.Min(v, 1)*float64(bins)), bins-1)
}

// Rows returns the public features of encoded rows x (N×schema.Dim()) for fitting a tilt: entries
// divided by MaxRowNorm, so that each row has norm at most 1.
func (fd *FeatureDesign) Rows(x *mat.Dense) *mat.Dense {
	n, _ := x.Dims()
	if n == 0 {
		return &mat.Dense{}
	}
	out := mat.NewDense(n, fd.Cells(), nil)
	for i := range n {
		fd.row(out.RawRowView(i), x.RawRowView(i))
	}
	out.Scale(1/fd.MaxRowNorm(), out)
	return out
}

// MaxRowNorm bounds the Euclidean norm of any row before Rows divides by it: √groups, because each
// group's entries have norm at most 1; 1 for mapped rows.
func (fd *FeatureDesign) MaxRowNorm() float64 {
	if fd.mapped {
		return 1
	}
	return math.Sqrt(float64(len(fd.Groups)))
}

// Sums returns Σ over records x (n×schema.Dim(), encoded) of their entries × 2²⁰, truncated. See L1
// and L2sq.
func (fd *FeatureDesign) Sums(x *mat.Dense) []int64 {
	n, _ := x.Dims()
	if fd.mapped && n > 0 {
		return CrossMomentSums(x, make([]int, n), 1)[:fd.Cells()]
	}
	out := make([]int64, fd.Cells())
	row := make([]float64, fd.Cells())
	for i := range n {
		fd.safe(row, x.RawRowView(i))
		for j, v := range row {
			out[j] += int64(v * SumScale)
		}
	}
	return out
}

// safe does what row does, for a private record. It keeps the bound for any input. Entries outside
// [0,1] are clamped, NaN becomes 0, and a group that sums to more than 1 (no encoding makes one)
// becomes zeros. On the lattice a group then sums to at most SumScale, because truncation only
// lowers the sum and its rounding error is far below one lattice step.
func (fd *FeatureDesign) safe(out, encoded []float64) {
	fd.row(out, encoded)
	if norm := floats.Norm(out, 2); fd.mapped && !(norm*norm <= 0.5) {
		clear(out)
	}
	for _, g := range fd.Groups {
		entries := out[g.FirstCell : g.FirstCell+g.Width]
		sum := 0.0
		for k, v := range entries {
			if !(v > 0) {
				v = 0
			}
			entries[k] = math.Min(v, 1)
			sum += entries[k]
		}
		if sum > 1 {
			clear(entries)
		}
	}
}

// InRange reports whether a sum over this number of records is possible.
func (fd *FeatureDesign) InRange(sum, records int64) bool {
	return sum <= MaxFeatureSum(records) && (sum >= 0 ||
		(fd.mapped && -sum <= MaxFeatureSum(records)))
}

// MaxFeatureSum returns the largest magnitude of a sum over this number of records.
func MaxFeatureSum(records int64) int64 { return records * SumScale }
