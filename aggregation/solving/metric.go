package solving

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// ShiftToTotal adds one number to all of a row, so that the row sums to total.
func ShiftToTotal(row []float64, total float64) {
	sum := 0.0
	for _, v := range row {
		sum += v
	}
	shift := (total - sum) / float64(len(row))
	for i := range row {
		row[i] += shift
	}
}

// Spectrum holds the eigenvectors and eigenvalues of a pool's second moment (1/Σv)Σ vᵢxᵢxᵢᵀ.
type Spectrum struct {
	Vectors *mat.Dense
	Values  []float64
}

// SpectrumOf returns the spectrum of rows x (n×d) with weights (nil: ones).
func SpectrumOf(x *mat.Dense, weight []float64) Spectrum {
	return SpectrumOfMoment(SecondMoment(x, weight))
}

// SpectrumOfMoment returns the spectrum of a second moment (d×d).
func SpectrumOfMoment(s *mat.SymDense) Spectrum {
	d := s.SymmetricDim()
	var e mat.EigenSym
	e.Factorize(s, true)
	m := Spectrum{Vectors: mat.NewDense(d, d, nil), Values: e.Values(nil)}
	e.VectorsTo(m.Vectors)
	for j, v := range m.Values {
		m.Values[j] = math.Max(v, 0) // rounding can turn an eigenvalue of 0 into −1e-18
		// By convention the largest entry is positive, so that all machines find the same
		// directions.
		largest := 0.0
		for i := range d {
			if e := m.Vectors.At(i, j); math.Abs(e) > math.Abs(largest) {
				largest = e
			}
		}
		if largest < 0 {
			for i := range d {
				m.Vectors.Set(i, j, -m.Vectors.At(i, j))
			}
		}
	}
	return m
}

// Power returns the symmetric matrix (scale·S + ridge·I)^exponent, S the second moment.
func (s Spectrum) Power(exponent, scale, ridge float64) *mat.Dense {
	d := len(s.Values)
	left := mat.NewDense(d, d, nil)
	for j, v := range s.Values {
		f := math.Pow(scale*v+ridge, exponent)
		for i := range d {
			left.Set(i, j, s.Vectors.At(i, j)*f)
		}
	}
	out := mat.NewDense(d, d, nil)
	out.Mul(left, s.Vectors.T())
	return out
}

// Whitener returns T (d×p) with columns q/√(scale·λ + ridge), for the p eigenvectors q of S with an
// eigenvalue λ above cut times the largest. Tᵀx has second moment I if scale is 1 and ridge 0.
// (One-hot columns beside an intercept always have eigenvalues of 0.)
func (s Spectrum) Whitener(scale, ridge, cut float64) *mat.Dense {
	d := len(s.Values)
	top := s.Values[d-1]
	var keep []int
	for j, v := range s.Values {
		if v > cut*top {
			keep = append(keep, j)
		}
	}
	out := mat.NewDense(d, len(keep), nil)
	for c, j := range keep {
		f := 1 / math.Sqrt(scale*s.Values[j]+ridge)
		for i := range d {
			out.Set(i, c, s.Vectors.At(i, j)*f)
		}
	}
	return out
}
