package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/ratio"
)

// constrained estimates class shares ρ by the mixture of the paper with P̃α in the simplex from the
// start:
//
//	min over α of ‖Σ α_iΦ_i − Φ_U‖²  where  Σα_i = 1, ρ = P̃α ≥ 0.
//
// Of all α with P̃α = ρ the best leaves (ρ−free)ᵀ(P̃KP̃ᵀ)⁺(ρ−free), K = G⁻¹ restricted to Σα = 1
// and G the Gram of the sets. It does no better than the estimators that caucus has, and stands in
// the tables beside them.
type constrained struct {
	kernel ratio.Kernel
	sets   []ratio.Set
	// c×M: free = offset + linear·g, g the inner products of the target with the sets
	linear *mat.Dense
	offset []float64
	metric *mat.Dense // c×c
}

// leastSpectrum is the smallest eigenvalue that is told from noise, relative to the largest.
const leastSpectrum = 1e-6

func newConstrained(sets []ratio.Set, k ratio.Kernel) constrained {
	c, m := len(sets[0].Shares), len(sets)
	shares := mat.NewDense(c, m, nil)
	var rows []*mat.Dense
	for i, s := range sets {
		shares.SetCol(i, s.Shares)
		rows = append(rows, s.Rows)
	}
	gram, _ := ratio.NewGram(k, rows)
	// Where two sets hardly differ, the unbiased Gram has an eigenvalue that is sampling
	// noise, about what the two Grams differ by on the diagonal; its inverse would rule all.
	noise := 0.
	for i := range m {
		noise = max(noise, gram.VStatistic.At(i, i)-gram.UStatistic.At(i, i))
	}
	of := gram.UStatistic
	if values, _ := eigen(of); values[0] < max(noise, leastSpectrum*values[m-1]) {
		of = gram.VStatistic
	}
	inverse := spectral(of, func(v, top float64) float64 {
		if v <= 1e-12*top {
			return 0
		}
		return 1 / v
	})
	ones := make([]float64, m)
	var total float64
	for i := range m {
		ones[i] = mat.Sum(inverse.RowView(i))
		total += ones[i]
	}
	among := mat.DenseCopyOf(inverse) // K
	for i := range m {
		for j := range m {
			among.Set(i, j, among.At(i, j)-ones[i]*ones[j]/total)
		}
	}
	out := constrained{kernel: k, sets: sets, linear: mat.NewDense(c, m, nil),
		offset: make([]float64, c), metric: mat.NewDense(c, c, nil)}
	out.linear.Mul(shares, among)
	for j := range c {
		for i, v := range ones {
			out.offset[j] += shares.At(j, i) * v / total
		}
	}
	// P̃KP̃ᵀ on the directions that sum to zero: all others are made its largest, and left out.
	centre := mat.NewDense(c, c, nil)
	for i := range c {
		for j := range c {
			centre.Set(i, j, -1/float64(c))
		}
		centre.Set(i, i, 1-1/float64(c))
	}
	var spread, centred mat.Dense
	spread.Mul(out.linear, shares.T())
	centred.Mul(centre, &spread)
	centred.Mul(&centred, centre)
	lifted, lift := mat.NewSymDense(c, nil), 0.
	for i := range c {
		for j := range c {
			lift += math.Abs(centred.At(i, j))
		}
	}
	for i := range c {
		for j := range i + 1 {
			lifted.SetSym(i, j, (centred.At(i, j)+centred.At(j, i))/2+2*lift/float64(c))
		}
	}
	values, vectors := eigen(lifted)
	for e, v := range values[:c-1] {
		v = max(v, leastSpectrum*max(values[c-2], 1e-9*lift))
		out.metric.RankOne(out.metric, 1/v, vectors.ColView(e), vectors.ColView(e))
	}
	return out
}

// estimate is for the rows of a test set.
func (c constrained) estimate(x *mat.Dense) []float64 {
	n, _ := x.Dims()
	free := slices.Clone(c.offset)
	for i, s := range c.sets {
		row := make([]float64, n)
		c.kernel.Sums(x, s.Rows, row, nil)
		size, _ := s.Rows.Dims()
		var g float64
		for _, v := range row {
			g += v / float64(n) / float64(size)
		}
		for k := range free {
			free[k] += c.linear.At(k, i) * g
		}
	}
	return nearestShares(c.metric, free)
}

// nearestShares minimises (ρ−free)ᵀH(ρ−free) over the simplex, H positive definite on what sums
// to zero: the least of the minima on all its faces, of which c classes have 2^c − 1.
func nearestShares(h *mat.Dense, free []float64) []float64 {
	c := len(free)
	var best []float64
	least := math.Inf(1)
	for face := 1; face < 1<<c; face++ {
		var in []int
		for k := range c {
			if face>>k&1 == 1 {
				in = append(in, k)
			}
		}
		// (H 1; 1ᵀ 0)(ρ λ) = (H·free 1) on the face.
		a, b := mat.NewDense(len(in)+1, len(in)+1, nil), mat.NewVecDense(len(in)+1, nil)
		for i, k := range in {
			for j, l := range in {
				a.Set(i, j, h.At(k, l))
			}
			a.Set(i, len(in), 1)
			a.Set(len(in), i, 1)
			b.SetVec(i, mat.Dot(h.RowView(k), mat.NewVecDense(c, free)))
		}
		b.SetVec(len(in), 1)
		var x mat.VecDense
		if x.SolveVec(a, b) != nil {
			continue
		}
		p, off := make([]float64, c), mat.NewVecDense(c, nil)
		for i, k := range in {
			p[k] = x.AtVec(i)
		}
		for k := range c {
			off.SetVec(k, p[k]-free[k])
		}
		if v := mat.Inner(off, h, off); slices.Min(p) >= 0 && v < least {
			best, least = p, v
		}
	}
	return best
}

// eigen decomposes a symmetric matrix, smallest first.
func eigen(s *mat.SymDense) ([]float64, *mat.Dense) {
	var of mat.EigenSym
	var vectors mat.Dense
	of.Factorize(s, true) // fails only for NaN, which no Gram matrix has
	of.VectorsTo(&vectors)
	return of.Values(nil), &vectors
}

// spectral is the matrix with its eigenvalues replaced; f is also told the largest.
func spectral(s *mat.SymDense, f func(v, top float64) float64) *mat.Dense {
	values, vectors := eigen(s)
	out := mat.NewDense(len(values), len(values), nil)
	for e, v := range values {
		out.RankOne(out, f(v, values[len(values)-1]), vectors.ColView(e), vectors.ColView(e))
	}
	return out
}
