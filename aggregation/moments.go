package aggregation

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/solving"
	"caucus/learners"
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
			solving.Centre(z.RawRowView(i), 0)
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

// SharesOf turns released counts (row-major rows × learners.Columns(classes)) into vote shares of
// the same shape. With more than two classes rows are centred to sum to 1. Shares are not clipped,
// because the risks are linear in them and clipping would add bias.
func SharesOf(counts []float64, rows, classes int, ballots float64) *mat.Dense {
	c := learners.Columns(classes)
	s := mat.NewDense(rows, c, nil)
	raw := s.RawMatrix().Data
	for i, v := range counts {
		raw[i] = v / ballots
	}
	if c > 1 {
		for i := range rows {
			solving.Centre(s.RawRowView(i), 1)
		}
	}
	return s
}

// Isotropic returns independent normal noise of deviation sd on d rows.
func Isotropic(d int, sd float64) Noise {
	f := mat.NewDense(d, d, nil)
	for j := range d {
		f.Set(j, j, sd)
	}
	return Noise{Factor: f}
}
