package labels_test

import (
	"fmt"

	"caucus/study/labels"
)

// Symmetric losses need no correction for the noise on labels of two classes.
func Example() {
	fmt.Println(labels.DefaultCorrection("sigmoid", 2))
	fmt.Println(labels.DefaultCorrection("sigmoid", 3))
	fmt.Println(labels.DefaultCorrection("logistic", 2))
	// Output:
	// none
	// backward
	// backward
}
