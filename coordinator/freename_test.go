package coordinator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// TestCancelFreesTheName: a study that was cancelled before it got a contribution leaves its name
// to another plan, as a draft and after it was open, also after a restart. It is then not taken up
// again. A draft, an open study and one that has a contribution keep their names.
func TestCancelFreesTheName(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	pool := poolOf(100)
	for _, p := range names(2) {
		w.enrol(string(p))
	}
	must(0, w.operator.UploadPool(ctx, planOf(names(2), pool, w.clock.Now()).Pool, pool))
	create := func(hours time.Duration) (study.Hash, error) {
		p := planOf(names(2), pool, w.clock.Now().Add(hours*time.Hour))
		s, err := w.operator.CreateStudy(ctx, must(p.Canonical()), nil)
		return s.Hash, err
	}
	taken := func(hours time.Duration, want string) {
		t.Helper()
		if _, err := create(hours); !errors.Is(err, protocol.ErrExists) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("another plan of the name: %v, want %q", err, want)
		}
	}
	draft := must(create(1))
	taken(2, "caucus study cancel trial")
	must(w.operator.CancelStudy(ctx, "trial", "a slip"))
	open := must(create(2))
	must(w.opens("trial"))
	taken(3, "give another name")
	must(w.operator.CancelStudy(ctx, "trial", "another slip"))
	last := must(create(3))
	revived := func() {
		t.Helper()
		for _, h := range []study.Hash{draft, open} {
			if _, err := w.operator.AmendStudy(ctx, h.String(),
				admin.AmendOptions{Deadline: w.clock.Now().Add(9 * time.Hour)}); err == nil {
				t.Errorf("study %s was taken up again beside the one that has its name", h)
			}
		}
		if s := must(w.operator.Study(ctx, "trial")); s.Hash != last {
			t.Errorf("the name finds %s, want %s", s.Hash, last)
		}
	}
	revived()
	w.stop()
	w.start()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		_, err := w.operator.Study(ctx, "trial") // the old connection may break
		if err == nil || !protocol.IsRetryable(err) || time.Now().After(end) {
			break
		}
	}
	revived()
	must(w.opens("trial"))
	must(w.parties["p0"].Contribute(ctx, last, ballotFor(0, 100)))
	must(w.operator.CancelStudy(ctx, "trial", "too late"))
	taken(4, "give another name")
}
