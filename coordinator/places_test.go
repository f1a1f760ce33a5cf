package coordinator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	aggregators "caucus/aggregator"
	"caucus/aggregator/helper"
	"caucus/coordinator/folder"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// places is the number of studies that take a place at the helper.
func (sw *sharedWorld) places() int {
	sw.t.Helper()
	return len(must(helper.Studies(context.Background(), sw.helper)))
}

// TestPlaceEnds: when an operator cancels a study, its place at the helper is free, with or without
// contributions. The study is not taken up again.
func TestPlaceEnds(t *testing.T) {
	ctx := context.Background()
	for name, contributes := range map[string]bool{"nobody contributed": false,
		"one contributed": true} {
		t.Run(name, func(t *testing.T) {
			w := newSharedWorld(t, 3, nil)
			s := w.opened()
			if n := w.places(); n != 1 {
				t.Fatalf("an open study takes %d places", n)
			}
			if contributes {
				must(w.parties["p0"].Contribute(ctx, s.Hash, w.uploads(s)[0]))
			}
			w.cancelled(s)
			w.told()
			if n := w.places(); n != 0 {
				t.Errorf("a cancelled study takes %d places", n)
			}
			if is := strings.Contains(w.state().Reason,
				"the 1 sites that contributed"); is != contributes {
				t.Errorf("it says: %s", w.state().Reason)
			}
			if _, err := w.operator.AmendStudy(ctx, "trial",
				admin.AmendOptions{Deadline: w.clock.Now().Add(2 * time.Hour)}); !errors.Is(err,
				study.ErrNotOpen) {
				t.Errorf("taken up again: %v", err)
			}
		})
	}
}

// TestPromisedOnce: the helper promises its budget once. An accepted study counts until it is
// released or ended. The helper's operator ends a study by its name, and the coordinator then fails
// the study.
func TestPromisedOnce(t *testing.T) {
	ctx := context.Background()
	w := newSharedWorld(t, 2, nil)
	w.startHelperWith(1.1 * w.plan.Epsilon)
	first := w.opened()
	w.plan.Name, w.plan.Lambda = "next", 2*w.plan.Lambda+1
	w.plan = withTerms(w.plan, w.pool)
	must(w.operator.CreateStudy(ctx, must(w.plan.Canonical()), nil))
	if _, err := w.opens("next"); !errors.Is(err, protocol.ErrDenied) ||
		!strings.Contains(err.Error(), "beside the studies that it accepted") {
		t.Fatalf("a budget is promised twice: %v", err)
	}
	must(w.operator.Open(ctx, "trial")) // opening again counts once
	w.stopHelper()
	if err := helper.End(ctx, w.helper, "none"); !errors.Is(err, helper.ErrNoStudy) {
		t.Errorf("no such study: %v", err)
	}
	must(0, helper.End(ctx, w.helper, "trial"))
	must(0, w.startHelper())
	for w.state().State == study.Open {
		w.asked()
	}
	if s := must(w.operator.Study(ctx, "trial")); s.State != study.Failed ||
		!strings.HasPrefix(s.Reason, helperEnded) {
		t.Errorf("it is %s: %s", s.State, s.Reason)
	}
	must(w.opens("next"))
	if err := w.shareError(first.Hash); !errors.Is(err, aggregators.ErrFailed) {
		t.Errorf("the share of a study that was ended: %v", err)
	}
}

// TestHalfIsEnded: the other server's share of a study's sum cannot come, so the operator ends the
// study after this server drew its noise. The study says who was charged. Neither server draws
// again or gives out a share, whatever anybody asks afterwards.
func TestHalfIsEnded(t *testing.T) {
	ctx := context.Background()
	w := newSharedWorld(t, 2, nil)
	s := w.opened()
	all := w.uploads(s)
	w.startHelperWith(1)
	w.waits(s, all, "budget")
	w.cancelled(s)
	for _, want := range []string{"cancelled: no need", "the 2 sites that contributed, this coordinator, and the helper if"} {
		if r := w.state().Reason; !strings.Contains(r, want) {
			t.Errorf("it says %q, not %q", r, want)
		}
	}
	w.startHelperWith(0) // its operator raises the budget, too late
	w.told()
	if err := w.shareError(s.Hash); !errors.Is(err, aggregators.ErrFailed) {
		t.Errorf("the helper's share: %v", err)
	}
	if _, err := w.server.sharing.server.Advance(ctx, s.Hash,
		w.server.sharing.helper); !errors.Is(err, aggregators.ErrFailed) {
		t.Errorf("it goes on: %v", err)
	}
	if _, err := w.operator.AmendStudy(ctx, "trial",
		admin.AmendOptions{Deadline: w.clock.Now().Add(2 * time.Hour)}); !errors.Is(err,
		study.ErrNotOpen) {
		t.Errorf("taken up again: %v", err)
	}
	w.stop()
	w.start()
	if n := must(privacy.JournalHead(ctx, w.server.scheduler.releaser.journal)).Sequence; n != 1 ||
		w.state().State != study.Failed {
		t.Errorf("the coordinator's ledger has %d entries, the study is %s", n, w.state().State)
	}
}

