package fitting

import (
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/solving"
	"caucus/learners"
)

// MomentsFromSums turns released sums over this number of ballots into moments. With more than two
// classes the columns are centred to sum to the public moment of all rows.
func MomentsFromSums(m *aggregation.MomentDesign, sums []float64, ballots float64) *mat.Dense {
	c := learners.WeightColumns(m.Classes)
	d, p := m.SumsToMoments.Dims()
	z := mat.NewDense(p, c, nil)
	raw := z.RawMatrix().Data
	for i, s := range sums {
		raw[i] = s / ballots
	}
	if c > 1 {
		for j := range p {
			total := 0.0
			for i := range m.Rows() {
				total += float64(m.Row(i)[j])
			}
			solving.ShiftToTotal(z.RawRowView(j), total)
		}
	}
	mu := mat.NewDense(d, c, nil)
	mu.Mul(m.SumsToMoments, z)
	return mu
}

// MomentNoise returns the distribution of the noise of MomentsFromSums if each sum's noise has
// deviation sd, Laplace or nearly normal.
func MomentNoise(m *aggregation.MomentDesign, sd float64, laplace bool) Noise {
	d, p := m.SumsToMoments.Dims()
	factor := mat.NewDense(d, p, nil)
	factor.Scale(sd, m.SumsToMoments)
	return Noise{Factor: factor, Laplace: laplace, Centred: m.Classes > 2}
}
