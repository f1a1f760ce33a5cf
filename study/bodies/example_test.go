package bodies_test

import (
	"fmt"

	"caucus/study/bodies"
)

// Sums are sent and stored as integers in one encoding; all other bytes are refused.
func Example() {
	sum := bodies.AppendVector(nil, []int64{400, -3, 12})
	v, err := bodies.ParseVector(sum, 3)
	fmt.Println(v, err)
	_, err = bodies.ParseVector(sum[:3], 3)
	fmt.Println(err)
	_, err = bodies.ParseVector(append(sum, 0), 3)
	fmt.Println(err)
	// Output:
	// [400 -3 12] <nil>
	// read sum: it is truncated
	// read sum: 1 bytes too many
}
