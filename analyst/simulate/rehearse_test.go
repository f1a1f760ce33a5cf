package simulate_test

import (
	"context"
	"fmt"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/kinds/planning"
)

// Rehearse a plan with virtual parties before asking real ones: the same inputs give the same
// release, which protects nobody and is marked as simulated.
func ExampleRunPlan_threeHospitals() {
	table, schema := public.Hospitals(public.HospitalConfig{Sites: 3, Records: 1600, Seed: 1,
		SizeSkew: 1})
	rows := make([]int, table.Rows())
	for i := range rows {
		rows[i] = i
	}
	proposed, err := planning.ProposePlan(study.Proposal{
		Name: "readmission", Epsilon: 4, Records: 400, Minimum: 3, Map: dataset.Components{Project: 5},
		Roster: []study.PartyID{"a", "b", "c"},
	}, schema.WithoutFormat(), table.Select(rows[:400]))
	if err != nil {
		panic(err)
	}
	rehearse := func() study.Release {
		var parties []study.Inputs
		for i := range proposed.Plan.Roster {
			records, _, err := schema.EncodeLabelled(table.Select(rows[400*(i+1) : 400*(i+2)]))
			if err != nil {
				panic(err)
			}
			parties = append(parties, study.NewInputs(records, []byte{byte(i)}))
		}
		release, err := simulate.RunPlan(context.Background(), proposed.Plan, proposed.Pool,
			parties)
		if err != nil {
			panic(err)
		}
		return release
	}
	first, second := rehearse(), rehearse()
	c, _ := classifier.Of(first.Result)
	fmt.Println("a classifier of", c.Classes, "by", first.Parties, "parties; simulated:",
		first.Simulated)
	fmt.Println("again the same:", string(first.Result.Body) == string(second.Result.Body))
	// Output:
	// a classifier of [no yes] by 3 parties; simulated: true
	// again the same: true
}
