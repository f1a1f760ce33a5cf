package aggregation

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// CountedSums are Sums of some of a site's records, followed by their number, on the lattice too.
// CountedBound is their bound.
func (d *FeatureDesign) CountedSums(x *mat.Dense) []int64 {
	n, _ := x.Dims()
	return append(d.Sums(x), int64(n)*featureScale)
}

// CountedBound bounds the movement of CountedSums when a record is replaced, each of the two summed
// or not.
//
// If both are, the count stays, and Sums moves by L1 and L2sq at most. If neither is, nothing
// moves. If one is, its own entries come or go, and the count moves by s = 2²⁰: in a group they are
// integers ≥ 0 that sum to at most s, which is s in L1 and s² in L2²; of a map they have norm² at
// most s²/2, over c cells √(c/2)·s in L1. The bound is the largest of these: for G groups (G+1)s
// and (G+1)s², which only numbers reach, as a text moves by twice that where both are summed.
func (d *FeatureDesign) CountedBound() (l1, l2sq int64) {
	l1, l2sq = d.GoneBound()
	return max(l1, d.L1), max(l2sq, d.L2sq)
}

// GoneBound bounds what one summed record adds to CountedSums: see CountedBound.
func (d *FeatureDesign) GoneBound() (l1, l2sq int64) {
	if d.mapped {
		return int64(math.Ceil(math.Sqrt(float64(len(d.names))/2)*featureScale*(1+1e-12))) + featureScale,
			featureScale*featureScale/2 + featureScale*featureScale
	}
	n := int64(len(d.groups) + 1)
	return n * featureScale, n * featureScale * featureScale
}

// Counted is the count in a clear sum's last number, of at most records; ok is false for no such
// count.
func (d *FeatureDesign) Counted(last, records int64) (counted int64, ok bool) {
	return last / featureScale, last >= 0 && last%featureScale == 0 && last/featureScale <= records
}

// Recorded is the number of records in released CountedSums.
func (d *FeatureDesign) Recorded(sums []float64) float64 { return sums[d.Cells()] / featureScale }

// WithCount adds to a law of the noise on means the noise of the record count that divided the
// sums: off is its deviation as a share of the count. It scales all means alike, so it is one
// direction for all groups; what Means' projection leaves of it is taken from both sides.
func (d *FeatureDesign) WithCount(noise Noise, means []float64, off float64) Noise {
	cells := d.Cells()
	up, down := scaledMeans(means, 1+off), scaledMeans(means, 1-off)
	for _, g := range d.groups {
		g.project(up[g.cell : g.cell+g.width])
		g.project(down[g.cell : g.cell+g.width])
	}
	_, have := noise.Factor.Dims()
	f := mat.NewDense(cells, have+1, nil)
	f.Slice(0, cells, 0, have).(*mat.Dense).Copy(noise.Factor)
	for j := range cells {
		f.Set(j, have, (up[j]-down[j])/2*d.scale())
	}
	return Noise{Factor: f, Laplace: noise.Laplace}
}
