package main

import (
	"context"
	"math"
	"testing"

	"caucus/aggregation"
)

// TestSymmetric runs the quick experiment's tasks and report: every method is
// there, and rr, which keeps more labels, is better than em at ε = .5 on average.
func TestSymmetric(t *testing.T) {
	l := &lab{Quick: true, Seed: 1, Workers: 1}
	tasks, err := symmetricTasks(l)
	if err != nil {
		t.Fatal(err)
	}
	all := &results{}
	for _, task := range tasks {
		if err := task.Run(context.Background(), all); err != nil {
			t.Fatal(task.Key, err)
		}
	}
	if want := len(symmetricMethods()) * 5; len(all.rows) != want {
		t.Errorf("%d measurements, want %d", len(all.rows), want)
	}
	rr := all.where("mechanism", "rr", "risk", aggregation.RiskAccuracy, "epsilon",
		0.5).over("accuracy").Mean
	em := all.where("mechanism", "em", "risk", aggregation.RiskAccuracy, "epsilon",
		0.5).over("accuracy").Mean
	if !(rr > em) || math.IsNaN(rr) {
		t.Errorf("rr %.4f, em %.4f", rr, em)
	}
	p := newPage(t.TempDir(), "symmetric")
	if err := symmetricReport(l, all, p); err != nil {
		t.Fatal(err)
	}
}
