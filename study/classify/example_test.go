package classify_test

import (
	"context"
	"fmt"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/study"
	"caucus/study/classify/trained"
	"caucus/study/kinds/planning"
)

// Three hospitals agree on a plan from public data alone, send noisy sums, and get a classifier.
func Example() {
	table, schema := public.Hospitals(public.HospitalConfig{Sites: 3, Records: 1600, Seed: 1,
		SizeSkew: 1})
	rows := make([]int, table.Rows())
	for i := range rows {
		rows[i] = i
	}
	proposed, err := planning.ProposePlan(study.Proposal{
		Name: "readmission", Kind: "classify", Mechanism: "cross", Epsilon: 4, Records: 400, Minimum: 3,
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
	var said trained.Result
	if err := release.Result.DecodeBody(&said); err != nil {
		panic(err)
	}
	fmt.Println("classes:", said.Classifier.Classes, "features:", len(said.Classifier.Weights))
	fmt.Println("records behind it:", release.Weight)
	fmt.Println("not protected:", release.NotProtected[0])
	// Output:
	// classes: [no yes] features: 6
	// records behind it: 1200
	// not protected: anybody: the noise was drawn by a generator that anyone can repeat
}
