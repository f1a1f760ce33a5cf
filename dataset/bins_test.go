package dataset

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Bins have the shares that columnEdges promises, whatever the values.
func TestColumnEdges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		levels := rapid.IntRange(1, 60).Draw(t, "levels")
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(rapid.IntRange(0, levels).Draw(t, "value")) / 64
		}
		slices.Sort(values)
		edges := columnEdges(3, values)
		bounds := []float64{math.Inf(-1)}
		for _, e := range edges {
			if e.column != 3 || !(e.below < e.above) || !slices.Contains(values, e.below) ||
				!slices.Contains(values, e.above) {
				t.Fatalf("edge %+v lies between no two values", e)
			}
			for _, v := range values {
				if v > e.below && v < e.above {
					t.Fatalf("value %v lies in edge %+v", v, e)
				}
			}
			bounds = append(bounds, (e.below+e.above)/2)
		}
		bounds = append(bounds, math.Inf(1))
		for k := range len(bounds) - 1 {
			rows, different := 0, map[float64]int{}
			for _, v := range values {
				if v > bounds[k] && v < bounds[k+1] {
					rows++
					different[v]++
				}
			}
			if len(edges) > 0 && float64(rows) < binLeast*float64(n) {
				t.Fatalf("bin %d has %d of %d rows", k, rows, n)
			}
			for v, has := range different {
				// Others share its bin only if they are too few for one.
				if others := rows - has; float64(has) > binShare*float64(n) &&
					float64(others) >= 2*binLeast*float64(n) {
					t.Fatalf("value %v has %d of %d rows, and shares its bin with %d", v, has, n, others)
				}
			}
		}
	})
}
