package coordinator

import (
	"context"
	"errors"
	"testing"
	"time"

	"caucus/protocol"
	"caucus/protocol/admin"
)

// TestPartyLeaves: a party ends its own membership and nobody else's. It is listed as left, also
// among those that an open study lacks, and after a restart; its certificate opens nothing more.
func TestPartyLeaves(t *testing.T) {
	ctx := context.Background()
	w, s := newTrialWorld(t, 3, nil)
	if err := w.parties["p0"].Leave(ctx, "p1"); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("p0 ends p1's membership: %v", err)
	}
	must(0, w.parties["p0"].Decline(ctx, s.Hash))
	_ = w.parties["p0"].Leave(ctx, "p0") // the call may end with the membership
	if _, err := w.parties["p0"].Studies(ctx); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("p0 calls after it left: %v", err)
	}
	look := func() {
		t.Helper()
		for _, m := range must(w.operator.Members(ctx)) {
			want := admin.StatusEnrolled
			if m.Name == "p0" {
				want = admin.StatusLeft
				if m.Tags[admin.TagLeft] != w.clock.Now().UTC().Format(time.DateOnly) {
					t.Errorf("p0 has the tags %v", m.Tags)
				}
			}
			if m.Status != want {
				t.Errorf("%s is %s, want %s", m.Name, m.Status, want)
			}
		}
		for _, p := range must(w.operator.Study(ctx, "trial")).Statuses {
			if (p.Party == "p0") != (p.Wait == protocol.WaitLeft) {
				t.Errorf("%s waits for %q", p.Party, p.Wait)
			}
		}
	}
	look()
	w.stop()
	w.start()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := w.operator.Members(ctx) // the old connection may break
		if err == nil || !protocol.IsRetryable(err) || time.Now().After(end) {
			break
		}
	}
	look()
}
