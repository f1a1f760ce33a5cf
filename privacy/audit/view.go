package audit

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

type view struct {
	name string
	cell func([]float64) uint64
}

func (v view) count(learn [2][][]float64) map[uint64][2]int {
	seen := map[uint64][2]int{}
	for s, xs := range learn {
		for _, x := range xs {
			k := v.cell(x)
			c := seen[k]
			c[s]++
			seen[k] = c
		}
	}
	return seen
}

// mostCoordinates limits the views of single numbers to the numbers whose means differ most.
const mostCoordinates = 16

func viewsOf(learn [2][][]float64) []view {
	d := 0
	for _, xs := range learn {
		for _, x := range xs {
			d = max(d, len(x))
		}
	}
	mean, variance := meansOf(learn, d)
	weight := make([]float64, d)
	order := make([]int, d)
	for j := range d {
		order[j] = j
		if v := variance[0][j] + variance[1][j]; v > 0 {
			weight[j] = (mean[1][j] - mean[0][j]) / v
		}
	}
	apart := func(j int) float64 { return math.Abs(weight[j] * (mean[1][j] - mean[0][j])) }
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(apart(j), apart(i)) })
	views := []view{
		{"the whole answer", hashOf},
		binned("the sum", learn, func(x []float64) float64 { return dot(x, nil) }),
		binned("the direction of the means", learn, func(x []float64) float64 { return dot(x, weight) }),
		binned("the Laplace loss of the means", learn, func(x []float64) float64 {
			loss := 0.
			for j, v := range x {
				loss += math.Abs(v-mean[1][j]) - math.Abs(v-mean[0][j])
			}
			return loss
		}),
		binned("the Euclidean loss of the means", learn, func(x []float64) float64 {
			far, near := 0., 0.
			for j, v := range x {
				far, near = math.Hypot(far, v-mean[1][j]), math.Hypot(near, v-mean[0][j])
			}
			return far - near
		}),
	}
	for _, j := range order[:min(d, mostCoordinates)] {
		number := func(x []float64) float64 {
			if j >= len(x) {
				return math.NaN()
			}
			return x[j]
		}
		views = append(views,
			binned(fmt.Sprintf("number %d", j), learn, number),
			view{fmt.Sprintf("number %d exactly", j), func(x []float64) uint64 {
				return math.Float64bits(number(x))
			}},
			view{fmt.Sprintf("the lowest bit of number %d", j), func(x []float64) uint64 {
				return lowestBit(number(x))
			}},
		)
	}
	for _, p := range closePairs(learn, mean, d) {
		combined := func(x []float64) float64 {
			if p.j >= len(x) {
				return math.NaN()
			}
			return x[p.i] + p.sign*x[p.j]
		}
		what := map[float64]string{1: "plus", -1: "minus"}[p.sign]
		views = append(views,
			binned(fmt.Sprintf("number %d %s number %d", p.i, what, p.j), learn, combined),
			view{fmt.Sprintf("number %d %s number %d exactly", p.i, what, p.j),
				func(x []float64) uint64 {
					return math.Float64bits(combined(x))
				}},
		)
	}
	return views
}

// pairOf is the view xᵢ + sign·xⱼ of an answer x, i < j. variance is relative to that of
// independent numbers.
type pairOf struct {
	i, j     int
	sign     float64
	variance float64
}

// closePairs compares the first pairedCoordinates numbers of pairedSamples answers, and returns at
// most mostPairs pairs.
const (
	mostPairs         = 8
	pairedCoordinates = 512
	pairedSamples     = 200
)

func closePairs(learn [2][][]float64, mean [2][]float64, d int) []pairOf {
	d = min(d, pairedCoordinates)
	columns, square := make([][]float64, d), make([]float64, d)
	for s, xs := range learn {
		for _, x := range xs[:min(len(xs), pairedSamples)] {
			for j := range d {
				v := 0.
				if j < len(x) {
					v = x[j] - mean[s][j]
				}
				columns[j] = append(columns[j], v)
				square[j] += v * v
			}
		}
	}
	var out []pairOf
	for i := range d {
		for j := i + 1; j < d; j++ {
			both := square[i] + square[j]
			if both == 0 {
				continue
			}
			product := dot(columns[i], columns[j]) // Σ(xᵢ ± xⱼ)² = Σxᵢ² + Σxⱼ² ± 2Σxᵢxⱼ
			if share := 1 - 2*math.Abs(product)/both; share < 0.5 {
				sign := -1.
				if product < 0 {
					sign = 1
				}
				out = append(out, pairOf{i, j, sign, share})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b pairOf) int { return cmp.Compare(a.variance, b.variance) })
	return out[:min(len(out), mostPairs)]
}

func meansOf(learn [2][][]float64, d int) (mean, variance [2][]float64) {
	for s, xs := range learn {
		mean[s], variance[s] = make([]float64, d), make([]float64, d)
		for _, x := range xs {
			for j, v := range x {
				mean[s][j] += v / float64(len(xs))
			}
		}
		for _, x := range xs {
			for j, v := range x {
				variance[s][j] += (v - mean[s][j]) * (v - mean[s][j]) / float64(len(xs))
			}
		}
	}
	return mean, variance
}

func dot(x, w []float64) float64 {
	sum := 0.
	for j, v := range x {
		if w != nil {
			v *= w[j]
		}
		sum += v
	}
	return sum
}

// mostBins bounds the bins, so that each bin has enough counts to learn from.
const mostBins = 64

// binned views a number in bins between learnt quantiles, or each value alone if there are at most
// mostBins.
func binned(name string, learn [2][][]float64, number func([]float64) float64) view {
	var all []float64
	for _, xs := range learn {
		for _, x := range xs {
			if v := number(x); !math.IsNaN(v) {
				all = append(all, v)
			}
		}
	}
	slices.Sort(all)
	edges := slices.Compact(slices.Clone(all))
	if len(edges) > mostBins {
		for b := range mostBins {
			edges[b] = all[b*len(all)/mostBins]
		}
		edges = slices.Compact(edges[:mostBins])
	}
	return view{name, func(x []float64) uint64 {
		v := number(x)
		if math.IsNaN(v) {
			return math.MaxUint64
		}
		at, found := slices.BinarySearch(edges, v)
		if !found {
			at-- // a bin starts at the edge below v; −1 is the bin below all edges
		}
		return uint64(at + 1)
	}}
}

// lowestBit returns the exponent of the largest power of two that divides x.
func lowestBit(x float64) uint64 {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	fraction, exponent := math.Frexp(math.Abs(x))
	for m := uint64(fraction * (1 << 53)); m&1 == 0; m >>= 1 {
		exponent++
	}
	return uint64(exponent + 1<<12)
}

// hashOf hashes an answer's bits (FNV-1a). A collision enlarges an event; the bound stays valid.
func hashOf(x []float64) uint64 {
	h := uint64(14695981039346656037)
	for _, v := range x {
		for b := math.Float64bits(v); ; b >>= 8 {
			h = (h ^ b&0xff) * 1099511628211
			if b < 1<<8 {
				break
			}
		}
		h = (h ^ 0x1ff) * 1099511628211 // marks the end of the number
	}
	return h
}
