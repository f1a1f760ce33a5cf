package coordinator

import (
	"context"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// headWorld keeps its ledger's head elsewhere, and has an open study of two, to
// which one contributed; the other is p1.
func headWorld(t *testing.T) (w *world, s protocol.Study, p1 *protocol.Client) {
	t.Helper()
	w = newWorld(t, func(c *Config) { c.Head = filepath.Join(filepath.Dir(c.Dir), "head.txt") })
	p0, p1 := w.enrol("p0"), w.enrol("p1")
	pool := poolOf(40)
	s = w.open(planOf(names(2), pool, w.clock.Now().Add(time.Hour)), pool)
	must(p0.Contribute(context.Background(), s.Hash, ballotFor(0, 40)))
	return w, s, p1
}

// TestWholeFolderPutBack: a study was released after a backup of the whole
// folder. With the head kept elsewhere, the coordinator that is put back makes no
// second release of it, although the last contribution arrives again; the
// parties' receipts tell too. Once what was lost is charged, it goes on.
func TestWholeFolderPutBack(t *testing.T) {
	ctx := context.Background()
	w, s, p1 := headWorld(t)
	w.stop()
	dir, backup := w.config.Dir, filepath.Join(t.TempDir(), "backup")
	file := must(os.OpenFile(filepath.Join(dir, ConfigFile), os.O_APPEND|os.O_WRONLY, 0))
	must(file.WriteString("head: ../head.txt\n"))
	must(0, file.Close())
	must(0, os.CopyFS(backup, os.DirFS(dir)))
	w.start()
	first := must(p1.Contribute(ctx, s.Hash, ballotFor(1, 40)))
	w.wait(s.Plan.Name, study.Released)
	r := must(w.operator.Release(ctx, s.Plan.Name))
	w.stop()

	text := string(must(os.ReadFile(w.config.Head)))
	if h := must(privacy.ParseHead(text)); len(r.Release.Ledger) != 1 || h != (privacy.Head{Sequence: 1, Hash: r.Release.Ledger[0].Hash}) {
		t.Errorf("the head file says %s, the release %v", text, r.Release.Ledger)
	}
	if first.Ledger.Sequence != 0 {
		t.Errorf("the receipt quotes entry %d of an empty ledger", first.Ledger.Sequence)
	}

	must(0, os.RemoveAll(dir))
	must(0, os.CopyFS(dir, os.DirFS(backup)))
	must(0, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			err = os.Chmod(path, 0o600)
		}
		return err
	}))
	w.start()
	must(p1.Contribute(ctx, s.Hash, ballotFor(1, 40)))
	w.wait(s.Plan.Name, study.Folded)
	for !strings.Contains(w.log.String(), "study cannot move on") {
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := w.operator.Release(ctx, s.Plan.Name); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("a second release: %v", err)
	}
	if !strings.Contains(w.log.String(), "behind what was published") {
		t.Error("the log does not say that the ledger was put back")
	}
	if _, err := Reconcile(ctx, dir, nil, nil); err == nil || !strings.Contains(err.Error(), "another coordinator runs") {
		t.Errorf("reconciling under a running coordinator: %v", err)
	}
	w.stop()

	if _, err := Reconcile(ctx, dir, nil, nil); err == nil || !strings.Contains(err.Error(), "give the releases that they made") {
		t.Errorf("reconciling without saying what: %v", err)
	}
	lost := must(Reconcile(ctx, dir, r.Release.Ledger, nil))
	if len(lost) != 1 || !lost[0].Equal(r.Release.Costs[0].Cost) {
		t.Errorf("charged again: %v, want %v", lost, r.Release.Costs[0].Cost)
	}
	if again := must(Reconcile(ctx, dir, r.Release.Ledger, nil)); again != nil {
		t.Errorf("charged twice: %v", again)
	}
	w.start()
	w.wait(s.Plan.Name, study.Released) // a second draw, and paid for: entry 3
	if totals := must(w.server.conductor.releaser.ledger.Totals(ctx)); totals[privacy.Party].Charges != 2 {
		t.Errorf("%d charges, want 2", totals[privacy.Party].Charges)
	}
}

// TestReconcileOnce: an entry that a ledger has lost, and has another of the same
// number now, is paid for once, however often the ledger is reconciled.
func TestReconcileOnce(t *testing.T) {
	ctx := context.Background()
	w, s, p1 := headWorld(t)
	must(p1.Contribute(ctx, s.Hash, ballotFor(1, 40)))
	w.wait(s.Plan.Name, study.Released)
	w.stop()

	other := must(privacy.Open(privacy.NewMemory(), privacy.Config{}))
	must(0, other.Spend(ctx, "a release that this ledger forgot", privacy.PureCost(privacy.Party, 0, big.NewRat(1, 2))))
	line, found, err := other.Line(ctx, "a release that this ledger forgot")
	if !found || err != nil {
		t.Fatal(found, err)
	}
	dir := w.config.Dir
	if charged := must(Reconcile(ctx, dir, []privacy.Line{line}, nil)); len(charged) != 1 || !charged[0].Equal(line.Costs[0]) {
		t.Errorf("charged %v, want %v", charged, line.Costs)
	}
	if again := must(Reconcile(ctx, dir, []privacy.Line{line}, nil)); again != nil {
		t.Errorf("charged twice: %v", again)
	}
}

// TestHeadFile: a coordinator does not start without the head that it is told to
// keep, nor with that of another ledger.
func TestHeadFile(t *testing.T) {
	ctx := context.Background()
	w, s, p1 := headWorld(t)
	must(p1.Contribute(ctx, s.Hash, ballotFor(1, 40)))
	w.wait(s.Plan.Name, study.Released)
	w.stop()
	head := must(os.ReadFile(w.config.Head))
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"gone":    {"", "it remembers how far the ledger was"},
		"another": {"1:" + strings.Repeat("0", 64), "remembers another entry 1"},
		"damaged": {"one", "read ledger head"},
	} {
		must(0, os.Remove(w.config.Head))
		if c.text != "" {
			must(0, os.WriteFile(w.config.Head, []byte(c.text), 0o600))
		}
		server, err := New(w.config)
		if err == nil {
			server.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want …%s…", name, err, c.want)
		}
		must(0, os.WriteFile(w.config.Head, head, 0o600))
	}
	w.start()
}
