package coordinator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// TestSealedByRule: fifty-nine of sixty contribute, one never runs; the study seals
// without waiting for its deadline, and the release says so.
//
// Quiet time counts from when the last contribution was stored, not from the
// scheduler's first look after it: here the time passes before any look.
func TestSealedByRule(t *testing.T) {
	ctx := context.Background()
	var w *world
	var stored atomic.Int64
	w = newWorld(t, func(c *folder.Config) {
		c.Checkpoint = func(effect string) {
			if effect == "after life.ContributionReceived" && stored.Add(1) == 59 {
				w.clock.add(61 * time.Second)
			}
		}
	})
	roster := names(60)
	for _, p := range roster {
		w.enrol(string(p))
	}
	pool := poolOf(60)
	p := planOf(roster, pool, w.clock.Now().Add(time.Hour))
	p.Seal = &study.SealRule{Share: 0.95, QuietSeconds: 60}
	s := w.open(p, pool)
	contribute := func(i int) {
		must(w.parties[string(roster[i])].Contribute(ctx, s.Hash, ballotFor(i, 60)))
	}
	for i := range 58 { // 57 contributions are enough
		contribute(i)
	}
	if now := must(w.operator.Study(ctx, "trial")); now.State != study.Open {
		t.Fatalf("it is %s before it was quiet", now.State)
	}
	contribute(58)
	w.wait("trial", study.Released)
	r := must(w.operator.Release(ctx, "trial")).Release
	if r.Parties != 59 || r.Sealed != study.SealedByRule || len(r.Missing) != 1 {
		t.Errorf("%d parties, sealed by %q, missing %v", r.Parties, r.Sealed, r.Missing)
	}
}

// TestClosed: an operator can seal a study that has its minimum of contributions, and no other.
func TestClosed(t *testing.T) {
	ctx := context.Background()
	w, s := newTrialWorld(t, 3, nil)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 4)))
	if _, err := w.operator.CloseStudy(ctx, "trial"); !errors.Is(err, study.ErrTooFew) {
		t.Errorf("closed below its minimum: %v", err)
	}
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 4)))
	must(w.operator.CloseStudy(ctx, "trial"))
	if _, err := w.parties["p2"].Contribute(ctx, s.Hash, ballotFor(2, 4)); !errors.Is(err,
		study.ErrNotOpen) {
		t.Errorf("a contribution after it was closed: %v", err)
	}
	w.wait("trial", study.Released)
	if r := must(w.operator.Release(ctx, "trial")).Release; r.Parties != 2 ||
		r.Sealed != study.SealedByOperator {
		t.Errorf("%d parties, sealed by %q", r.Parties, r.Sealed)
	}
	for _, verb := range []func(context.Context, string) (protocol.Study,
		error){w.operator.CloseStudy,
		func(ctx context.Context, ref string) (protocol.Study, error) {
			return w.operator.AmendStudy(ctx, ref,
				admin.AmendOptions{Deadline: w.clock.Now().Add(24 * time.Hour)})
		}} {
		if _, err := verb(ctx, "trial"); !errors.Is(err, study.ErrNotOpen) {
			t.Errorf("after its release: %v", err)
		}
	}
}

// newTrialWorld is a coordinator with an open tally of a number of parties.
func newTrialWorld(t *testing.T, parties int, change func(*study.Plan)) (*world, protocol.Study) {
	t.Helper()
	w := newWorld(t, nil)
	roster := names(parties)
	for _, p := range roster {
		w.enrol(string(p))
	}
	pool := poolOf(4)
	p := planOf(roster, pool, w.clock.Now().Add(time.Hour))
	if change != nil {
		change(&p)
	}
	return w, w.open(p, pool)
}

