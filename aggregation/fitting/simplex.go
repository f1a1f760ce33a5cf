package fitting

import (
	"fmt"
	"math"
	"slices"
)

// ProjectSimplex returns the point of {x : x ≥ 0, Σx = mass} nearest to v in the Euclidean norm,
// exactly (Held, Wolfe & Crowder 1974: sort, then one threshold). It panics unless v is non-empty
// and finite and mass is positive.
func ProjectSimplex(v []float64, mass float64) []float64 {
	if len(v) == 0 || !(mass > 0) || math.IsInf(mass, 0) {
		panic(fmt.Sprintf("aggregation: cannot project %d numbers onto a simplex of mass %g", len(v), mass))
	}
	for k, x := range v {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			panic(fmt.Sprintf("aggregation: cannot project onto the simplex: number %d is %g", k, x))
		}
	}
	// A shift does not change the projection. Shift the largest number to 0 to keep the sums small.
	top := slices.Max(v)
	sorted := make([]float64, len(v))
	for k, x := range v {
		sorted[k] = x - top
	}
	slices.SortFunc(sorted, func(a, b float64) int {
		if a > b {
			return -1
		}
		if a < b {
			return 1
		}
		return 0
	})
	// θ = (Σ of the r largest − mass)/r for the largest r at which the r-th largest number is above
	// θ.
	var sum, theta float64
	for r, x := range sorted {
		sum += x
		if t := (sum - mass) / float64(r+1); x > t {
			theta = t
		}
	}
	out := make([]float64, len(v))
	for k, x := range v {
		out[k] = max(x-top-theta, 0)
	}
	return out
}
