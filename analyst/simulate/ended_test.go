package simulate

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/privacy"
	"caucus/study"
)

func small(t *testing.T) Classify {
	c := public.DefaultHospitalConfig()
	c.Records = 600
	table, schema := public.Hospitals(c)
	all, _, err := schema.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	all = all.Select(rand.New(rand.NewPCG(1, 1)).Perm(all.Len()))
	return Classify{
		Split:    Split{Schema: schema, Train: all.AsTable(), PoolFraction: .25, Parties: 3, Seed: 1},
		Proposal: study.Proposal{Name: "s", Unit: privacy.Party, Epsilon: 1, KindTerms: []byte(`{"learner":"any"}`)}, Repeats: 1,
	}
}

// TestEnds: a simulation whose context ends while a party trains stops at once; if the context ends
// later, while each party is measured alone, the simulation returns an error, not a table with
// zeros.
func TestEnds(t *testing.T) {
	for name, at := range map[string]int64{"while a party trains": 1,
		"while each is measured alone": 4} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var asked atomic.Int64
			s := small(t)
			s.Voters = []Voter{{Voter: study.Voter{Vote: func(ctx context.Context, _ dataset.Schema,
				_ *dataset.Records, rows *mat.Dense) ([]int, error) {
				if asked.Add(1) >= at {
					cancel()
					select {
					case <-ctx.Done():
					case <-time.After(20 * time.Second):
						t.Error("what it votes by does not end with the context")
					}
				}
				n, _ := rows.Dims()
				return make([]int, n), nil
			}}}}
			if out, err := s.Run(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("have %+v and error %v, want that the context ended", out.Accuracy, err)
			}
		})
	}
}

// TestPooledFitEnds: the fit to all records stops when the context ends.
func TestPooledFitEnds(t *testing.T) {
	s := small(t)
	s.Proposal.KindTerms = nil
	d, err := s.Deal(0)
	if err != nil {
		t.Fatal(err)
	}
	task, err := d.Task(s.Proposal)
	if err != nil {
		t.Fatal(err)
	}
	run, err := d.Run(t.Context(), task, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if a, err := d.accuracies(ended, task, run); !errors.Is(err, context.Canceled) ||
		a.Pooled != 0 {
		t.Errorf("have accuracy %g of all records and error %v", a.Pooled, err)
	}
	if a, err := d.accuracies(t.Context(), task, run); err != nil || a.Pooled == 0 {
		t.Errorf("in time: have accuracy %g of all records and error %v", a.Pooled, err)
	}
}
