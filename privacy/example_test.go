package privacy_test

import (
	"context"
	"fmt"

	"caucus/privacy"
)

// A hospital releases how many of its patients have each of three diagnoses. Replacing one
// patient moves two counts by one: L1 is 2. The example uses a simulation ledger, so that its
// output repeats. A real ledger is privacy.Open on a journal; its noise never repeats.
func Example() {
	bound := privacy.Bound{Unit: privacy.Record, L1: 2, L2sq: 2, Cells: 2, KeepsSum: true}
	counts, err := privacy.NewSensitive([]int64{412, 87, 1501}, bound)
	if err != nil {
		panic(err)
	}
	noise, err := privacy.CalibrateLaplace(bound, 0.5)
	if err != nil {
		panic(err)
	}
	ledger := privacy.NewSimulation(1)
	first, err := ledger.Release(context.Background(), "diagnoses 2026", counts, noise)
	if err != nil {
		panic(err)
	}
	again, err := ledger.Release(context.Background(), "diagnoses 2026", counts, noise)
	if err != nil {
		panic(err)
	}
	fmt.Println(counts)
	fmt.Println(len(first.Values), "noisy counts at epsilon", first.Cost.Pure.RatString())
	fmt.Println("asked twice, answered once:", fmt.Sprint(first.Values) == fmt.Sprint(again.Values))
	// Output:
	// sensitive
	// 3 noisy counts at epsilon 1/2
	// asked twice, answered once: true
}
