package shares_test

import (
	"crypto/rand"
	"fmt"

	"caucus/aggregation/shares"
)

// Two parties vote on four rows. Each server holds one part of each ballot. Together the servers
// check that every row has one vote of 0 or 1, and each adds up its shares.
func Example() {
	form := shares.BallotForm(4, 2, 1)
	key := shares.Key{} // drawn by both servers, known to no party
	rand.Read(key[:])
	sums := [2]shares.SecretShare{form.NewSum(), form.NewSum()}
	for party, ballot := range map[string][]int64{"north": {1, 0, 1, 0}, "south": {1, 1, 0, 0}} {
		context := shares.NewProofContext([32]byte{}, party) // of a plan's hash
		parts, err := form.Split(context, ballot, rand.Reader)
		if err != nil {
			panic(err)
		}
		var prepared [2]*shares.Preparation
		for r := range prepared {
			if prepared[r], err = form.Prepare(key, context, shares.Role(r), parts[r]); err != nil {
				panic(err)
			}
		}
		for r, p := range prepared {
			share, err := p.Finish(prepared[1-r].Message())
			if err != nil {
				panic(err)
			}
			if err := sums[r].Add(share); err != nil {
				panic(err)
			}
		}
	}
	coordinator, _ := sums[shares.Coordinator].Residues()
	helper, _ := sums[shares.Helper].Residues() // a study adds noise first
	votes, err := shares.Combine(coordinator, helper)
	fmt.Println(votes, err)
	// Output: [2 1 1 0] <nil>
}
