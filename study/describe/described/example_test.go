package described_test

import (
	"fmt"

	"caucus/study/describe/described"
)

// A column names the cells that its counts are of.
func Example() {
	c := described.Column{Column: "age", Edges: []float64{0, 18, 65, 110},
		Groups: []described.Summary{{Noisy: make([]float64, 4)}}}
	fmt.Println(c.Cells())
	// Output: [0 to 18 18 to 65 65 to 110 missing]
}
