package fitting_test

import (
	"fmt"

	"caucus/aggregation/fitting"
)

// Noisy counts may be negative; the nearest shares are not.
func ExampleProjectSimplex() {
	fmt.Printf("%.2f\n", fitting.ProjectSimplex([]float64{70, 34, -8}, 100))
	// Output:
	// [68.00 32.00 0.00]
}
