package fitting

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/solving"
)

// CrossMomentMeans turns released sums over n records (row-major classes × d) into means over
// records of onehot(y) ⊗ x, d×classes.
func CrossMomentMeans(sums []float64, classes, d int, n float64) (*mat.Dense, error) {
	if len(sums) != classes*d {
		return nil, fmt.Errorf("read cross sums: have %d numbers, want %d classes of %d features", len(sums), classes, d)
	}
	m := mat.NewDense(d, classes, nil)
	for k := range classes {
		for j := range d {
			m.Set(j, k, sums[k*d+j]/(aggregation.SumScale*n))
		}
	}
	return m, nil
}

// LabelledRecords estimates the number of labelled records from the intercepts of sums. Each sum
// has noise of standard deviation sd. off is the standard deviation of the estimate.
func LabelledRecords(sums []float64, classes, d int, sd float64) (n, off float64) {
	each := math.Floor(aggregation.SumScale / math.Sqrt2)
	for k := range classes {
		n += sums[k*d+d-1] / each
	}
	return n, math.Sqrt(float64(classes)) * sd / each
}

// CentredCrossMoments makes FitVotes' moments from the class sums' means (d×classes). The columns
// are centred to sum to mean, the pool's mean row, because the rest of the risk is over the pool.
func CentredCrossMoments(means *mat.Dense, mean []float64) *mat.Dense {
	d, k := means.Dims()
	mu := mat.DenseCopyOf(means)
	for j := range d {
		solving.ShiftToTotal(mu.RawRowView(j), mean[j])
	}
	if k > 2 {
		return mu
	}
	return mat.DenseCopyOf(mu.Slice(0, d, 1, 2))
}

// CrossMomentNoise returns the law of the errors of CentredCrossMoments. The fit needs all three
// parts:
//
//   - privacy noise of standard deviation sd on each entry of the class sums' means (with two
//     classes, centring leaves half its variance);
//   - sampling: the moments come from records, the risk's other part from the weighted pool x,
//     which counts as effective rows;
//   - drift: a class mean is off by about 1/K of residual (d numbers), the records' feature mean
//     minus the pool's.
func CrossMomentNoise(classes int, sd float64, x *mat.Dense, weight []float64, effective,
	records float64,
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

// crossColumn returns the standard deviation of the noise in a column of CentredCrossMoments, if
// class sums have noise of standard deviation sd. With two classes, a column is half their
// difference.
func crossColumn(classes int, sd float64) float64 {
	if classes == 2 {
		return sd * math.Sqrt(0.5)
	}
	return sd
}