// TestReopened: a study that failed below its minimum is taken up again by an amendment, with
// restarts in between or without. The coordinator kept no contribution. It accepts the same bytes
// again, with the same receipt, and no others. A party that does not contribute again is not in the
// release. The release carries the chain of amendments.
func TestReopened(t *testing.T) {
	ctx := context.Background()
	w, s := newTrialWorld(t, 4, func(p *study.Plan) { p.Minimum, p.Floor = 3, 2 })
	first := must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 4)))
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 4)))
	if _, err := w.operator.AmendStudy(ctx, "trial",
		admin.AmendOptions{Deadline: w.clock.Now().Add(-time.Minute)}); !errors.Is(err,
		study.ErrAmendment) {
		t.Errorf("a deadline in the past: %v", err)
	}
	must(w.operator.AmendStudy(ctx, "trial",
		admin.AmendOptions{Deadline: w.clock.Now().Add(2 * time.Hour)}))
	w.clock.add(90 * time.Minute)
	if now := must(w.operator.Study(ctx, "trial")); now.State != study.Open {
		t.Fatalf("it is %s before its extended deadline", now.State)
	}
	w.clock.add(time.Hour)
	if now := w.wait("trial", study.Failed); !strings.Contains(now.Reason, "each of the 2 parties that contributed was charged ε = 8") {
		t.Errorf("reason %q", now.Reason)
	}
	w.stop()
	w.start()
	must(w.operator.AmendStudy(ctx, "trial",
		admin.AmendOptions{Deadline: w.clock.Now().Add(time.Hour), Minimum: 2}))
	w.stop()
	w.start()
	now := w.wait("trial", study.Open)
	if now.Summary.Amendments != 2 || now.Minimum != 2 || now.Contributed != 0 ||
		len(now.Missing) != 4 {
		t.Errorf("%+v, missing %v", now.Summary, now.Missing)
	}
	if list := must(w.parties["p0"].Studies(ctx)); !list.Studies[0].CallerLost ||
		!list.Studies[0].CallerContributed {
		t.Errorf("p0 is told %+v", list.Studies[0])
	}
	if _, err := w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(3, 4)); !errors.Is(err,
		study.ErrDifferentUpload) {
		t.Errorf("other bytes than before: %v", err)
	}
	again := must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 4)))
	if string(again.Document) != string(first.Document) {
		t.Error("the same bytes have another receipt")
	}
	must(w.parties["p2"].Contribute(ctx, s.Hash, ballotFor(2, 4)))
	w.clock.add(2 * time.Hour)
	w.wait("trial", study.Released)
	r := must(w.operator.Release(ctx, "trial"))
	if c := r.Release.Contributed; len(c) != 2 || c[0] != "p0" || c[1] != "p2" ||
		len(r.Release.Amendments) != 2 {
		t.Errorf("contributed %v, %d amendments", c, len(r.Release.Amendments))
	}
	if n := must(w.server.scheduler.releaser.ledger.Totals(ctx))[privacy.Party].Charges; n != 1 {
		t.Errorf("the ledger holds %d charges", n)
	}
	if _, err := protocol.ParseAmendments(s.Plan, s.Hash, r.Release.Amendments,
		w.operator.Keys()); err != nil {
		t.Error(err)
	}
}

// TestNotReopenedAfterACharge: a study that failed after its noise was drawn stays failed, so that
// noise is drawn only once. No study is reopened at a coordinator whose ledger is known to be
// restored.
func TestNotReopenedAfterACharge(t *testing.T) {
	ctx := context.Background()
	w, s := newTrialWorld(t, 3, nil)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 4)))
	w.clock.add(2 * time.Hour)
	w.wait("trial", study.Failed)
	l := w.server.scheduler.releaser.ledger
	c := w.server.registry.byHash(s.Hash)
	charges := must(must(c.studyChecker(ctx)).task.Charges(0))
	must(0, study.ChargeAll(ctx, l, s.Hash, charges))
	if _, err := w.operator.AmendStudy(ctx, "trial",
		admin.AmendOptions{Deadline: w.clock.Now().Add(time.Hour)}); !errors.Is(err,
		study.ErrNotOpen) || !strings.Contains(err.Error(), "drawn and charged") {
		t.Errorf("reopened after its charge: %v", err)
	}
}

// TestLostChargeReopensNothing: a study is not reopened if the ledger was restored to a state
// before the study's charge. The head file shows the restore before anybody calls.
func TestLostChargeReopensNothing(t *testing.T) {
	ctx := context.Background()
	w, s := newTrialWorld(t, 3, nil)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 4)))
	w.clock.add(2 * time.Hour)
	w.wait("trial", study.Failed)
	r := w.server.scheduler.releaser
	c := w.server.registry.byHash(s.Hash)
	must(0, study.ChargeAll(ctx, r.ledger, s.Hash, must(must(c.studyChecker(ctx)).task.Charges(0))))
	must(r.head.Advance(ctx, r.journal))
	w.stop()
	for _, path := range must(filepath.Glob(filepath.Join(w.config.Dir, folder.LedgerFile+"*"))) {
		must(0, os.Remove(path))
	}
	must(0, must(journal.OpenSQLite(filepath.Join(w.config.Dir, folder.LedgerFile))).Close())
	w.start()
	if _, err := w.operator.AmendStudy(ctx, "trial",
		admin.AmendOptions{Deadline: w.clock.Now().Add(time.Hour)}); !errors.Is(err,
		protocol.ErrUnavailable) {
		t.Errorf("reopened by a ledger that has forgotten its charge: %v", err)
	}
}

// TestPutBackReopensNothing: a study is not reopened if a caller has shown that the ledger was
// restored (see TestNotReopenedAfterACharge).
func TestPutBackReopensNothing(t *testing.T) {
	ctx := context.Background()
	w, s := newTrialWorld(t, 3, nil)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 4)))
	w.clock.add(2 * time.Hour)
	w.wait("trial", study.Failed)
	w.server.scheduler.releaser.witness.mu.Lock()
	w.server.scheduler.releaser.witness.behind = privacy.ErrBehind
	w.server.scheduler.releaser.witness.mu.Unlock()
	if _, err := w.operator.AmendStudy(ctx, "trial",
		admin.AmendOptions{Deadline: w.clock.Now().Add(time.Hour)}); !errors.Is(err,
		protocol.ErrUnavailable) {
		t.Errorf("reopened by a coordinator that was put back: %v", err)
	}
}
