package coordinator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/aggregator/helper"
	"caucus/coordinator/folder"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// backupHelper copies a stopped helper's folder, and returns a function that restores the copy.
func (sw *sharedWorld) backupHelper() (putBack func()) {
	sw.t.Helper()
	copied := filepath.Join(sw.t.TempDir(), "backup")
	must(0, os.CopyFS(copied, os.DirFS(sw.helper.Dir)))
	return func() {
		sw.t.Helper()
		must(0, os.RemoveAll(sw.helper.Dir))
		must(0, os.CopyFS(sw.helper.Dir, os.DirFS(copied)))
		must(0, filepath.WalkDir(sw.helper.Dir, func(path string, e os.DirEntry, err error) error {
			mode := os.FileMode(0o600)
			if e.IsDir() {
				mode = 0o700
			}
			return errors.Join(err, os.Chmod(path, mode))
		}))
	}
}

// asked moves the clock until the coordinator has asked the helper about open studies again.
func (sw *sharedWorld) asked() {
	sw.clock.add(confirmEvery)
	time.Sleep(20 * time.Millisecond)
}

// TestHelperForgets: a helper was restored from a backup and reconciled. An open study with this
// helper fails at once, and the error says why, so that nobody else is charged for it. This holds
// whether the backup was made before the helper had the plan or after it agreed. The study is not
// taken up again. Before the reconciliation, or while the helper does not answer, the study stays
// open and goes on.
func TestHelperForgets(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, agreed := range map[string]bool{"a backup of before": false,
		"a backup of after it agreed": true} {
		t.Run(name, func(t *testing.T) {
			w := newSharedWorld(t, 3, func(p *study.Plan) {
				p.Deadline = p.Deadline.Add(500 * time.Hour)
			})
			w.stopHelper()
			putBack := w.backupHelper()
			must(0, w.startHelper())
			s := w.opened()
			all := w.uploads(s)
			w.stopHelper()
			if agreed {
				putBack = w.backupHelper()
				must(0, w.startHelper())
				// Change something after the backup, so that the head file knows more than the
				// backup.
				other := w.plan
				other.Name = "other"
				must(w.operator.CreateStudy(ctx, must(other.Canonical()), nil))
				must(w.opens("other"))
				w.stopHelper()
			}
			must(w.parties["p0"].Contribute(ctx, s.Hash, all[0]))

			for w.state().Reason == "" { // the helper does not answer
				w.asked()
			}
			putBack()
			must(0, w.startHelper())
			for !strings.Contains(w.state().Reason, "put back") { // no reason is given yet
				w.asked()
			}
			if s := w.state(); s.State != study.Open {
				t.Fatalf("with a helper that may still be put right it is %s: %s", s.State, s.Reason)
			}
			w.stopHelper()
			must(helper.Reconcile(ctx, w.helper, nil))
			must(0, w.startHelper())
			for w.state().State == study.Open {
				w.asked()
			}
			want := helperForgot
			if agreed { // the helper knows that reconciling ended the study
				want = helperEnded
			}
			if s := w.state(); s.State != study.Failed || !strings.HasPrefix(s.Reason, want) {
				t.Errorf("it is %s: %s", s.State, s.Reason)
			}
			if _, err := w.parties["p1"].Contribute(ctx, s.Hash, all[1]); !errors.Is(err,
				study.ErrNotOpen) {
				t.Errorf("a contribution afterwards: %v", err)
			}
			if s := must(w.parties["p1"].Study(ctx, "trial")); s.Helper.Document != nil {
				t.Error("parties are still given the helper's acceptance")
			}
			_, err := w.operator.AmendStudy(ctx, "trial",
				admin.AmendOptions{Deadline: w.clock.Now().Add(600 * time.Hour)})
			if !errors.Is(err, study.ErrNotOpen) || !strings.Contains(err.Error(), want) {
				t.Errorf("taken up again: %v", err)
			}
			// The next study, under the new keys, is released.
			w.plan.Name = "next"
			w.plan.Deadline = w.clock.Now().Add(500 * time.Hour)
			w.task = must(newStudyChecker(w.plan, w.pool)).task
			next := w.opened()
			for i, body := range w.uploads(next) {
				must(w.parties[string(w.plan.Roster[i])].Contribute(ctx, next.Hash, body))
			}
			w.wait("next", study.Released)
		})
	}
}

