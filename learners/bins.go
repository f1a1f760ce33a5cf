package learners

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// bins cuts column j into at most 256 intervals at cuts[j], ascending: bin 0 holds v ≤ cuts[j][0],
// the last bin v above all cuts.
type bins struct {
	cuts [][]float64
}

// maxBins lets a bin number fit in one byte.
const maxBins = 256

// newBins cuts the columns of x (N ≥ 1 rows) into at most most bins: between all values if a column
// has at most that many, otherwise with about equally many rows a bin. A cut is halfway between two
// observed values, so a column of zeros and ones is cut at 0.5.
func newBins(x *mat.Dense, most int) bins {
	n, d := x.Dims()
	b := bins{cuts: make([][]float64, d)}
	column := make([]float64, n)
	for j := range d {
		mat.Col(column, j, x)
		b.cuts[j] = cutsOf(column, most)
	}
	return b
}

// cutsOf returns the cuts between a column's values v, which it reorders.
func cutsOf(v []float64, most int) []float64 {
	if cuts, ok := cutsOfIndicator(v); ok {
		return cuts
	}
	slices.Sort(v)
	distinct := 1
	for i := 1; i < len(v); i++ {
		if v[i] > v[i-1] {
			distinct++
		}
	}
	var cuts []float64
	start := 0
	for i := 1; i < len(v) && len(cuts) < most-1; i++ {
		if !(v[i] > v[i-1]) {
			continue
		}
		if distinct <= most || due(v, start, i, most-len(cuts)) {
			cuts = append(cuts, between(v[i-1], v[i]))
			start = i
		}
	}
	return cuts
}

// due reports whether a bin that begins at start should end before the run of equal values at i,
// not after it. It chooses what is nearer to an even share of the remaining rows.
func due(v []float64, start, i, bins int) bool {
	share := float64(len(v)-start) / float64(bins)
	end := i + 1
	for end < len(v) && !(v[end] > v[i]) {
		end++
	}
	return math.Abs(float64(i-start)-share) <= math.Abs(float64(end-start)-share)
}

// cutsOfIndicator avoids the sort if v holds zeros and ones only.
func cutsOfIndicator(v []float64) ([]float64, bool) {
	ones := 0
	for _, a := range v {
		if a == 1 {
			ones++
		} else if a != 0 {
			return nil, false
		}
	}
	if ones == 0 || ones == len(v) {
		return nil, true
	}
	return []float64{0.5}, true
}

// between returns a number c with a ≤ c < b, halfway if rounding allows.
func between(a, b float64) float64 {
	if c := a + (b-a)/2; c < b {
		return c
	}
	return a
}

func (b bins) of(j int, v float64) int {
	cuts := b.cuts[j]
	if len(cuts) > 16 {
		at, _ := slices.BinarySearch(cuts, v)
		return at
	}
	at := 0
	for at < len(cuts) && !(v <= cuts[at]) {
		at++
	}
	return at
}

func (b bins) codes(x *mat.Dense) [][]uint8 {
	n, d := x.Dims()
	all := make([]uint8, n*d)
	codes := make([][]uint8, d)
	for j := range codes {
		codes[j] = all[j*n : (j+1)*n]
	}
	for i := range n {
		for j, v := range x.RawRowView(i) {
			codes[j][i] = uint8(b.of(j, v))
		}
	}
	return codes
}
