package export_test

import (
	"context"
	"fmt"

	"caucus/analyst/export"
	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/kinds"
)

// A release becomes a Python program that needs no library.
func Example() {
	table, schema := dataset.Hospitals(dataset.HospitalConfig{Sites: 3, Records: 1200, Seed: 1,
		Skew: 1})
	rows := make([]int, table.Rows())
	for i := range rows {
		rows[i] = i
	}
	proposed, err := kinds.Propose(study.Proposal{
		Name: "readmission", Mechanism: "cross", Epsilon: 8, Records: 400, Minimum: 2, Lambda: 0.01, Roster: []study.PartyID{"a", "b"},
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
	release, err := simulate.Rehearse(context.Background(), proposed.Plan, proposed.Pool, parties)
	if err != nil {
		panic(err)
	}
	model, err := export.New(release)
	if err != nil {
		panic(err)
	}
	program, err := model.Python()
	if err != nil {
		panic(err)
	}
	fmt.Println(len(model.Columns), "columns,", len(model.Classes), "classes, steps:",
		len(model.Steps))
	fmt.Println(len(program) > 4000)
	// Output:
	// 10 columns, 2 classes, steps: 1
	// true
}
