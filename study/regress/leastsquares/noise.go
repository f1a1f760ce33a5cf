package leastsquares

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// noise has the variances of the noise E on a symmetric matrix: of a product of two different
// numbers, and of a square.
type noise struct{ product, square float64 }

func (n noise) times(by float64) noise { return noise{n.product * by, n.square * by} }

// hides reports whether so many records, a noisy number, are too few for k coefficients.
func (n noise) hides(records float64, k int) bool {
	return !(records >= 2*float64(k)) || !(records > leastSignal*math.Sqrt(n.square))
}

// residualNoise returns the covariance of r = e − Eβ, where e has independent noise on products.
//
// r_i = e_i − E_ii·β_i − Σ_{j≠i} E_ij·β_j, and r_i shares E_ij with r_j alone, so with p and s the
// variances Cov(r)_ii = p·(1 + |β|² − β_i²) + s·β_i² and Cov(r)_ij = p·β_i·β_j.
func (n noise) residualNoise(beta []float64) *mat.SymDense {
	out, size := scaled(n.product, outer(beta)), mat.Dot(vector(beta), vector(beta))
	for i, b := range beta {
		out.SetSym(i, i, n.product*(1+size)+(n.square-n.product)*b*b)
	}
	return out
}

// inflation returns E[M·E·M·E·β] for a fixed M: E[EME]_ij = p·M_ij for i ≠ j, and at i = j it is
// p·(tr M − M_ii) + s·M_ii.
func (n noise) inflation(m *mat.SymDense, beta []float64) []float64 {
	each, trace := scaled(n.product, m), mat.Trace(m)
	for i := range beta {
		each.SetSym(i, i, n.product*(trace-m.At(i, i))+n.square*m.At(i, i))
	}
	return product(m, each, vector(beta)).RawMatrix().Data
}

// form returns the variance of ⟨Q, E⟩ = Σ Q_ii·E_ii + 2·Σ_{i<j} Q_ij·E_ij.
func (n noise) form(q *mat.SymDense) float64 {
	out := 0.
	for i := range q.SymmetricDim() {
		out += n.square * q.At(i, i) * q.At(i, i)
		for j := range i {
			out += 4 * n.product * q.At(i, j) * q.At(i, j)
		}
	}
	return out
}

func vector(v []float64) *mat.VecDense { return mat.NewVecDense(len(v), v) }

// outer returns vvᵀ.
func outer(v []float64) *mat.SymDense {
	out := mat.NewSymDense(len(v), nil)
	out.SymOuterK(1, vector(v))
	return out
}

func scaled(by float64, m mat.Symmetric) *mat.SymDense {
	out := mat.NewSymDense(m.SymmetricDim(), nil)
	out.ScaleSym(by, m)
	return out
}

// product returns the product of matrices.
func product(all ...mat.Matrix) *mat.Dense {
	out := mat.DenseCopyOf(all[0])
	for _, m := range all[1:] {
		var next mat.Dense
		next.Mul(out, m)
		out = &next
	}
	return out
}

// symmetric returns the upper triangle of a matrix that is symmetric but for rounding.
func symmetric(m *mat.Dense) *mat.SymDense {
	n, _ := m.Dims()
	out := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			out.SetSym(i, j, m.At(i, j))
		}
	}
	return out
}
