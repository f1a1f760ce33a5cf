package describe_test

import (
	"context"
	"fmt"

	"caucus/analyst/simulate"
	"caucus/dataset/public"
	"caucus/study"
	"caucus/study/describe/described"
	"caucus/study/kinds/planning"
)

// Three hospitals describe their patients, with noise that hides each patient.
func Example() {
	table, schema := public.Hospitals(public.HospitalConfig{Sites: 3, Records: 3000, Seed: 1})
	records, _, err := schema.EncodeLabelled(table)
	if err != nil {
		panic(err)
	}
	proposed, err := planning.ProposePlan(study.Proposal{
		Name: "who our patients are", Kind: "describe", Epsilon: 8, Records: 1000, Minimum: 3,
		Roster: []study.PartyID{"a", "b", "c"},
	}, schema.WithoutFormat(), table.Select([]int{0}))
	if err != nil {
		panic(err)
	}
	var parties []study.Inputs
	for i := range proposed.Plan.Roster {
		rows := make([]int, 1000)
		for j := range rows {
			rows[j] = 1000*i + j
		}
		parties = append(parties, study.NewInputs(records.Select(rows), []byte{byte(i)}))
	}
	// Rehearse runs virtual parties through the real machine.
	release, err := simulate.RunPlan(context.Background(), proposed.Plan, proposed.Pool, parties)
	if err != nil {
		panic(err)
	}
	table1, err := described.TableOf(release)
	if err != nil {
		panic(err)
	}
	truth := described.ExactTable(proposed.Plan, records)
	age, sex := table1.Columns[0], table1.Columns[1]
	fmt.Println(sex.Column, "counts", sex.Cells(), "of", table1.Records, "records")
	fmt.Printf("mean age %.0f, of these records %.0f\n", age.Groups[0].Mean.Value,
		truth.Columns[0].Groups[0].Mean.Value)
	fmt.Printf("noise of deviation %.0f on each count\n", table1.NoiseSD)
	// Output:
	// sex counts [female male other missing] of 3000 records
	// mean age 64, of these records 64
	// noise of deviation 6 on each count
}
