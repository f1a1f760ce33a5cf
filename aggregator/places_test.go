package aggregator

import (
	"errors"
	"testing"
	"time"

	"caucus/internal/clock"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// TestPlaces: an accepted study takes a place at the helper until its plan's deadline, whatever the
// coordinator says or has forgotten. Its cost stays promised after that only if contributions to it
// were checked. A restart changes neither. A study that goes on after its deadline is still
// released.
func TestPlaces(t *testing.T) {
	ctx := t.Context()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	at := func(task study.Task, deadline time.Time) study.Task {
		p := task.Plan()
		p.Deadline = deadline
		return must(newTask(p, task.Pool()))
	}
	idle, busy, next := at(taskOf(2, 2), now.Add(time.Hour)), at(taskOf(3, 2),
		now.Add(time.Hour)), at(taskOf(4, 2), now.Add(48*time.Hour))
	w := newWorld(t, idle, busy, next)
	configure := func() {
		w.servers[1].config.MaxOpen = 2
		w.servers[1].config.Clock = clock.Clock{Now: func() time.Time { return now }}.Complete()
	}
	configure()
	promised := func(want int) {
		t.Helper()
		if costs := must(w.servers[1].PromisedCosts(ctx)); len(costs) != want {
			t.Errorf("%d costs are promised, want %d", len(costs), want)
		}
	}
	w.opened(idle.Hash())
	w.gathered(busy)
	promised(2)
	own := Acceptance{Plan: next.Hash(), Role: "coordinator", Terms: must(study.TermsDigest(next)),
		Commitment: commitment(next.Hash(), 0, half{1})}
	accept := func() error {
		_, err := w.servers[1].Accept(ctx, next.Hash(),
			must(protocol.SignJSON(w.signers[0], protocol.AcceptanceDocument, own)))
		return err
	}
	if err := accept(); !errors.Is(err, ErrFull) {
		t.Fatalf("a third study: %v", err)
	}
	now = now.Add(2 * time.Hour)
	w.stop(1)
	must(0, w.start(1))
	configure()
	promised(1)
	must(0, accept())
	promised(2)
	all := must(AcceptedStudies(ctx, w.path(1, "shares.db")))
	if len(all) != 3 {
		t.Errorf("the list is %v", all)
	}
	must(0, w.servers[0].CloseStudy(ctx, busy.Hash(), nil))
	if released := must(w.servers[0].Advance(ctx, busy.Hash(), link{w})); !released {
		t.Error("a study is not released after its deadline")
	}
	promised(1)
	// The idle study's deadline was moved, and another study holds its budget by now. The helper
	// reserves the budget again before it checks contributions.
	w.servers[1].config.CheckBudget = func(study.Task) error { return errors.New("spent") }
	for i, p := range idle.Plan().Roster {
		upload := uploadOf(idle, p, votes(idle, i, false), 1, w.under(idle))
		must(0, w.servers[0].Receive(ctx, idle.Hash(), p, upload))
	}
	if _, err := w.servers[0].Advance(ctx, idle.Hash(), link{w}); !errors.Is(err,
		privacy.ErrBudget) {
		t.Errorf("without a budget: %v", err)
	}
	promised(1)
	w.servers[1].config.CheckBudget = nil
	must(w.servers[0].Advance(ctx, idle.Hash(), link{w}))
	promised(2)
}