// TestHelperSnapshot: a helper's whole machine was restored to a state before a release, and
// nothing on the machine knows. Before the next study opens, the coordinator shows the helper that
// release's share, and the helper stops answering. Its operator reconciles with the charge that the
// share states, and the next study is released. Meanwhile the coordinator's operator can read what
// the study waits for.
func TestHelperSnapshot(t *testing.T) {
	ctx := context.Background()
	w := newSharedWorld(t, 3, nil)
	w.stopHelper()
	at := filepath.Join(w.helper.Dir, w.helper.Head)
	putBack, head := w.backupHelper(), must(os.ReadFile(at))
	must(0, w.startHelper())
	s := w.opened()
	for i, body := range w.uploads(s) {
		must(w.parties[string(w.plan.Roster[i])].Contribute(ctx, s.Hash, body))
	}
	w.wait("trial", study.Released)
	line := w.verified().Aggregated.HelperLine
	must(0, w.operator.HelperRestored())
	w.stopHelper()
	putBack()
	must(0, os.WriteFile(at, head, 0o600))
	must(0, w.startHelper())

	w.plan.Name = "next"
	w.task = must(newStudyChecker(w.plan, w.pool)).task
	must(w.operator.CreateStudy(ctx, must(w.plan.Canonical()), nil))
	for range 2 {
		if _, err := w.opens("next"); !errors.Is(err, study.ErrNotOpen) ||
			!strings.Contains(err.Error(), "put back") {
			t.Fatalf("opened with a helper that was put back: %v", err)
		}
		w.stopHelper() // the same after a restart
		must(0, w.startHelper())
	}
	w.stopHelper()
	r := must(helper.Reconcile(ctx, w.helper, nil))
	if !r.WasRestored || len(r.Charged) != 1 || !r.Charged[0].Equal(line.Costs[0]) {
		t.Errorf("reconciled: %+v, want one charge of %v", r, line.Costs)
	}
	must(0, w.startHelper())
	must(w.opens("next"))
	next := must(w.parties["p0"].Study(ctx, "next"))
	for i, body := range w.uploads(next) {
		must(w.parties[string(w.plan.Roster[i])].Contribute(ctx, next.Hash, body))
	}
	w.wait("next", study.Released)
	w.verified()
	if err := w.operator.HelperRestored(); err != nil {
		t.Errorf("what was reconciled is reported: %v", err)
	}
}

// TestHelperLostPlans: a helper that lost only a plan's file gets the plan again.
func TestHelperLostPlans(t *testing.T) {
	ctx := context.Background()
	w := newSharedWorld(t, 3, nil)
	s := w.opened()
	all := w.uploads(s)
	w.stopHelper()
	must(0, os.RemoveAll(filepath.Join(w.helper.Dir, "plans", s.Hash.String())))
	must(0, w.startHelper())
	for i, p := range w.plan.Roster {
		must(w.parties[string(p)].Contribute(ctx, s.Hash, all[i]))
	}
	w.wait("trial", study.Released)
}

// TestOpenedAgain: a coordinator was restored to a state before a study was opened, and opens the
// study again, with a helper that claims to know nothing of it. The coordinator accepts no earlier
// upload, which agents send again: if it were checked under a second verify key, a helper that lies
// would learn what the upload says.
func TestOpenedAgain(t *testing.T) {
	ctx := context.Background()
	w := newSharedWorld(t, 3, nil)
	must(0, w.operator.UploadPool(ctx, w.plan.Pool, w.pool))
	must(w.operator.CreateStudy(ctx, must(w.plan.Canonical()), nil))
	w.stopHelper()
	forget := w.backupHelper()
	head := must(os.ReadFile(w.helper.Dir + ".head")) // a lying helper restores the head file too
	must(0, w.startHelper())
	w.stop()
	putBack := w.backup()
	w.start()
	must(w.opens("trial"))
	first := must(w.parties["p0"].Study(ctx, "trial"))
	all := w.uploads(first)
	for i, p := range w.plan.Roster[:2] {
		must(w.parties[string(p)].Contribute(ctx, first.Hash, all[i]))
	}

	w.stop()
	putBack()
	if behind, err := folder.ReconcileShares(ctx, w.config.Dir); err != nil || !behind {
		t.Fatalf("reconciled: %t, %v", behind, err)
	}
	w.start()
	if _, err := w.opens("trial"); err == nil {
		t.Error("a helper that knows of the study agrees to it again")
	}
	w.stopHelper()
	forget()
	must(0, os.WriteFile(w.helper.Dir+".head", head, 0o600))
	must(0, w.startHelper())
	must(w.opens("trial"))
	second := must(w.parties["p0"].Study(ctx, "trial"))
	if second.Hash != first.Hash || second.Helper.Equal(first.Helper) {
		t.Fatal("it is not the same study under another acceptance")
	}
	for i, p := range w.plan.Roster {
		if _, err := w.parties[string(p)].Contribute(ctx, first.Hash, all[i]); !errors.Is(err,
			study.ErrContribution) || !strings.Contains(err.Error(), "a new plan") {
			t.Errorf("an upload of before: %v", err)
		}
	}
	for i, body := range w.uploads(second) {
		must(w.parties[string(w.plan.Roster[i])].Contribute(ctx, second.Hash, body))
	}
	w.wait("trial", study.Released)
}

// state is the study's state at the coordinator.
func (sw *sharedWorld) state() protocol.Study {
	return must(sw.operator.Study(context.Background(), "trial"))
}
