package binning

import (
	"math"
	"slices"
)

// Edges are the inner edges of bins, increasing. A score on an edge is in the bin above.
type Edges []float64

// Bins is one more than the edges: scores below the first and from the last on have bins too.
func (e Edges) Bins() int { return len(e) + 1 }

// Bin returns the bin of a finite score. A score that differs from an edge only by rounding is on
// the edge.
func (e Edges) Bin(z float64) int {
	at, found := slices.BinarySearch(e, z+1e-9*(1+math.Abs(z)))
	if found {
		at++
	}
	return at
}

// LogOdds returns the log-odds of a probability; 0 and 1 are moved inwards by 10⁻⁹.
func LogOdds(p float64) float64 {
	p = math.Min(math.Max(p, 1e-9), 1-1e-9)
	return math.Log(p) - math.Log1p(-p)
}
