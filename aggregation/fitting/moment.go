package fitting

import (
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/solving"
	"caucus/learners"
)

// MomentMu turns released sums over this number of ballots into moments. With more than two classes
// the columns are centred to sum to the public moment of all rows.
func MomentMu(m *aggregation.MomentDesign, sums []float64, ballots float64) *mat.Dense {
	c := learners.Columns(m.Classes)
	d, p := m.Back.Dims()
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
			solving.Centre(z.RawRowView(j), total)
		}
	}
	mu := mat.NewDense(d, c, nil)
	mu.Mul(m.Back, z)
	return mu
}

// MomentNoise returns the distribution of MomentMu's noise if each sum's noise has deviation sd,
// Laplace or nearly normal.
func MomentNoise(m *aggregation.MomentDesign, sd float64, laplace bool) Noise {
	d, p := m.Back.Dims()
	factor := mat.NewDense(d, p, nil)
	factor.Scale(sd, m.Back)
	return Noise{Factor: factor, Laplace: laplace, Centred: m.Classes > 2}
}
