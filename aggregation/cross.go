package aggregation

import (
	"fmt"
	"math"

	"caucus/aggregation/solving"

	"gonum.org/v1/gonum/mat"
)

// Records are summed as integers, so a mapped row (z,1)/√2 with ‖z‖ ≤ 1 becomes trunc(2²⁰·row).
// Truncating raises no norm: the features' norm² and the intercept's square are each at most 2³⁹.
const (
	crossScale = 1 << 20
	crossHalf  = 1 << 39
)

// CrossL2sq bounds the squared L2 movement of CrossSums when one record is replaced. With equal
// labels the intercepts cancel and the features differ by at most 2·2^19.5, squared 2⁴¹. With
// different labels two disjoint blocks change by whole rows of norm² at most 2⁴⁰ each, together
// 2⁴¹. A record without a label adds nothing, so replacing it moves less.
const CrossL2sq = 4 * crossHalf

// CrossL1 bounds the L1 movement for d mapped features: at most 2d cells change, so √(2d) times L2.
func CrossL1(d int) int64 {
	return int64(math.Ceil(math.Sqrt(2*float64(d)*CrossL2sq) * (1 + 1e-12)))
}

// CrossSums returns Σ over records of onehot(y) ⊗ z, row-major classes × d, z the record's row as
// integers (latticeRow). x is n×d, mapped; y has classes 0..classes−1, or −1 for a record without a
// label.
func CrossSums(x *mat.Dense, y []int, classes int) []int64 {
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
		z[j] = int64(v * crossScale)
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

// CrossMeans turns released sums over n records (row-major classes × d) into means over records of
// onehot(y) ⊗ x, d×classes.
func CrossMeans(sums []float64, classes, d int, n float64) (*mat.Dense, error) {
	if len(sums) != classes*d {
		return nil, fmt.Errorf("read cross sums: have %d numbers, want %d classes of %d features", len(sums), classes, d)
	}
	m := mat.NewDense(d, classes, nil)
	for k := range classes {
		for j := range d {
			m.Set(j, k, sums[k*d+j]/(crossScale*n))
		}
	}
	return m, nil
}

// CrossLabelled estimates the number of labelled records from the intercepts of sums. Each sum has
// noise of standard deviation sd. off is the standard deviation of the estimate.
func CrossLabelled(sums []float64, classes, d int, sd float64) (n, off float64) {
	each := math.Floor(crossScale / math.Sqrt2)
	for k := range classes {
		n += sums[k*d+d-1] / each
	}
	return n, math.Sqrt(float64(classes)) * sd / each
}

// CrossMoments makes FitVotes' moments from the class sums' means (d×classes). The columns are
// centred to sum to mean, the pool's mean row, because the rest of the risk is over the pool.
func CrossMoments(means *mat.Dense, mean []float64) *mat.Dense {
	d, k := means.Dims()
	mu := mat.DenseCopyOf(means)
	for j := range d {
		solving.Centre(mu.RawRowView(j), mean[j])
	}
	if k > 2 {
		return mu
	}
	return mat.DenseCopyOf(mu.Slice(0, d, 1, 2))
}

// CrossNoise returns the law of the errors of CrossMoments. The fit needs all three parts:
//
//   - privacy noise of standard deviation sd on each entry of the class sums' means (with two
//     classes, centring leaves half its variance);
//   - sampling: the moments come from records, the risk's other part from the weighted pool x,
//     which counts as effective rows;
//   - drift: a class mean is off by about 1/K of residual (d numbers), the records' feature mean
//     minus the pool's.
func CrossNoise(classes int, sd float64, x *mat.Dense, weight []float64, effective, records float64,
	residual []float64) Noise {
	_, d := x.Dims()
	k := float64(classes)
	sd = crossColumn(classes, sd)
	c := solving.SecondMoment(x, weight)
	c.ScaleSym((1-1/k)/k*(1/effective+1/records), c)
	c.SymRankOne(c, 1/(k*k), mat.NewVecDense(d, residual))
	for j := range d {
		c.SetSym(j, j, c.At(j, j)+sd*sd)
	}
	return Noise{Factor: squareRoot(c), Centred: classes > 2}
}

// crossColumn returns the standard deviation of the noise in a column of CrossMoments, if class
// sums have noise of standard deviation sd. With two classes, a column is half their difference.
func crossColumn(classes int, sd float64) float64 {
	if classes == 2 {
		return sd * math.Sqrt(0.5)
	}
	return sd
}

// CrossInRange reports whether a sum over this number of records (at most 2⁴⁰) is possible.
func CrossInRange(sum, records int64) bool {
	return -CrossMost(records) <= sum && sum <= CrossMost(records)
}

// CrossMost returns the largest magnitude of a sum over this number of records.
func CrossMost(records int64) int64 { return records * crossScale }

// CrossDeviation returns the standard deviation of the noise on each entry of CrossMeans over n
// records, if each sum holds this number of independent noises of this variance.
func CrossDeviation(variance float64, draws int, n float64) float64 {
	return math.Sqrt(float64(draws)*variance) / (crossScale * n)
}
