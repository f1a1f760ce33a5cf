package embedding

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// MedianSquaredDistance returns the median of ‖x−y‖² over pairs of at most 400 rows of x, chosen by
// rng. It is the usual scale for a kernel's width (the median heuristic): gamma = 2^k/scale with k
// in −5..5. x must be public (the pool), or rows given in clear.
func MedianSquaredDistance(x *mat.Dense, rng *rand.Rand) (float64, error) {
	n, _ := x.Dims()
	rows := rng.Perm(n)[:min(n, 400)]
	var distances []float64
	for i, a := range rows {
		for _, b := range rows[:i] {
			distances = append(distances, squaredDistance(x.RawRowView(a), x.RawRowView(b)))
		}
	}
	slices.Sort(distances)
	if len(distances) == 0 || distances[len(distances)-1] == 0 {
		return 0, fmt.Errorf("median distance of %d rows: all are equal, so no kernel can tell classes apart: check the features", n)
	}
	if m := distances[len(distances)/2]; m > 0 {
		return m, nil
	}
	return distances[len(distances)-1], nil // more than half the pairs are equal
}

func squaredDistance(a, b []float64) float64 {
	var sum float64
	for j, v := range a {
		sum += (v - b[j]) * (v - b[j])
	}
	return sum
}
