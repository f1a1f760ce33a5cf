package solving

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// RidgeCholesky is the Cholesky factor of S + ridge·I, S a second moment or covariance (d×d). It
// takes d³/3 multiplications; eigenvectors take some 20·d³.
type RidgeCholesky struct{ factor mat.Cholesky }

// leastRidge is relative to max(trace of S, 1). It is far above rounding errors (eigenvalues of
// −1e-12) and below every λ of the search, as rows have norm about 1.
const leastRidge = 1e-9

// NewRidgeCholesky factors S + ridge·I, with a ridge of at least leastRidge. It panics if S is no
// covariance.
func NewRidgeCholesky(s *mat.SymDense, ridge float64) *RidgeCholesky {
	sum := mat.NewSymDense(s.SymmetricDim(), nil)
	sum.CopySym(s)
	ridge = max(ridge, leastRidge*max(mat.Trace(s), 1))
	for j := range s.SymmetricDim() {
		sum.SetSym(j, j, s.At(j, j)+ridge)
	}
	r := &RidgeCholesky{}
	if !r.factor.Factorize(sum) {
		panic("solving: a covariance is not one")
	}
	return r
}

// Solve replaces g by (S+ridge·I)⁻¹g.
func (r *RidgeCholesky) Solve(g []float64) {
	v := mat.NewVecDense(len(g), g)
	// an error means a badly conditioned matrix; the ridge bounds how bad
	_ = r.factor.SolveVecTo(v, v)
}

// InverseTrace returns tr((S+ridge·I)⁻¹·F·Fᵀ) for a factor F, d×p.
func (r *RidgeCholesky) InverseTrace(f *mat.Dense) float64 {
	var x mat.Dense
	_ = r.factor.SolveTo(&x, f)
	return FrobeniusProduct(&x, f)
}

// Inverse returns (S+ridge·I)⁻¹.
func (r *RidgeCholesky) Inverse() *mat.Dense {
	var inverse mat.SymDense
	_ = r.factor.InverseTo(&inverse)
	return mat.DenseCopyOf(&inverse)
}

// blockRows is so small that a block with a thousand columns fits into a processor's second-level
// cache.
const blockRows = 64

// Norms returns √(xᵢᵀ(S+ridge·I)⁻¹xᵢ) for the rows of x (N×d), the lengths of U⁻ᵀxᵢ with S+ridge·I
// = UᵀU.
func (r *RidgeCholesky) Norms(x *mat.Dense) []float64 {
	n, d := x.Dims()
	u := r.factor.RawU().(mat.RawTriangular).RawTriangular()
	squares := make([]float64, n)
	for from := 0; from < n; from += blockRows {
		solved := mat.DenseCopyOf(x.Slice(from, min(n, from+blockRows), 0, d).T())
		blas64.Trsm(blas.Left, blas.Trans, 1, u, solved.RawMatrix())
		for j := range d {
			for i, v := range solved.RawRowView(j) {
				squares[from+i] += v * v
			}
		}
	}
	for i, s := range squares {
		squares[i] = math.Sqrt(s)
	}
	return squares
}

// FrobeniusProduct returns the sum of the products of equal entries.
func FrobeniusProduct(a, b *mat.Dense) float64 {
	return floats.Dot(a.RawMatrix().Data, b.RawMatrix().Data)
}
