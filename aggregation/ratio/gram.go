package ratio

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
)

// Gram holds the inner products of the mean embeddings Φ_i of M sets.
//
//	V_ij = ⟨Φ_i, Φ_j⟩ = mean of k(x,y) over x in set i, y in set j.
//
// On the diagonal VStatistic counts each row against itself and so exceeds E k(x,x') by
// (MeanSelfKernel − UStatistic)/SetSizes. UStatistic leaves these pairs out (u-statistic) and is
// unbiased for independently drawn rows. Privacy noise of variance s_i a coordinate adds D·s_i to
// both diagonals, which is subtracted.
type Gram struct {
	VStatistic, UStatistic *mat.SymDense // M×M, differing only on the diagonal
	MeanSelfKernel         []float64     // mean of k(x,x) in each set
	SetSizes               []int         // rows of each set
}

// NewGram compares the sets (each n_i×d, n_i ≥ 2) by kernel values, block by block. scores[i]
// (n_i×M) holds the mean kernel value of each row of set i with each set, for the intervals.
func NewGram(k Kernel, sets []*mat.Dense) (g Gram, scores []*mat.Dense) {
	m := len(sets)
	g = Gram{VStatistic: mat.NewSymDense(m, nil), UStatistic: mat.NewSymDense(m, nil),
		MeanSelfKernel: make([]float64, m),
		SetSizes:       make([]int, m)}
	for i, x := range sets {
		n, _ := x.Dims()
		g.SetSizes[i] = n
		scores = append(scores, mat.NewDense(n, m, nil))
		for r := range n {
			g.MeanSelfKernel[i] += k.SelfValue(x.RawRowView(r)) / float64(n)
		}
	}
	for i := range sets {
		for j := range i + 1 {
			row := make([]float64, g.SetSizes[i])
			column := make([]float64, g.SetSizes[j])
			k.Sums(sets[i], sets[j], row, column)
			var sum float64
			for r, v := range row {
				sum += v
				scores[i].Set(r, j, v/float64(g.SetSizes[j]))
			}
			if i != j {
				for r, v := range column {
					scores[j].Set(r, i, v/float64(g.SetSizes[i]))
				}
			}
			g.set(i, j, sum/float64(g.SetSizes[i])/float64(g.SetSizes[j]))
		}
	}
	return g, scores
}

// EmbeddingGram compares sets by their mean embeddings, the rows of phi (M×D). Set i has n[i] ≥ 2
// rows, whose mean k(x,x) is self[i]. noise[i] is the variance of the privacy noise on each
// coordinate of embedding i.
func EmbeddingGram(phi *mat.Dense, n []int, self, noise []float64) Gram {
	m, d := phi.Dims()
	g := Gram{VStatistic: mat.NewSymDense(m, nil), UStatistic: mat.NewSymDense(m, nil),
		MeanSelfKernel: self, SetSizes: n}
	for i := range m {
		for j := range i + 1 {
			v := embedding.Dot(phi.RawRowView(i), phi.RawRowView(j))
			if i == j {
				v -= float64(d) * noise[i]
			}
			g.set(i, j, v)
		}
	}
	return g
}

func (g Gram) set(i, j int, v float64) {
	g.VStatistic.SetSym(i, j, v)
	if i == j {
		v = withoutSelf(v, g.MeanSelfKernel[i], g.SetSizes[i])
	}
	g.UStatistic.SetSym(i, j, v)
}

// withoutSelf turns a mean over all n² pairs into one over the n(n−1) pairs of different rows.
func withoutSelf(v, self float64, n int) float64 { return (float64(n)*v - self) / float64(n-1) }

// Select returns the Gram of some sets, by index and in that order. It copies, so g stays as it is.
func (g Gram) Select(sets []int) Gram {
	m := len(sets)
	out := Gram{VStatistic: mat.NewSymDense(m, nil), UStatistic: mat.NewSymDense(m, nil),
		MeanSelfKernel: make([]float64, m),
		SetSizes:       make([]int, m)}
	for a, i := range sets {
		out.MeanSelfKernel[a], out.SetSizes[a] = g.MeanSelfKernel[i], g.SetSizes[i]
		for b, j := range sets[:a+1] {
			out.VStatistic.SetSym(a, b, g.VStatistic.At(i, j))
			out.UStatistic.SetSym(a, b, g.UStatistic.At(i, j))
		}
	}
	return out
}

// String prints sizes only, because Gram entries come from data.
func (g Gram) String() string { return fmt.Sprintf("gram of %d sets", len(g.SetSizes)) }
