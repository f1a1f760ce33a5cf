package coordinator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/protocol"
	"caucus/study"
)

// TestClockJumps: no open study fails because the coordinator's clock jumps 26 hours ahead, or
// back. Parties go on contributing. Once the clock is right again, the deadline holds as before.
func TestClockJumps(t *testing.T) {
	ctx := context.Background()
	for _, jump := range []time.Duration{26 * time.Hour, -26 * time.Hour} {
		w := newWorld(t, nil)
		s := w.small(3) // closes in an hour; nobody has contributed yet
		w.clock.jump(jump)
		w.until("the clock jumped")
		if got := must(w.operator.Study(ctx, "trial")); got.State != study.Open {
			t.Fatalf("after a jump by %v: %s: %s", jump, got.State, got.Reason)
		}
		if report := must(w.operator.Clock(ctx, false)); !strings.Contains(report.DoubtReason,
			"26h0m0s") {
			t.Errorf("doubt %q", report.DoubtReason)
		}
		if jump > 0 {
			must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 3)))
		}
		w.clock.jump(-jump)
		w.until("the clock agrees again")
		must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 3)))
		must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 3)))
		if got := must(w.operator.Study(ctx, "trial")); got.State != study.Open {
			t.Fatalf("before its deadline: %s", got.State)
		}
		w.clock.add(2 * time.Hour)
		w.wait("trial", study.Released)
		if n := strings.Count(w.log.String(), "the clock jumped"); n != 1 {
			t.Errorf("one jump is %d lines of the log", n)
		}
		w.stop()
	}
}

// TestClockVouched: the coordinator trusts its clock again after an operator says that the clock is
// right.
func TestClockVouched(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	w.small(2)
	w.clock.jump(2 * time.Hour)
	w.until("the clock jumped")
	if _, err := w.parties["p0"].Clock(ctx, true); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("a party vouches for the clock: %v", err)
	}
	if report := must(w.operator.Clock(ctx, true)); report.DoubtReason != "" ||
		report.Skew.Abs() > time.Minute {
		t.Errorf("after the operator's word: %+v", report)
	}
	if got := w.wait("trial", study.Failed); !strings.Contains(got.Reason, "minimum 2, have 0") {
		t.Errorf("it failed: %s", got.Reason)
	}
}

// TestClockAfterAStop: after a restart, the coordinator compares its clock with the last time that
// it stored. It notices a clock that went back, or that is further ahead than a stop could explain.
func TestClockAfterAStop(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		what  string
		jump  time.Duration // while the coordinator was stopped
		doubt bool
	}{
		{"a short stop", 50 * time.Minute, false},
		{"26 hours ahead", 26 * time.Hour, true},
		{"an hour back", -time.Hour, true},
		{"a minute back", -time.Minute, false},
	} {
		w := newWorld(t, nil)
		w.small(2)
		w.stop()
		w.clock.jump(c.jump)
		w.start()
		report := must(w.operator.Clock(ctx, false))
		if (report.DoubtReason != "") != c.doubt {
			t.Errorf("%s: doubt %q", c.what, report.DoubtReason)
		}
		time.Sleep(20 * time.Millisecond) // some ticks
		if got := must(w.operator.Study(ctx, "trial")); got.State != study.Open {
			t.Errorf("%s: the study is %s", c.what, got.State)
		}
		w.stop()
		if !c.doubt {
			continue
		}
		w.start() // the coordinator stores no time that it does not trust
		if report := must(w.operator.Clock(ctx, false)); report.DoubtReason == "" {
			t.Errorf("%s: it is believed after another start", c.what)
		}
		must(w.operator.Clock(ctx, true))
		w.stop()
		w.start()
		if report := must(w.operator.Clock(ctx, false)); report.DoubtReason != "" {
			t.Errorf("%s: what an operator said is forgotten after another start: %s", c.what, report.DoubtReason)
		}
		w.stop()
	}
	// Without an open study, no deadline could seal anything, so a clock needs no trust.
	w := newWorld(t, nil)
	w.stop()
	w.clock.jump(300 * time.Hour)
	w.start()
	if report := must(w.operator.Clock(ctx, false)); report.DoubtReason != "" {
		t.Errorf("without open studies: %s", report.DoubtReason)
	}
}

func readFiles(t *testing.T, path string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, p := range must(filepath.Glob(path + "*")) {
		all[p] = must(os.ReadFile(p))
	}
	return all
}

func writeFiles(t *testing.T, all map[string][]byte) {
	t.Helper()
	for path, text := range all {
		must(0, os.WriteFile(path, text, 0o600))
	}
}
