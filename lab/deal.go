package main

import (
	"context"
	"encoding/json"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/analyst/simulate"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
)

// mappedDeal is a deal under one public map, on which methods are compared: proposals to
// its parties, and rivals on its mapped records.
type mappedDeal struct {
	*simulate.DealtData
	Map  dataset.Components
	Pool *auxdata.Pool
	// X are the parties' records and TestX the test records, mapped.
	X, TestX *mat.Dense
	TestY    []int
}

// newMappedDeal deals a split. Parties train once for all proposals.
func newMappedDeal(s simulate.Split, c dataset.Components) (*mappedDeal, error) {
	deal, err := s.Deal(0)
	if err != nil {
		return nil, err
	}
	deal.KeepComputations = true
	d := &mappedDeal{DealtData: deal, Map: c, TestY: deal.Test.Y}
	task, err := d.votes(privacy.Party) // any plan has this pool and map
	if err != nil {
		return nil, err
	}
	d.Pool, d.X, d.TestX = task.Pool(), task.Plan().MapRecords(d.Private.All()), d.DealtData.TestX(task)
	return d, nil
}

// task is that of a classify proposal; without a δ it is pure.
func (d *mappedDeal) task(s study.Proposal) (study.Finisher, error) {
	s.Name, s.Kind, s.Map = "hamm", "classify", d.Map
	if s.Delta == nil {
		s.Delta = new(float64)
	}
	return d.Task(s)
}

// release runs a proposal; accuracy is on the test records.
func (d *mappedDeal) release(ctx context.Context, s study.Proposal) (run simulate.Run,
	accuracy float64, err error) {
	task, err := d.task(s)
	if err != nil {
		return run, 0, err
	}
	if run, err = d.Run(ctx, task, simulate.Options{SkipUnperturbed: true}); err != nil {
		return run, 0, err
	}
	accuracy, err = d.Score(task, run.Release.Result)
	return run, accuracy, err
}

// tally is of the votes without noise, for comparators that count in their own way.
func (d *mappedDeal) tally(u privacy.Unit) (*aggregation.Tally, error) {
	task, err := d.votes(u)
	if err != nil {
		return nil, err
	}
	return d.Votes(task)
}

func (d *mappedDeal) votes(u privacy.Unit) (study.Finisher, error) {
	return d.task(study.Proposal{Mechanism: "none", Unit: u, Noise: study.NoiseCoordinator,
		Epsilon: 1})
}

// alone is the mean accuracy of what each of the first parties, at most so many, reaches with its
// own records.
func (d *mappedDeal) alone(most int) (float64, error) {
	task, err := d.votes(privacy.Party)
	if err != nil {
		return 0, err
	}
	n := min(most, len(d.Parties))
	total := 0.0
	for i := range n {
		in := d.Inputs(i)
		if model, _ := classify.TrainLocal(context.Background(), task.Plan(), task.Words().Learner,
			in.Records, in.Rng(0), false); model != nil {
			total += rightShare(model.Predict(d.TestX), d.TestY) / float64(n)
		}
	}
	return total, nil
}

// classifyTerms are terms that a proposal gives its kind.
func classifyTerms(t classify.Terms) json.RawMessage {
	b, err := study.EncodeTerms(t)
	if err != nil { // they hold no floating-point number but class shares, which are finite
		panic(err)
	}
	return b
}

// rightShare is the share of labelled records predicted correctly.
func rightShare(predicted, y []int) float64 {
	right, labelled := 0, 0
	for i, k := range y {
		if k >= 0 {
			labelled++
			if predicted[i] == k {
				right++
			}
		}
	}
	return float64(right) / float64(max(labelled, 1))
}
