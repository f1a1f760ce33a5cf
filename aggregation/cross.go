package aggregation

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// SumScale is 1 in sums of records. Records are summed as integers, so a mapped row (z,1)/√2 with
// ‖z‖ ≤ 1 becomes trunc(2²⁰·row).
const SumScale = 1 << 20

// crossHalf is 2³⁹. Truncating raises no norm: the features' norm² and the intercept's square are
// each at most crossHalf.
const crossHalf = SumScale * SumScale / 2

// CrossMomentL2sq bounds the squared L2 movement of CrossMomentSums when one record is replaced.
// With equal labels the intercepts cancel and the features differ by at most 2·2^19.5, squared 2⁴¹.
// With different labels two disjoint blocks change by whole rows of norm² at most 2⁴⁰ each,
// together 2⁴¹. A record without a label adds nothing, so replacing it moves less.
const CrossMomentL2sq = 4 * crossHalf

// CrossMomentL1 bounds the L1 movement for d mapped features: at most 2d cells change, so √(2d)
// times L2.
func CrossMomentL1(d int) int64 {
	return int64(math.Ceil(math.Sqrt(2*float64(d)*CrossMomentL2sq) * (1 + 1e-12)))
}

// CrossMomentSums returns Σ over records of onehot(y) ⊗ z, row-major classes × d, z the record's
// row as integers (latticeRow). x is n×d, mapped; y has classes 0..classes−1, or −1 for a record
// without a label.
func CrossMomentSums(x *mat.Dense, y []int, classes int) []int64 {
	n, d := x.Dims()
	out := make([]int64, classes*d)
	z := make([]int64, d)
	for i := range n {
		if y[i] < 0 {
			continue
		}
		latticeRow(z, x.RawRowView(i))
		block := out[y[i]*d : (y[i]+1)*d]
		for j, v := range z {
			block[j] += v
		}
	}
	return out
}

// latticeRow truncates a row and checks in integers that features and intercept keep their bounds.
// A part that exceeds its bound becomes zero. (NaN would exceed it, but no map makes NaN.)
func latticeRow(z []int64, row []float64) {
	last := len(row) - 1
	var norm int64
	for j, v := range row {
		if !(math.Abs(v) <= 1) {
			v = 0
		}
		z[j] = int64(v * SumScale)
		if j < last {
			norm += z[j] * z[j]
		}
	}
	if norm > crossHalf {
		clear(z[:last])
	}
	if z[last]*z[last] > crossHalf {
		z[last] = 0
	}
}

// CrossMomentInRange reports whether a sum over this number of records (at most 2⁴⁰) is possible.
func CrossMomentInRange(sum, records int64) bool {
	return -MaxCrossMoment(records) <= sum && sum <= MaxCrossMoment(records)
}

// MaxCrossMoment returns the largest magnitude of a sum over this number of records.
func MaxCrossMoment(records int64) int64 { return records * SumScale }
