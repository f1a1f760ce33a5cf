package coordinator

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// headWorld has an open study of two parties. One has contributed, and the other is p1.
func headWorld(t *testing.T) (w *world, s protocol.Study, p1 *admin.Client) {
	t.Helper()
	w = newWorld(t, nil)
	p0, p1 := w.enrol("p0"), w.enrol("p1")
	pool := poolOf(40)
	s = w.open(planOf(names(2), pool, w.clock.Now().Add(time.Hour)), pool)
	must(p0.Contribute(context.Background(), s.Hash, ballotFor(0, 40)))
	return w, s, p1
}

// stoppedWorld is headWorld after its study was released and the coordinator stopped.
func stoppedWorld(t *testing.T) *world {
	t.Helper()
	w, s, p1 := headWorld(t)
	must(p1.Contribute(context.Background(), s.Hash, ballotFor(1, 40)))
	w.wait(s.Plan.Name, study.Released)
	w.stop()
	return w
}

// TestWholeFolderPutBack: a whole folder is restored from a backup that was made before a study's
// release. By the head file outside the folder, and by the parties' receipts, the coordinator
// knows, and makes no second release, although the last contribution arrives again. After the lost
// entries are charged, the coordinator goes on.
func TestWholeFolderPutBack(t *testing.T) {
	ctx := context.Background()
	w, s, p1 := headWorld(t)
	w.stop()
	dir, backup := w.config.Dir, filepath.Join(t.TempDir(), "backup")
	must(0, os.CopyFS(backup, os.DirFS(dir)))
	w.start()
	first := must(p1.Contribute(ctx, s.Hash, ballotFor(1, 40)))
	w.wait(s.Plan.Name, study.Released)
	r := must(w.operator.Release(ctx, s.Plan.Name))
	w.stop()

	text := string(must(os.ReadFile(w.config.HeadFile())))
	if h := must(privacy.ParseHead(text)); len(r.Release.Ledger) != 1 ||
		h != (privacy.Head{Sequence: 1, Hash: r.Release.Ledger[0].Hash}) {
		t.Errorf("the head file says %s, the release %v", text, r.Release.Ledger)
	}
	if first.Ledger.Sequence != 0 {
		t.Errorf("the receipt quotes entry %d of an empty ledger", first.Ledger.Sequence)
	}

	must(0, os.RemoveAll(dir))
	copyFolder(dir, backup)
	w.start()
	must(p1.Contribute(ctx, s.Hash, ballotFor(1, 40)))
	w.wait(s.Plan.Name, study.Summed)
	for !strings.Contains(w.log.String(), "study cannot move on") {
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := w.operator.Release(ctx, s.Plan.Name); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("a second release: %v", err)
	}
	if !strings.Contains(w.log.String(), "behind what was published") {
		t.Error("the log does not say that the ledger was put back")
	}
	if _, err := folder.Reconcile(ctx, dir, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "another coordinator runs") {
		t.Errorf("reconciling under a running coordinator: %v", err)
	}
	w.stop()

	if _, err := folder.Reconcile(ctx, dir, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "give the releases that they made") {
		t.Errorf("reconciling without saying what: %v", err)
	}
	lost := must(folder.Reconcile(ctx, dir, r.Release.Ledger, nil))
	if len(lost) != 1 || !lost[0].Equal(r.Release.Costs[0].Cost) {
		t.Errorf("charged again: %v, want %v", lost, r.Release.Costs[0].Cost)
	}
	if again := must(folder.Reconcile(ctx, dir, r.Release.Ledger, nil)); again != nil {
		t.Errorf("charged twice: %v", again)
	}
	w.start()
	w.wait(s.Plan.Name, study.Released) // a second draw, which is charged too: entry 3
	if totals :=
		must(w.server.scheduler.releaser.ledger.Totals(ctx)); totals[privacy.Party].Charges != 2 {
		t.Errorf("%d charges, want 2", totals[privacy.Party].Charges)
	}
}
