package aggregation

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

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
			centre(z.RawRowView(i), 0)
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

func centre(row []float64, total float64) {
	sum := 0.0
	for _, v := range row {
		sum += v
	}
	shift := (total - sum) / float64(len(row))
	for i := range row {
		row[i] += shift
	}
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
			centre(s.RawRowView(i), 1)
		}
	}
	return s
}

// metric holds the eigenvectors and eigenvalues of a pool's second moment (1/Σv)Σ vᵢxᵢxᵢᵀ.
type metric struct {
	vectors *mat.Dense
	values  []float64
}

func metricOf(x *mat.Dense, weight []float64) metric {
	return metricOfSecondMoment(secondMoment(x, weight))
}

func metricOfSecondMoment(s *mat.SymDense) metric {
	d := s.SymmetricDim()
	var e mat.EigenSym
	e.Factorize(s, true)
	m := metric{vectors: mat.NewDense(d, d, nil), values: e.Values(nil)}
	e.VectorsTo(m.vectors)
	for j, v := range m.values {
		m.values[j] = math.Max(v, 0) // rounding can turn an eigenvalue of 0 into −1e-18
		// By convention the largest entry is positive, so that all machines find the same
		// directions.
		largest := 0.0
		for i := range d {
			if e := m.vectors.At(i, j); math.Abs(e) > math.Abs(largest) {
				largest = e
			}
		}
		if largest < 0 {
			for i := range d {
				m.vectors.Set(i, j, -m.vectors.At(i, j))
			}
		}
	}
	return m
}

// power returns the symmetric matrix (scale·S + ridge·I)^exponent, S the second moment.
func (m metric) power(exponent, scale, ridge float64) *mat.Dense {
	d := len(m.values)
	left := mat.NewDense(d, d, nil)
	for j, v := range m.values {
		f := math.Pow(scale*v+ridge, exponent)
		for i := range d {
			left.Set(i, j, m.vectors.At(i, j)*f)
		}
	}
	out := mat.NewDense(d, d, nil)
	out.Mul(left, m.vectors.T())
	return out
}

// whitener returns T (d×p) with columns q/√(scale·λ + ridge), for the p eigenvectors q of S with an
// eigenvalue λ above cut times the largest. Tᵀx has second moment I if scale is 1 and ridge 0.
// (One-hot columns beside an intercept always have eigenvalues of 0.)
func (m metric) whitener(scale, ridge, cut float64) *mat.Dense {
	d := len(m.values)
	top := m.values[d-1]
	var keep []int
	for j, v := range m.values {
		if v > cut*top {
			keep = append(keep, j)
		}
	}
	out := mat.NewDense(d, len(keep), nil)
	for c, j := range keep {
		f := 1 / math.Sqrt(scale*m.values[j]+ridge)
		for i := range d {
			out.Set(i, c, m.vectors.At(i, j)*f)
		}
	}
	return out
}

// Isotropic returns independent normal noise of deviation sd on d rows.
func Isotropic(d int, sd float64) Noise {
	f := mat.NewDense(d, d, nil)
	for j := range d {
		f.Set(j, j, sd)
	}
	return Noise{Factor: f}
}
