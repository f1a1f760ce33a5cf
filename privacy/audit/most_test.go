package audit

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

// TestMost: Most returns the largest bound of several runs, and stops when its context ends.
func TestMost(t *testing.T) {
	a := Audit{Samples: 2000, FalseAlarm: 1e-3}
	most, rng := 0.0, rand.New(rand.NewPCG(1, 1))
	for range 5 {
		f, err := a.Run(coin(rng, 0.7))
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, f.Epsilon)
	}
	got, err := a.Most(context.Background(), 5, coin(rand.New(rand.NewPCG(1, 1)), 0.7))
	if err != nil || got.Epsilon != most || most == 0 {
		t.Errorf("shows %g (%v), the runs showed %g at most", got.Epsilon, err, most)
	}
	ended, end := context.WithCancel(context.Background())
	end()
	if _, err := a.Most(ended, 5, coin(rng, 0.7)); !errors.Is(err, context.Canceled) {
		t.Errorf("after its end: %v", err)
	}
	if _, err := (Audit{}).Most(context.Background(), 1, coin(rng, 0.7)); err == nil {
		t.Error("an audit of nothing is not refused")
	}
}
