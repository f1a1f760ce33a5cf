package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
)

// TestOwnClassifier: whatever a party's own classifier does, the contribution is one valid ballot
// of the same size; a failing classifier votes for the first class. A plan that names its learner
// accepts no other.
func TestOwnClassifier(t *testing.T) {
	c := newClinic(t, []string{"no", "yes", "maybe"}, 5)
	p := c.classify("tally", privacy.Party, study.NoiseCoordinator, 1)
	conformance.SetLearner(&p, learners.AnyClassifier)
	task := conformance.TaskOf(t, p, c.pool)
	rows := c.pool.Rows()
	all := func(k int) []int {
		votes := make([]int, rows)
		for i := range votes {
			votes[i] = k
		}
		return votes
	}
	records := c.records(t, hostile(false)["ordinary"])
	body := func(task study.Task, v study.Voter) []byte {
		in := c.inputs(records, 0)
		in.Voter = v
		in.TimeLimit = func() (context.Context, func(bool)) {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
			return ctx, func(bool) { cancel() }
		}
		d, err := task.Contribute(in)
		if err != nil {
			t.Fatal(err)
		}
		b, err := d.Body(nil)
		if err != nil {
			t.Fatal(err)
		}
		sum, err := task.NewSum()
		if err == nil {
			err = sum.Check(b)
		}
		if err != nil || len(b) != aggregation.BallotBytes(rows, 3) {
			t.Errorf("a ballot of %d bytes: %v", len(b), err)
		}
		return b
	}
	of := func(vote func(context.Context) ([]int, error)) study.Voter {
		return study.Voter{Vote: func(ctx context.Context, s dataset.Schema,
			labelled *dataset.Records, x *mat.Dense) ([]int, error) {
			if n, _ := x.Dims(); n != rows {
				t.Errorf("it was given %d rows of %d", n, rows)
			}
			for _, y := range labelled.Y {
				if y < 0 {
					t.Error("it was given a record without a label")
				}
			}
			return vote(ctx)
		}}
	}
	constant := body(task, of(func(context.Context) ([]int, error) { return all(0), nil }))
	if two := body(task, of(func(context.Context) ([]int, error) {
		return all(2), nil
	})); bytes.Equal(two, constant) {
		t.Error("its votes are not in the ballot")
	}
	for what, vote := range map[string]func(context.Context) ([]int, error){
		"an error":      func(context.Context) ([]int, error) { return all(2), errors.New("no") },
		"nothing":       func(context.Context) ([]int, error) { return nil, nil },
		"a row less":    func(context.Context) ([]int, error) { return all(2)[1:], nil },
		"a row more":    func(context.Context) ([]int, error) { return append(all(2), 2), nil },
		"no class":      func(context.Context) ([]int, error) { return all(3), nil },
		"below a class": func(context.Context) ([]int, error) { return all(-1), nil },
		"a panic":       func(context.Context) ([]int, error) { panic("no") },
		"too late":      func(ctx context.Context) ([]int, error) { <-ctx.Done(); return all(2), nil },
	} {
		if got := body(task, of(vote)); !bytes.Equal(got, constant) {
			t.Errorf("%s is not a constant ballot", what)
		}
	}
	conformance.SetLearner(&p, "softmax")
	asked := false
	named := body(conformance.TaskOf(t, p, c.pool), of(func(context.Context) ([]int, error) {
		asked = true
		return all(2), nil
	}))
	if asked || !bytes.Equal(named,
		body(conformance.TaskOf(t, p, c.pool), study.Voter{Learner: "knn"})) {
		t.Error("a plan that names its learner was voted on by another")
	}
}
