package kinds_test

import (
	"errors"
	"fmt"

	"caucus/dataset"
	"caucus/study"
	"caucus/study/kinds"
)

// A researcher's proposal is short; the plan that all parties agree on holds every term, and its
// hash names it.
func Example() {
	pool, schema := dataset.Hospitals(dataset.HospitalConfig{Sites: 3, Records: 400, Seed: 1})
	proposed, err := kinds.Propose(study.Proposal{
		Name: "readmission", Epsilon: 4, Records: 400, Map: dataset.Components{Project: 5},
		Roster: []study.PartyID{"north", "south", "west"},
	}, schema.Meaning(), pool)
	if err != nil {
		panic(err)
	}
	fmt.Println("kinds:", kinds.Names())
	p := proposed.Plan
	fmt.Println(p.Kind, "by", p.Mechanism, "hides a", p.Unit, "with noise of each", p.Noise)
	fmt.Println("waits for", p.Minimum, "of", len(p.Roster), "parties")
	again, err := kinds.ParsePlan(proposed.Canonical)
	if err != nil {
		panic(err)
	}
	again.Epsilon = 8
	canonical, err := again.Canonical()
	if err != nil {
		panic(err)
	}
	fmt.Println("another budget is the same plan:", study.HashOf(canonical) == proposed.Hash)
	again.Mechanism = "wishes"
	fmt.Println("what no proof covers is refused:", errors.Is(kinds.Check(again), study.ErrPlan))
	// Output:
	// kinds: [classify describe evaluate labels ratio reweigh]
	// classify by cross hides a record with noise of each site
	// waits for 3 of 3 parties
	// another budget is the same plan: false
	// what no proof covers is refused: true
}
