package simulate_test

import (
	"context"
	"fmt"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/study"
)

// Run a simulation: 200 virtual parties vote on a public pool. The release hides all records of
// each party.
func ExampleClassify() {
	table, schema := public.Hospitals(public.DefaultHospitalConfig())
	records, _, err := schema.EncodeLabelled(table)
	if err != nil {
		panic(err)
	}
	s, err := simulate.Classify{
		Split:    simulate.Split{Schema: schema, Train: records.AsTable(), PoolFraction: .1, Parties: 200, Seed: 1},
		Proposal: study.Proposal{Name: "readmission", Unit: privacy.Party, Epsilon: 3, Map: dataset.Components{Project: 10}},
		Repeats:  1,
	}.Run(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(s.Mechanism, "at unit", s.Unit, "with noise by the", s.Noise)
	fmt.Println("better than naming the largest class:",
		s.Accuracy.Released > s.Accuracy.MajorityClass+.05)
	// Output:
	// tally at unit party with noise by the coordinator
	// better than naming the largest class: true
}

// Two plans run on the same records; each party trains once for both.
func ExampleDeal() {
	table, schema := public.Hospitals(public.DefaultHospitalConfig())
	records, _, err := schema.EncodeLabelled(table)
	if err != nil {
		panic(err)
	}
	deal, err := simulate.Split{Schema: schema, Train: records.AsTable(), PoolFraction: .1,
		PoolRows: 500, Parties: 12, Seed: 1}.Deal(0)
	if err != nil {
		panic(err)
	}
	deal.KeepComputations = true
	var score [2]float64
	for i, epsilon := range []float64{.01, 3} {
		task, err := deal.Task(study.Proposal{Name: "readmission", Epsilon: epsilon,
			Map: dataset.Components{Project: 10}})
		if err != nil {
			panic(err)
		}
		run, err := deal.Run(context.Background(), task, simulate.Options{})
		if err != nil {
			panic(err)
		}
		if score[i], err = deal.Score(task, run.Release.Result); err != nil {
			panic(err)
		}
	}
	fmt.Println("the larger budget is worth more:", score[1] > score[0])
	// Output: the larger budget is worth more: true
}
