package learned_test

import (
	"context"
	"fmt"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/study"
	"caucus/study/kinds/planning"
	"caucus/study/labels/learned"
)

// Parties send mapped features in clear and labels that a known chance has changed; the fit
// corrects for the changed labels.
func Example() {
	table, schema := public.Hospitals(public.HospitalConfig{Sites: 3, Records: 1600, Seed: 1,
		SizeSkew: 1})
	rows := make([]int, table.Rows())
	for i := range rows {
		rows[i] = i
	}
	proposed, err := planning.ProposePlan(study.Proposal{
		Name: "readmission", Kind: "labels", Epsilon: 2, Records: 400, Minimum: 3,
		Map: dataset.Components{Project: 5}, Roster: []study.PartyID{"a", "b", "c"},
	}, schema.WithoutFormat(), table.Select(rows[:400]))
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
	release, err := simulate.RunPlan(context.Background(), proposed.Plan, proposed.Pool, parties)
	if err != nil {
		panic(err)
	}
	said, err := learned.ResultOf(release.Result)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d labels, each as it was with probability %.3f\n", said.Records, said.Keep)
	fmt.Println("loss:", said.Loss, "correction:", said.Correction)
	// Output:
	// 1200 labels, each as it was with probability 0.881
	// loss: logistic correction: backward
}
