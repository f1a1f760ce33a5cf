package fitted_test

import (
	"fmt"

	"caucus/aggregation"
	"caucus/study/classifier/fitted"
)

// A contrast has an interval only if the pool shows it often enough and the map keeps it.
func Example() {
	c := aggregation.Contrast{Seen: true, Value: .4, SD: .1}
	fmt.Printf("%q\n", fitted.Untold(c, 1, 400))
	fmt.Println(fitted.Untold(c, 1, 5))
	fmt.Println(fitted.Untold(c, .5, 400))
	// Output:
	// ""
	// fewer than 20 rows of the pool have it
	// the study's map does not tell it from other columns
}
