package ratio

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Protocol says how test sets are drawn from labelled rows. The field's
// protocols can reverse an order of methods, so never report one alone.
type Protocol string

const (
	// NPP draws rows uniformly: natural shares, sampling noise only.
	NPP Protocol = "npp"
	// APP draws sets at a grid of shares (step Step), all combinations; for
	// many classes a random choice of grid points.
	APP Protocol = "app"
	// UPP draws shares uniformly on the simplex (Kraemer's method).
	UPP Protocol = "upp"
)

// Sample is one test set: indices into the rows, and its exact shares.
type Sample struct {
	Rows   []int
	Shares []float64
}

// Sampling configures SampleSets.
type Sampling struct {
	Protocol Protocol
	Classes  int
	Size     int     // rows a set
	Sets     int     // how many; APP with two classes cycles through its grid
	Step     float64 // of APP's grid; 0.05 when 0
}

// SampleSets draws test sets from rows with labels y (0..c−1; others are never
// drawn). Within a set rows are drawn without replacement as long as the class
// lasts, then again from the start: sizes and shares are always met.
func SampleSets(y []int, s Sampling, rng *rand.Rand) ([]Sample, error) {
	if s.Step == 0 {
		s.Step = 0.05
	}
	if s.Classes < 2 || s.Size < 1 || s.Sets < 1 || !(s.Step > 0 && s.Step <= 1) {
		return nil, fmt.Errorf("sample sets: classes %d, size %d, sets %d, step %g: give at least 2, 1, 1 and a step in (0,1]", s.Classes, s.Size, s.Sets, s.Step)
	}
	var out []Sample
	grid := int(math.Round(1 / s.Step))
	for i := range s.Sets {
		var shares []float64
		switch s.Protocol {
		case NPP:
			var rows []int
			for r, k := range y {
				if k >= 0 && k < s.Classes {
					rows = append(rows, r)
				}
			}
			if len(rows) == 0 {
				return nil, fmt.Errorf("sample sets: no row has a label in 0..%d", s.Classes-1)
			}
			rng.Shuffle(len(rows), func(a, b int) { rows[a], rows[b] = rows[b], rows[a] })
			sample := Sample{Rows: make([]int, s.Size)}
			for a := range sample.Rows {
				sample.Rows[a] = rows[a%len(rows)]
			}
			sample.Shares = SharesOfLabels(y, sample.Rows, s.Classes)
			out = append(out, sample)
			continue
		case APP:
			if s.Classes == 2 {
				p := float64(i%(grid+1)) / float64(grid)
				shares = []float64{1 - p, p}
			} else {
				shares = gridShares(s.Classes, grid, rng)
			}
		case UPP:
			shares = UniformShares(s.Classes, rng)
		default:
			return nil, fmt.Errorf("sample sets: protocol %q is not known: use npp, app or upp", s.Protocol)
		}
		sample, err := SampleAtShares(y, shares, s.Size, rng)
		if err != nil {
			return nil, err
		}
		out = append(out, sample)
	}
	return out, nil
}

// SampleAtShares draws size rows with the class counts nearest to size·shares
// that sum to size (largest remainders).
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
	rng.Shuffle(len(out.Rows), func(a, b int) { out.Rows[a], out.Rows[b] = out.Rows[b], out.Rows[a] })
	out.Shares = SharesOfLabels(y, out.Rows, len(shares))
	return out, nil
}

// SharesOfLabels counts the labels of the rows; rows nil means all. Labels
// outside 0..classes−1 are left out.
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

// UniformShares draws a point uniformly from the simplex of c classes:
// normalised exponentials.
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

// gridShares draws uniformly among the compositions of grid into classes
// parts: stars and bars.
func gridShares(classes, grid int, rng *rand.Rand) []float64 {
	bars := make([]bool, grid+classes-1)
	for _, b := range rng.Perm(len(bars))[:classes-1] {
		bars[b] = true
	}
	out := make([]float64, classes)
	k := 0
	for _, bar := range bars {
		if bar {
			k++
		} else {
			out[k] += 1 / float64(grid)
		}
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
