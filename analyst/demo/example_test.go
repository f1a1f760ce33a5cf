package demo_test

import (
	"fmt"

	"caucus/analyst/demo"
)

// Invalid options are refused before anything starts.
func ExampleOptions_Validate() {
	fmt.Println(demo.Options{Parties: 1, Records: 1000, Epsilon: 1}.Validate())
	// Output: --parties 1: give at least 2
}
