package coordinator

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/protocol"
	"caucus/study"
)

// TestPartyStatuses: operators see when a missing party called last and what it waits for, in fixed
// words. Parties see nothing about other parties.
func TestPartyStatuses(t *testing.T) {
	ctx := context.Background()
	w, s := newTrialWorld(t, 4, nil)
	w.parties["p0"].SetHeartbeat(protocol.Heartbeat{ProcessID: []byte("a"),
		Waits: map[study.Hash]protocol.WaitReason{s.Hash: protocol.WaitApproval,
			{}: protocol.WaitSource}})
	w.parties["p1"].SetHeartbeat(protocol.Heartbeat{ProcessID: []byte("a"),
		Waits: map[study.Hash]protocol.WaitReason{s.Hash: "42 patients"}})
	w.call()
	must(0, w.parties["p2"].Decline(ctx, s.Hash))
	must(w.parties["p3"].Contribute(ctx, s.Hash, ballotFor(3, 4)))
	statuses := must(w.operator.Study(ctx, "trial")).Statuses
	want := map[string]protocol.WaitReason{"p0": protocol.WaitApproval, "p1": "",
		"p2": protocol.WaitDeclined}
	if len(statuses) != len(want) {
		t.Errorf("%d statuses", len(statuses))
	}
	for _, p := range statuses {
		if what, missing := want[p.Party]; !missing || p.Wait != what || p.LastCall.IsZero() {
			t.Errorf("%+v, want %q", p, what)
		}
	}
	told := must(w.parties["p1"].Study(ctx, "trial"))
	if names := slices.Concat(told.ContributedBy, told.Missing, told.Declined,
		told.Awaited); len(told.Statuses)+len(names) != 0 {
		t.Errorf("a party is told of %v and %v", told.Statuses, names)
	}
	w.stop()
	all := w.parties
	w.parties = nil // no party calls
	w.start()
	w.parties = all
	for _, p := range must(w.operator.Study(ctx, "trial")).Statuses {
		if !p.LastCall.IsZero() || !strings.Contains(p.Words(time.Now()), "has not called") &&
			p.Wait != protocol.WaitDeclined {
			t.Errorf("after a restart: %+v", p)
		}
	}
}
