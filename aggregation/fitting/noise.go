package fitting

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/solving"
)

// Noise is the law of the noise on a released moment matrix Mu (d×C): each column is Factor·z, the
// entries of z independent with mean 0 and variance 1. The law is public, so fresh draws cost
// nothing.
type Noise struct {
	// Factor is d×p.
	Factor *mat.Dense
	// Laplace reports that the entries of z are Laplace, otherwise normal. The released discrete
	// noises differ from this by less than their rounding, and K-norm noise (excess kurtosis
	// 6/(m+1) in runs of m) by a little more.
	Laplace bool
	// Centred reports that the mean over columns is removed from z, as from released counts.
	Centred bool
}

// Draw returns fresh noise, d×columns.
func (n Noise) Draw(columns int, rng *rand.Rand) *mat.Dense {
	d, p := n.Factor.Dims()
	z := mat.NewDense(p, columns, nil)
	raw := z.RawMatrix().Data
	for i := range raw {
		if n.Laplace {
			// The difference of two unit exponentials has variance 2.
			raw[i] = (rng.ExpFloat64() - rng.ExpFloat64()) / math.Sqrt2
		} else {
			raw[i] = rng.NormFloat64()
		}
	}
	if n.Centred {
		for i := range p {
			solving.ShiftToTotal(z.RawRowView(i), 0)
		}
	}
	out := mat.NewDense(d, columns, nil)
	out.Mul(n.Factor, z)
	return out
}

// Covariance returns the covariance of one column before centring, Factor·Factorᵀ.
func (n Noise) Covariance() *mat.SymDense {
	d, _ := n.Factor.Dims()
	c := mat.NewSymDense(d, nil)
	c.SymOuterK(1, n.Factor)
	return c
}

// IsotropicNoise returns independent normal noise of deviation sd on d rows.
func IsotropicNoise(d int, sd float64) Noise {
	f := mat.NewDense(d, d, nil)
	for j := range d {
		f.Set(j, j, sd)
	}
	return Noise{Factor: f}
}

// MeanNoiseSD returns the standard deviation of the noise on a mean over n records, if their sum
// (see aggregation.SumScale) holds this number of independent noises of this variance.
func MeanNoiseSD(variance float64, draws int, n float64) float64 {
	return math.Sqrt(float64(draws)*variance) / (aggregation.SumScale * n)
}
