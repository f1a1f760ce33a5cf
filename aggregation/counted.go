package aggregation

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// SumsWithCount returns Sums of some of a site's records, followed by their number times 2²⁰.
func (fd *FeatureDesign) SumsWithCount(x *mat.Dense) []int64 {
	n, _ := x.Dims()
	return append(fd.Sums(x), int64(n)*SumScale)
}

// SumsWithCountBound bounds how far SumsWithCount moves when a record is replaced. The old and the
// new record may each be counted or not.
//
// If both are counted, the count stays and Sums moves by at most L1 and L2sq. If neither is,
// nothing moves. If one is, its entries come or go, and the count moves by s = 2²⁰. The entries in
// a group are integers ≥ 0 that sum to at most s: at most s in L1 and s² in L2². Entries of a map
// have norm² at most s²/2, so √(c/2)·s in L1 over c cells. The bound is the largest of the three
// cases. With G groups the last case gives (G+1)s and (G+1)s². It exceeds L1 and L2sq only if every
// group has one cell, because a group of several cells moves by 2s if both records are counted.
func (fd *FeatureDesign) SumsWithCountBound() (l1, l2sq int64) {
	l1, l2sq = fd.RemovalBound()
	return max(l1, fd.L1), max(l2sq, fd.L2sq)
}

// RemovalBound bounds what a counted record adds to SumsWithCount: the case of SumsWithCountBound
// with one record counted.
func (fd *FeatureDesign) RemovalBound() (l1, l2sq int64) {
	if fd.mapped {
		return int64(math.Ceil(math.Sqrt(float64(len(fd.names))/2)*SumScale*(1+1e-12))) +
				SumScale,
			SumScale*SumScale/2 + SumScale*SumScale
	}
	n := int64(len(fd.Groups) + 1)
	return n * SumScale, n * SumScale * SumScale
}

// RecordCount returns the record count from the last number of a sum without noise; ok is false
// unless the count is in 0..records.
func (fd *FeatureDesign) RecordCount(last, records int64) (counted int64, ok bool) {
	return last / SumScale, last >= 0 && last%SumScale == 0 && last/SumScale <= records
}
