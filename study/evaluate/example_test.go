package evaluate_test

import (
	"context"
	"fmt"
	"math"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/evaluate"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
)

// Three hospitals judge a published risk score on their own patients, with noise that hides each
// patient.
func Example() {
	table, schema := dataset.Hospitals(dataset.HospitalConfig{Sites: 3, Records: 6000, Seed: 1})
	records, _, err := schema.EncodeLabelled(table)
	if err != nil {
		panic(err)
	}
	score := evaluate.Coefficients{Intercept: -3, Coefficients: map[string]float64{"age": .05}}
	model, err := score.Model(schema)
	if err != nil {
		panic(err)
	}
	terms, err := study.EncodeTerms(evaluate.Terms{Model: model, Thresholds: []float64{.4}})
	if err != nil {
		panic(err)
	}
	var public []int
	for i := range 400 {
		public = append(public, i)
	}
	proposed, err := kinds.Propose(study.Proposal{
		Name: "does the score hold here", Kind: "evaluate", Epsilon: 2, Records: 1800, Minimum: 3,
		Roster: []study.PartyID{"a", "b", "c"}, KindTerms: terms,
	}, schema.Meaning(), table.Select(public))
	if err != nil {
		panic(err)
	}
	var parties []study.Inputs
	var all []int
	for i := range proposed.Plan.Roster {
		var rows []int
		for j := range 1800 {
			rows = append(rows, 400+1800*i+j)
		}
		all = append(all, rows...)
		parties = append(parties, study.NewInputs(records.Select(rows), []byte{byte(i)}))
	}
	// Rehearse runs virtual parties through the real machine.
	release, err := simulate.Rehearse(context.Background(), proposed.Plan, proposed.Pool, parties)
	if err != nil {
		panic(err)
	}
	e, err := evaluate.ResultOf(release)
	if err != nil {
		panic(err)
	}
	task, err := results.NewTask(proposed.Plan, proposed.Pool)
	if err != nil {
		panic(err)
	}
	judge, _ := evaluate.JudgeOf(task)
	truth := judge.Exact(records.Select(all))[0].Overall
	of := e.Classes[0].Overall
	fmt.Println("class", e.Classes[0].Class, "in", len(of.Bins), "bins")
	fmt.Println("AUC within four deviations of the truth:",
		math.Abs(of.AUC.Value-truth.AUC) < 4*of.AUC.SD)
	fmt.Println("the score exaggerates:", of.Slope.Known() && of.Slope.High < 1)
	// Output:
	// class yes in 21 bins
	// AUC within four deviations of the truth: true
	// the score exaggerates: true
}
