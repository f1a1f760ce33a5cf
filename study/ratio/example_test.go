package ratio_test

import (
	"context"
	"fmt"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/ratio/estimated"
)

// Parties release noisy label counts and mean features; the release estimates the class shares of
// any file without labels.
func Example() {
	table, schema := dataset.Hospitals(dataset.HospitalConfig{Sites: 3, Records: 1600, Seed: 1,
		Skew: 1})
	rows := make([]int, table.Rows())
	for i := range rows {
		rows[i] = i
	}
	proposed, err := kinds.Propose(study.Proposal{
		Name: "readmission", Kind: "ratio", Epsilon: 2, Records: 400, Minimum: 3,
		Map: dataset.Components{Project: 5}, Roster: []study.PartyID{"a", "b", "c"},
	}, schema.Meaning(), table.Select(rows[:400]))
	if err != nil {
		panic(err)
	}
	var parties []study.Inputs
	for i := range proposed.Plan.Roster {
		records, _, err := schema.EncodeLabelled(table.Select(rows[400*(i+1) : 400*(i+2)]))
		if err != nil {
			panic(err)
		}
		parties = append(parties, study.NewInputs(records, []byte{byte(i)}))
	}
	// Rehearse runs virtual parties through the real machine.
	release, err := simulate.Rehearse(context.Background(), proposed.Plan, proposed.Pool, parties)
	if err != nil {
		panic(err)
	}
	said, err := estimated.ResultOf(release)
	if err != nil {
		panic(err)
	}
	fmt.Println("sets:", len(said.Sets), "a model:", said.Model != nil)
	estimate, err := estimated.Estimate(release, parties[0].Records)
	if err != nil {
		panic(err)
	}
	fmt.Println("shares of", len(estimate.Shares), "classes, each with an interval")
	// Output:
	// sets: 3 a model: true
	// shares of 2 classes, each with an interval
}
