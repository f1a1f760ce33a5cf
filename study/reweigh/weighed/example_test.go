package weighed_test

import (
	"context"
	"fmt"

	"caucus/analyst/simulate"
	"caucus/dataset/public"
	"caucus/study"
	"caucus/study/kinds/planning"
	"caucus/study/reweigh/weighed"
)

// With the released weights the public pool stands for the private records, and answers any number
// of queries.
func Example() {
	table, schema := public.Hospitals(public.HospitalConfig{Sites: 3, Records: 1600, Seed: 1,
		SizeSkew: 1})
	rows := make([]int, table.Rows())
	for i := range rows {
		rows[i] = i
	}
	proposed, err := planning.ProposePlan(study.Proposal{
		Name: "who our patients are", Kind: "reweigh", Epsilon: 8, Records: 400, Minimum: 3,
		Roster: []study.PartyID{"a", "b", "c"},
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
	weights, err := weighed.WeightsOf(release)
	if err != nil {
		panic(err)
	}
	fmt.Println("rows weighed:", len(weights.Weight), "for", weights.Records, "private records")
	query := make([]float64, len(weights.Weight)) // one number per pool row
	for i := range query {
		query[i] = proposed.Pool.Encoded.At(i, 0)
	}
	answer, err := weighed.EstimateQuery(release, proposed.Pool, query)
	if err != nil {
		panic(err)
	}
	fmt.Println("noise moves the mean of", schema.FeatureNames()[0], "by less than a hundredth:",
		answer.NoiseSD < 0.01)
	// Output:
	// rows weighed: 400 for 1200 private records
	// noise moves the mean of age by less than a hundredth: true
}
