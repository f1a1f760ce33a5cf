package results_test

import (
	"fmt"

	"caucus/study/kinds"
	"caucus/study/kinds/results"
)

// Every kind has both halves.
func Example() {
	for _, name := range kinds.Names() {
		r, err := results.Named(name)
		if err != nil {
			panic(err)
		}
		fmt.Println(name, r.Body() != nil)
	}
	// Output:
	// classify true
	// describe true
	// evaluate true
	// labels true
	// ratio true
	// reweigh true
}
