package classifier_test

import (
	"context"
	"fmt"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/kinds"
)

// A release holds what is needed to use it: its plan encodes and maps records, its classifier
// predicts their classes.
func Example() {
	table, schema := dataset.Hospitals(dataset.HospitalConfig{Sites: 3, Records: 1600, Seed: 1,
		Skew: 1})
	rows := make([]int, table.Rows())
	for i := range rows {
		rows[i] = i
	}
	proposed, err := kinds.Propose(study.Proposal{
		Name: "readmission", Mechanism: "cross", Epsilon: 8, Records: 400, Minimum: 3, Lambda: 0.01,
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
	patients, _, err := schema.Encode(table.Select([]int{0, 1, 2}))
	if err != nil {
		panic(err)
	}
	classes, values, err := classifier.Predict(release, patients)
	if err != nil {
		panic(err)
	}
	_, columns := values.Dims()
	c, _ := classifier.Of(release.Result)
	fmt.Println("a class and", columns, "numbers, each a", c.Output, "for each of", len(classes),
		"patients")
	fmt.Println("lambda", c.Lambda)
	// Output:
	// a class and 2 numbers, each a score for each of 3 patients
	// lambda 0.01
}
