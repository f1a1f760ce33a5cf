package fitting

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/solving"
	"caucus/learners"
)

// meansLength is a fixed value for the length of a party's mean: the correlation of class and
// features, at most 1/2 for two classes, plus the scatter of few records. It scales noise and
// signal alike, so the release's ridge compensates: on adult, phishing and wisdm_har a quarter
// to twice this length were as good.
const meansLength = 0.3

// MomentsFromVectors makes FitVotes' moments (d×learners.WeightColumns(classes)) from the noisy sum
// of the parties' directions: the mean direction times meansLength, plus the pool's mean row over
// K.
func MomentsFromVectors(m *aggregation.MeansDesign, sum []float64, parties float64) (*mat.Dense,
	error) {
	d, c := len(m.Mean), learners.WeightColumns(m.Classes)
	if len(sum) != d*c {
		return nil, fmt.Errorf("read a sum of means: have %d numbers, want %d features of %d columns", len(sum), d, c)
	}
	z := mat.NewDense(d, c, nil)
	for j := range d {
		row := z.RawRowView(j)
		for k := range row {
			row[k] = sum[j*c+k] * meansLength / (float64(aggregation.MaxMeansEntry) * parties)
		}
		if c > 1 { // a row sums to 0, except for truncation and noise
			solving.ShiftToTotal(row, 0)
		}
	}
	mu := mat.NewDense(d, c, nil)
	mu.Mul(m.InverseTransform, z)
	for j, v := range m.Mean {
		for k := range c {
			mu.Set(j, k, mu.At(j, k)+v/float64(m.Classes))
		}
	}
	return mu, nil
}

// ExactMomentsFromVectors returns what MomentsFromVectors returns for a release without noise, if
// every party's mean gives the moments mu.
func ExactMomentsFromVectors(m *aggregation.MeansDesign, mu *mat.Dense) *mat.Dense {
	// about adds or removes the pool's mean row divided by K
	about := func(from *mat.Dense, sign float64) *mat.Dense {
		out := mat.DenseCopyOf(from)
		out.Apply(func(j, _ int, v float64) float64 {
			return v + sign*m.Mean[j]/float64(m.Classes)
		}, out)
		return out
	}
	var z, told mat.Dense
	z.Mul(m.Transform, about(mu, -1))
	if norm := mat.Norm(&z, 2); norm > 0 {
		z.Scale(meansLength/norm, &z)
	}
	told.Mul(m.InverseTransform, &z)
	return about(&told, 1)
}

// MeansNoise returns the distribution of the noise of MomentsFromVectors if every cell of the sum
// has noise of this variance.
func MeansNoise(m *aggregation.MeansDesign, variance, parties float64) Noise {
	f := mat.DenseCopyOf(m.InverseTransform)
	f.Scale(math.Sqrt(variance)*meansLength/(float64(aggregation.MaxMeansEntry)*parties), f)
	return Noise{Factor: f, Centred: m.Classes > 2}
}
