package solving

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Rows computes with the rows of x (n×d). If x is mostly 0, like one-hot columns and their
// products, ends, column and value hold its other entries, those of row i from ends[i] to
// ends[i+1].
type Rows struct {
	x      *mat.Dense
	ends   []int
	column []int32
	value  []float64
}

// sparseShare is the largest share of nonzero entries at which computing with these alone is faster
// than with all entries. (The library handles several entries at a time only if it computes with
// all.)
const sparseShare = 1. / 6

// RowsOf reads x (n×d) and keeps it.
func RowsOf(x *mat.Dense) *Rows {
	n, d := x.Dims()
	r := &Rows{x: x, ends: make([]int, 1, n+1)}
	for i := range n {
		for j, v := range x.RawRowView(i) {
			if v != 0 {
				r.column, r.value = append(r.column, int32(j)), append(r.value, v)
			}
		}
		if r.ends = append(r.ends, len(r.value)); float64(len(r.value)) > sparseShare*float64(n*d) {
			return &Rows{x: x}
		}
	}
	return r
}

// Dims returns the number of rows and of columns.
func (r *Rows) Dims() (n, d int) { return r.x.Dims() }

// Times sets out to x·b.
func (r *Rows) Times(out, b []float64) {
	if r.ends == nil {
		blas64.Gemv(blas.NoTrans, 1, r.x.RawMatrix(), vector(b), 0, vector(out))
		return
	}
	for i := range out {
		sum, value := 0.0, r.value[r.ends[i]:r.ends[i+1]]
		for k, j := range r.column[r.ends[i]:r.ends[i+1]] {
			sum += value[k] * b[j]
		}
		out[i] = sum
	}
}

// Sum sets out to scale·xᵀ·weight (nil: ones).
func (r *Rows) Sum(out []float64, scale float64, weight []float64) {
	clear(out)
	n, _ := r.Dims()
	for i := range n {
		w := scale * WeightAt(weight, i)
		if r.ends == nil {
			blas64.Axpy(w, vector(r.x.RawRowView(i)), vector(out))
			continue
		}
		value := r.value[r.ends[i]:r.ends[i+1]]
		for k, j := range r.column[r.ends[i]:r.ends[i+1]] {
			out[j] += w * value[k]
		}
	}
}

func vector(v []float64) blas64.Vector { return blas64.Vector{N: len(v), Data: v, Inc: 1} }

// Total returns the sum of the weights (nil: ones).
func (r *Rows) Total(weight []float64) float64 {
	if n, _ := r.Dims(); weight == nil {
		return float64(n)
	}
	return floats.Sum(weight)
}

// SecondMoment returns (1/Σv)Σ vᵢxᵢxᵢᵀ, d×d, for weights v. It adds sparse rows in the same order
// as dense rows.
func (r *Rows) SecondMoment(weight []float64) *mat.SymDense {
	n, d := r.Dims()
	total := r.Total(weight)
	if r.ends == nil {
		scaled := mat.DenseCopyOf(r.x)
		for i := range n {
			blas64.Scal(math.Sqrt(WeightAt(weight, i)), vector(scaled.RawRowView(i)))
		}
		return Gram(1/total, scaled)
	}
	sum := mat.NewSymDense(d, nil)
	raw := sum.RawSymmetric()
	for i := range n {
		root, end := math.Sqrt(WeightAt(weight, i)), r.ends[i+1]
		for k := r.ends[i]; k < end; k++ {
			to, v := raw.Data[int(r.column[k])*raw.Stride:], 1/total*(root*r.value[k])
			for l := k; l < end; l++ {
				to[r.column[l]] += v * (root * r.value[l])
			}
		}
	}
	return sum
}

// SecondMoment returns (1/Σv)Σ vᵢxᵢxᵢᵀ, d×d.
func SecondMoment(x *mat.Dense, weight []float64) *mat.SymDense {
	return RowsOf(x).SecondMoment(weight)
}

// Gram returns scale·xᵀx, d×d. It adds blocks of rows in order, which is several times faster for
// large x.
func Gram(scale float64, x *mat.Dense) *mat.SymDense {
	n, d := x.Dims()
	sum := mat.NewSymDense(d, nil)
	for from := 0; from < n; from += blockRows {
		sum.SymRankK(sum, scale, x.Slice(from, min(n, from+blockRows), 0, d).T())
	}
	return sum
}

// WeightAt returns the weight of row i, 1 for nil.
func WeightAt(weight []float64, i int) float64 {
	if weight == nil {
		return 1
	}
	return weight[i]
}