// TestSilentHelper: a helper is connected and does not answer. Within ten seconds, the study names
// the helper and the time since when it is silent. Sites that have not begun get no acceptance, so
// they are not charged. A site that was charged before still contributes. Everything goes on once
// the helper answers.
func TestSilentHelper(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w, line := newRelayed(t, 2, nil, nil)
	s := w.opened()
	all := w.uploads(s)
	until := func(what string, is func() bool) {
		t.Helper()
		for begun := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
			if time.Since(begun) > time.Minute {
				t.Fatalf("%s: %+v", what, w.state())
			}
			w.clock.add(probeEvery)
		}
	}
	line.held.Lock()
	until("its silence is not noticed", func() bool {
		return strings.Contains(w.state().Reason, "waits for the helper, which has not answered since 20")
	})
	if health := (watching{w.server}).Health(); health.HelperSilentSince.IsZero() {
		t.Error("metrics and /readyz do not know of it")
	}
	if s := must(w.parties["p1"].Study(ctx, "trial")); s.Helper.Document != nil {
		t.Error("a party is given the acceptance, and charges for it")
	}
	must(w.parties["p0"].Contribute(ctx, s.Hash, all[0]))
	w.plan.Name = "draft"
	must(w.operator.CreateStudy(ctx, must(w.plan.Canonical()), nil))
	const says = "study draft: it stays a draft: the helper is not available: it does not answer; once"
	if _, err := w.operator.Open(ctx, "draft"); err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("opened: %v", err)
	}
	why := must(w.operator.Study(ctx, "draft")).Reason
	if !strings.HasPrefix(why, "not opened at 20") || strings.Count(why, "the helper") != 1 ||
		!strings.HasSuffix(why, "once that is mended, type caucus study open again") {
		t.Errorf("a draft says %q", why)
	}
	w.plan.Name = "trial"
	line.held.Unlock()
	until("it is not noticed again", func() bool { return w.state().Reason == "" })
	if s := must(w.parties["p1"].Study(ctx, "trial")); s.Helper.Document == nil {
		t.Error("a party is not given the acceptance")
	}
	must(w.parties["p1"].Contribute(ctx, s.Hash, all[1]))
	w.wait("trial", study.Released)
	w.verified()
}

// TestCancelledWhileSilent: while a call waits for a silent helper, its study and another one can
// be cancelled at once. Both places are free once the helper answers.
func TestCancelledWhileSilent(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w, line := newRelayed(t, 2, nil, nil)
	s := w.opened()
	all := w.uploads(s)
	w.plan.Name = "other"
	must(w.operator.CreateStudy(ctx, must(w.plan.Canonical()), nil))
	other := must(w.opens("other"))
	w.plan.Name = "trial"
	line.held.Lock()
	w.contributed(s, all)
	for begun := time.Now(); w.state().State != study.Sealed || w.state().Reason == ""; {
		time.Sleep(20 * time.Millisecond)
		if time.Since(begun) > time.Minute {
			t.Fatalf("no call hangs: %+v", w.state())
		}
		w.clock.add(probeEvery)
	}
	for _, name := range []string{"other", "trial"} {
		begun := time.Now()
		_, err := w.operator.CancelStudy(ctx, name, "")
		if err != nil || time.Since(begun) > 20*time.Second {
			t.Errorf("%s is cancelled after %v: %v", name, time.Since(begun), err)
		}
	}
	ledger := must(privacy.JournalHead(ctx, w.server.scheduler.releaser.journal))
	if ledger.Sequence != 0 || w.state().State != study.Failed {
		t.Errorf("the ledger has %d entries, the study is %s", ledger.Sequence, w.state().State)
	}
	line.held.Unlock()
	w.told()
	if n := w.places(); n != 0 {
		t.Errorf("%s and %s take %d places", s.Hash, other.Hash, n)
	}
}

// TestHelperUnnamed: if a coordinator no longer names a study's helper, the open study says so, and
// can be cancelled.
func TestHelperUnnamed(t *testing.T) {
	w := newSharedWorld(t, 2, nil)
	w.opened()
	w.stop()
	w.config.Helper = folder.Helper{}
	w.start()
	if s := w.state(); s.State != study.Open ||
		!strings.Contains(s.Reason, "coordinator.yaml does not name any more") {
		t.Errorf("it is %s and says %q", s.State, s.Reason)
	}
	must(w.operator.CancelStudy(context.Background(), "trial", ""))
}
