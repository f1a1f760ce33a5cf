package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

const (
	// nullDirection is the least variance of a kept direction, as a share of the largest variance.
	// Less is a rounding error, because eigenvalues have errors of about d·1e-16. One-hot blocks
	// always have such directions, because their columns sum to 1.
	nullDirection = 1e-9
	// scaleQuantile is the share of projected pool rows that have norm at most 1 without clipping.
	// It is below 1 so that a few outliers do not make all other rows tiny.
	scaleQuantile = 0.5
)

// FitPCA fits the map to the dims directions of largest variance of x, N×d encoded rows of the
// PUBLIC pool, never of private records, or to all directions if x varies in fewer. It fails if x
// has fewer than two rows, only equal rows, or an entry that is not finite.
//
// Each direction has its largest entry positive, so equal pools give equal maps. Direction j is
// stretched by (λ₁/λⱼ)^(whiten/2): 0 keeps the variances λ, 1 makes them all equal. Whitening
// amplifies small directions, and their noise.
func FitPCA(x *mat.Dense, dims int, whiten float64) (Map, error) {
	n, d := x.Dims()
	switch {
	case dims < 1:
		return Map{}, fmt.Errorf("fit pca: %d dimensions asked for; ask for at least 1", dims)
	case !(whiten >= 0 && whiten <= 1):
		return Map{}, fmt.Errorf("fit pca: whiten is %g; choose a value from 0 (plain) to 1 (full)", whiten)
	case n < 2:
		return Map{}, fmt.Errorf("fit pca: the pool has %d rows; it needs at least 2", n)
	}
	mean := make([]float64, d)
	for i := range n {
		for j, v := range x.RawRowView(i) {
			mean[j] += v
		}
	}
	for j := range mean {
		mean[j] /= float64(n)
		if mean[j]-mean[j] != 0 {
			return Map{}, fmt.Errorf("fit pca: column %d of the pool holds a value that is not finite", j)
		}
	}

	var eigen mat.EigenSym
	if !eigen.Factorize(covariance(x, mean), true) {
		return Map{}, errors.New("fit pca: the eigenvalues did not converge; use fewer features")
	}
	values := eigen.Values(nil) // ascending
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	largest := values[d-1]
	if !(largest > 1e-20) { // entries are in [0,1], so a smaller value is a rounding error
		return Map{}, errors.New("fit pca: all rows of the pool are alike; use a pool that varies")
	}
	rank := 0
	for rank < d && values[d-1-rank] > nullDirection*largest {
		rank++
	}
	p := min(dims, rank)

	m := Map{Kind: PCAMap, Inputs: d, Outputs: p, Scale: 1, Mean: mean,
		Directions: make([]float32, d*p), Whiten: whiten}
	column := make([]float64, d)
	for j := range p {
		mat.Col(column, d-1-j, &vectors)
		factor := math.Pow(largest/values[d-1-j], whiten/2) * signOfLargest(column)
		for i, v := range column {
			m.Directions[i*p+j] = float32(v * factor)
		}
	}
	m.Scale = m.poolScale(x)
	return m, nil
}

// covariance returns (1/N)Σ(x−mean)(x−mean)ᵀ, d×d, in blocks of rows without a second copy of x.
func covariance(x *mat.Dense, mean []float64) *mat.SymDense {
	n, d := x.Dims()
	const block = 1024
	centred := mat.NewDense(min(block, n), d, nil)
	sum, part := mat.NewDense(d, d, nil), mat.NewDense(d, d, nil)
	for top := 0; top < n; top += block {
		rows := min(block, n-top)
		c := centred.Slice(0, rows, 0, d).(*mat.Dense)
		for i := range rows {
			row := c.RawRowView(i)
			for j, v := range x.RawRowView(top + i) {
				row[j] = v - mean[j]
			}
		}
		part.Mul(c.T(), c)
		sum.Add(sum, part)
	}
	sum.Scale(1/float64(n), sum)
	return mat.NewSymDense(d, sum.RawMatrix().Data)
}

func signOfLargest(v []float64) float64 {
	best := 0
	for i := range v {
		if math.Abs(v[i]) > math.Abs(v[best]) {
			best = i
		}
	}
	return math.Copysign(1, v[best])
}

func (m Map) poolScale(x *mat.Dense) float64 {
	n, _ := x.Dims()
	v := m.directions()
	var z mat.Dense
	z.Mul(x, v)
	offset := make([]float64, m.Outputs)
	mat.NewVecDense(m.Outputs, offset).MulVec(v.T(), mat.NewVecDense(m.Inputs, m.Mean))
	for i := range n {
		row := z.RawRowView(i)
		for j := range row {
			row[j] -= offset[j]
		}
	}
	return quantileNorm(&z)
}

// quantileNorm returns the norm that a share scaleQuantile of the rows does not exceed; if 0, the
// largest.
func quantileNorm(z *mat.Dense) float64 {
	n, _ := z.Dims()
	norms := make([]float64, n)
	for i := range n {
		norms[i] = mat.Norm(z.RowView(i), 2)
	}
	slices.Sort(norms)
	if q := norms[int(scaleQuantile*float64(n-1))]; q > 1e-6*norms[n-1] {
		return q
	}
	return norms[n-1]
}
