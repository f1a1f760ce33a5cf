package estimated_test

import (
	"fmt"

	"caucus/study"
	"caucus/study/ratio/estimated"
)

// Only a release of a ratio study has a result to estimate with.
func Example() {
	_, err := estimated.ResultOf(study.Release{Manifest: study.Manifest{Kind: "describe"}})
	fmt.Println(err)
	// Output: this release is not of a ratio study
}
