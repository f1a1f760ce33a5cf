package dataset

import (
	"slices"

	"gonum.org/v1/gonum/mat"
)

// KeptShare is the share, from 0 to 1, of a column's variance over the pool's rows that linear
// functions of the map's features explain.
type KeptShare struct {
	Column string  `json:"column"`
	Share  float64 `json:"share"`
}

const (
	keptRows     = 2000
	keptFeatures = 300
)

// KeptShares returns the kept share of each schema column that varies in x, N×Dim encoded rows of
// the PUBLIC pool, smallest share first. A text's level columns count together, each by its
// variance. Kept returns nil for an identity map and for more than keptFeatures features. From more
// than keptRows rows it takes keptRows, evenly spaced.
//
// With Z the centred features and X the centred columns (rows are records), the regression of
// column j on Z explains cⱼᵀ(ZᵀZ)⁻¹cⱼ of its sum of squares, c = ZᵀX.
func (m Map) KeptShares(s Schema, x *mat.Dense) []KeptShare {
	n, d := x.Dims()
	if m.Kind == IdentityMap || n == 0 || m.Dim() > keptFeatures {
		return nil
	}
	if n > keptRows {
		some := mat.NewDense(keptRows, d, nil)
		for i := range keptRows {
			some.SetRow(i, x.RawRowView(i*n/keptRows))
		}
		x, n = some, keptRows
	}
	z, y := centred(m.Features(x)), centred(x)
	var gram, cross mat.Dense
	gram.Mul(z.T(), z)
	cross.Mul(z.T(), y)
	explained := explainedSquares(&gram, &cross)
	all := map[string]*[2]float64{} // explained and total squares of a column
	names := s.encodedFrom()
	for j, name := range names {
		if all[name] == nil {
			all[name] = &[2]float64{}
		}
		v := mat.Norm(y.ColView(j), 2)
		all[name][0] += min(explained[j], v*v)
		all[name][1] += v * v
	}
	var kept []KeptShare
	for _, name := range slices.Compact(names) {
		if sums := all[name]; sums[1] > 1e-12*float64(n) {
			kept = append(kept, KeptShare{Column: name, Share: sums[0] / sums[1]})
		}
	}
	slices.SortStableFunc(kept, func(a, b KeptShare) int {
		switch {
		case a.Share < b.Share:
			return -1
		case a.Share > b.Share:
			return 1
		}
		return 0
	})
	return kept
}

// explainedSquares returns cᵀG⁻¹c for each column c, over the directions where G exceeds rounding
// errors.
func explainedSquares(gram, cross *mat.Dense) []float64 {
	p, columns := cross.Dims()
	out := make([]float64, columns)
	var eigen mat.EigenSym
	if !eigen.Factorize(mat.NewSymDense(p, gram.RawMatrix().Data), true) {
		return out
	}
	values := eigen.Values(nil) // ascending
	var vectors, along mat.Dense
	eigen.VectorsTo(&vectors)
	along.Mul(vectors.T(), cross)
	for k, value := range values {
		if value <= 1e-10*values[p-1] {
			continue
		}
		for j, c := range along.RawRowView(k) {
			out[j] += c * c / value
		}
	}
	return out
}

func centred(x *mat.Dense) *mat.Dense {
	mean, _ := columnMoments(x)
	out := mat.DenseCopyOf(x)
	n, _ := out.Dims()
	for i := range n {
		row := out.RawRowView(i)
		for j := range row {
			row[j] -= mean[j]
		}
	}
	return out
}

func (s Schema) encodedFrom() []string {
	var all []string
	for _, f := range s.Features {
		names, _ := f.names(maxColumns) // no error: Validate has checked the names
		for _, name := range names {
			all = append(all, slices.Repeat([]string{name}, f.width())...)
		}
	}
	return all
}
