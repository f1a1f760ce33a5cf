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
		fmt.Printf("%s %T\n", name, r.Body())
	}
	// Output:
	// classify *classify.Result
	// describe *describe.Table
	// evaluate *evaluate.Evaluation
	// labels *labels.Result
	// ratio *ratio.Result
	// reweigh *reweigh.Weights
}
