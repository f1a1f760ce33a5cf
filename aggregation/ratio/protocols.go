package ratio

import (
	"fmt"
	"math/rand/v2"
)

// Sample is one test set: indices of its rows, and its exact shares.
type Sample struct {
	Rows   []int
	Shares []float64
}

// SampleOptions says how many test sets SampleSets draws, and how large they are. Classes, at least
// 2, is the number c of labels 0..c−1.
type SampleOptions struct {
	Classes int
	Size    int // rows per set
	Sets    int
}

// SampleSets draws test sets from rows with labels y (0..c−1; others are never drawn), at shares
// drawn uniformly on the simplex. Within a set, rows of a class are drawn without replacement until
// the class is exhausted, then again from the start, so sizes and shares are always met.
func SampleSets(y []int, s SampleOptions, rng *rand.Rand) ([]Sample, error) {
	if s.Classes < 2 || s.Size < 1 || s.Sets < 1 {
		return nil, fmt.Errorf("sample sets: classes %d, size %d, sets %d: give at least 2, 1 and 1", s.Classes, s.Size, s.Sets)
	}
	var out []Sample
	for range s.Sets {
		sample, err := SampleAtShares(y, UniformShares(s.Classes, rng), s.Size, rng)
		if err != nil {
			return nil, err
		}
		out = append(out, sample)
	}
	return out, nil
}

// SampleAtShares draws size rows, with class counts nearest to size·shares (largest remainders).
func SampleAtShares(y []int, shares []float64, size int, rng *rand.Rand) (Sample, error) {
	counts := roundCounts(shares, size)
	byClass := make([][]int, len(shares))
	for r, k := range y {
		if k >= 0 && k < len(shares) {
			byClass[k] = append(byClass[k], r)
		}
	}
	var out Sample
	for k, n := range counts {
		rows := byClass[k]
		if n > 0 && len(rows) == 0 {
			return out, fmt.Errorf("sample at shares: no row has class %d, which should have share %.3g", k, shares[k])
		}
		rng.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
		for a := range n {
			out.Rows = append(out.Rows, rows[a%len(rows)])
		}
	}
	rng.Shuffle(len(out.Rows), func(a, b int) {
		out.Rows[a], out.Rows[b] = out.Rows[b], out.Rows[a]
	})
	out.Shares = SharesOfLabels(y, out.Rows, len(shares))
	return out, nil
}

// SharesOfLabels returns the class shares of the rows (nil: all) with a label in 0..classes−1.
func SharesOfLabels(y []int, rows []int, classes int) []float64 {
	out := make([]float64, classes)
	var n float64
	count := func(k int) {
		if k >= 0 && k < classes {
			out[k]++
			n++
		}
	}
	if rows == nil {
		for _, k := range y {
			count(k)
		}
	}
	for _, r := range rows {
		count(y[r])
	}
	for k := range out {
		out[k] /= max(n, 1)
	}
	return out
}

// UniformShares draws a point uniformly from the simplex of c classes: normalised exponentials.
func UniformShares(classes int, rng *rand.Rand) []float64 {
	out := make([]float64, classes)
	var sum float64
	for k := range out {
		out[k] = rng.ExpFloat64()
		sum += out[k]
	}
	for k := range out {
		out[k] /= sum
	}
	return out
}

func roundCounts(shares []float64, size int) []int {
	counts := make([]int, len(shares))
	rest := make([]float64, len(shares))
	left := size
	for k, p := range shares {
		counts[k] = int(p * float64(size))
		rest[k] = p*float64(size) - float64(counts[k])
		left -= counts[k]
	}
	for ; left > 0; left-- {
		best := 0
		for k := range rest {
			if rest[k] > rest[best] {
				best = k
			}
		}
		counts[best]++
		rest[best]--
	}
	return counts
}
