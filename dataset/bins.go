package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

const (
	// A value in more than a share binShare of the pool's rows is a bin of its own; quantiles cut
	// the other rows into 1/binShare bins. Every bin has at least a share binLeast of the rows.
	binShare, binLeast = 1. / 8, 0.01
	// withBins keeps at most binDirections directions of the bins. Their mean square over the
	// pool's rows is binSquare times that of the components.
	binDirections, binSquare = 40, 0.1
	// mostEdges bounds the time to compute these directions, some 20·edges³ multiplications.
	mostEdges = 1000
)

// edge lies between two neighbouring values of a column of the pool.
type edge struct {
	column       int
	below, above float64
}

// withBins adds outputs to m, the components of encoded rows x (N×Dim of the PUBLIC pool) after a
// standard map. The new outputs are the main directions of numeric columns' bins, in the part that
// the components leave unexplained. Over the pool they do not correlate with the components, the
// first LeadingComponents outputs.
//
// Bins are differences of steps, and each edge has a step: a standardised copy of the edge's column
// that is cut on both sides of the edge. So the map is a projection, after a standard map, after a
// map that copies columns.
//
// The bound of a release does not change: [Map.Apply] keeps every row's norm at most 1 under any
// map, and the map is made from schema and pool alone. Bins take signal from the components
// instead, since all share that norm.
func (m Map) withBins(s Schema, x *mat.Dense) (Map, error) {
	if m.Inner == nil || m.Inner.Kind != StandardMap {
		return Map{}, errors.New("fit map: bins are for tables: leave out map.bins, or set map.analysis to famd")
	}
	edges := poolEdges(s, x)
	if len(edges) == 0 || len(edges) > mostEdges {
		return Map{}, fmt.Errorf("fit map: the bins of the numeric columns have %d edges in this pool, and 1 to %d are possible: leave out map.bins", len(edges), mostEdges)
	}
	d, p, plain := m.Inputs, m.Outputs, m.Inner.Standard
	wide := d + len(edges)
	copies := Map{Kind: PCAMap, Inputs: d, Outputs: wide, Scale: 1, Mean: plain.Mean,
		Directions: make([]float32, d*wide)}
	steps := &StandardParameters{Mean: make([]float64, d, wide), Factor: slices.Clone(plain.Factor),
		Clip: plain.Clip}
	for j := range d {
		copies.Directions[j*wide+j] = 1
	}
	for k, e := range edges {
		copies.Directions[e.column*wide+d+k] = 1
		steps.Mean = append(steps.Mean, (e.below+e.above)/2-plain.Mean[e.column])
		steps.Factor = append(steps.Factor, 4*plain.Clip/(e.above-e.below))
	}
	first := Map{Kind: StandardMap, Inputs: wide, Outputs: wide, Scale: 1,
		Standard: steps}.ComposeWith(copies)

	u := first.Features(x)
	out := Map{Kind: PCAMap, Inputs: wide, Whiten: m.Whiten, LeadingComponents: p, Scale: 1}
	out.Mean, _ = columnMoments(u)
	n, _ := u.Dims()
	rows := centred(u)
	v := m.directions()
	// Components z do not correlate, so regressing a step u on them gives the coefficients
	// zᵀu/‖z‖².
	var z, slopes, explained, left, back mat.Dense
	z.Mul(rows.Slice(0, n, 0, d), v)
	slopes.Mul(z.T(), rows.Slice(0, n, d, wide))
	square := 0.0
	for j := range p {
		norm := mat.Norm(z.ColView(j), 2)
		square += norm * norm / float64(n)
		row := slopes.RawRowView(j)
		for k := range row {
			row[k] /= norm * norm
		}
	}
	explained.Mul(&z, &slopes)
	left.Sub(rows.Slice(0, n, d, wide), &explained)
	even, err := FitPCA(&left, binDirections, 1)
	if err != nil {
		return Map{}, fmt.Errorf("fit map: bins: %w", err)
	}
	q := even.Outputs
	norm := mat.Norm(even.Features(&left), 2) * even.Scale
	turn := even.directions()
	turn.Scale(math.Sqrt(binSquare*square*float64(n))/norm, turn)
	explained.Reset()
	explained.Mul(v, &slopes)
	back.Mul(&explained, turn)
	out.Outputs = p + q
	directions := mat.NewDense(wide, out.Outputs, nil)
	directions.Slice(0, d, 0, p).(*mat.Dense).Copy(v)
	directions.Slice(0, d, p, p+q).(*mat.Dense).Scale(-1, &back)
	directions.Slice(d, wide, p, p+q).(*mat.Dense).Copy(turn)
	for _, value := range directions.RawMatrix().Data {
		out.Directions = append(out.Directions, float32(value))
	}
	out.Scale = out.poolScale(u)
	return out.ComposeWith(first), nil
}

// poolEdges cuts the numeric columns into bins. A column of fewer than three bins gets no edges,
// because its number says as much as they would.
func poolEdges(s Schema, x *mat.Dense) (edges []edge) {
	for _, code := range s.ColumnCodes() {
		if code.Feature.Kind != Numeric {
			continue
		}
		values := mat.Col(nil, code.FirstColumn, x)
		slices.Sort(values)
		if of := columnEdges(code.FirstColumn, values); len(of) > 1 {
			edges = append(edges, of...)
		}
	}
	return edges
}

// columnEdges cuts the sorted values of a column.
func columnEdges(column int, values []float64) (edges []edge) {
	n := float64(len(values))
	var starts []int // first row of each different value, then the number of rows
	for i, v := range values {
		if i == 0 || v != values[i-1] {
			starts = append(starts, i)
		}
	}
	starts = append(starts, len(values))
	alone := func(r int) bool { return float64(starts[r+1]-starts[r]) > binShare*n }
	rest := 0
	for r := range len(starts) - 1 {
		if !alone(r) {
			rest += starts[r+1] - starts[r]
		}
	}
	from := 0
	for r := range len(starts) - 2 {
		to := starts[r+1]
		rows := float64(to - from)
		if (alone(r) || alone(r+1) || rows >= binShare*float64(rest)) && rows >= binLeast*n &&
			n-float64(to) >= binLeast*n {
			edges, from = append(edges, edge{column, values[to-1], values[to]}), to
		}
	}
	return edges
}
