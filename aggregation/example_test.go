package aggregation_test

import (
	"fmt"

	"caucus/aggregation"
)

// Three parties vote on the class of four public rows. Ballots add exactly, in any order. The
// mechanism releases the vector of counts, with noise.
func Example() {
	tally := aggregation.NewTally(4, 3)
	for _, votes := range [][]int{{0, 1, 2, 2}, {0, 1, 1, 2}, {0, 2, 1, 2}} {
		ballot, err := aggregation.NewBallot(votes, 3)
		if err != nil {
			panic(err)
		}
		if err := tally.Add(ballot); err != nil {
			panic(err)
		}
	}
	fmt.Println("ballots:", tally.Ballots())
	for row := range tally.Rows() {
		fmt.Println("row", row, tally.Count(row, 0), tally.Count(row, 1), tally.Count(row, 2))
	}
	// Output:
	// ballots: 3
	// row 0 3 0 0
	// row 1 0 2 1
	// row 2 0 2 1
	// row 3 0 0 3
}
