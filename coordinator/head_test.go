package coordinator

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// headWorld has an open study of two, to which one contributed; the other is p1.
func headWorld(t *testing.T) (w *world, s protocol.Study, p1 *protocol.Client) {
	t.Helper()
	w = newWorld(t, nil)
	p0, p1 := w.enrol("p0"), w.enrol("p1")
	pool := poolOf(40)
	s = w.open(planOf(names(2), pool, w.clock.Now().Add(time.Hour)), pool)
	must(p0.Contribute(context.Background(), s.Hash, ballotFor(0, 40)))
	return w, s, p1
}

// stoppedWorld is headWorld after its study was released, stopped.
func stoppedWorld(t *testing.T) *world {
	t.Helper()
	w, s, p1 := headWorld(t)
	must(p1.Contribute(context.Background(), s.Hash, ballotFor(1, 40)))
	w.wait(s.Plan.Name, study.Released)
	w.stop()
	return w
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
	w.wait(s.Plan.Name, study.Released) // a second draw, and paid for: entry 3
	if totals :=
		must(w.server.scheduler.releaser.ledger.Totals(ctx)); totals[privacy.Party].Charges != 2 {
		t.Errorf("%d charges, want 2", totals[privacy.Party].Charges)
	}
}

// TestReconcileOnce: entries that a ledger has lost, while it gave their numbers
// to others, are paid for once each, however often and in whatever order they are
// brought forward; and not without those before them.
func TestReconcileOnce(t *testing.T) {
	ctx := context.Background()
	w := stoppedWorld(t)
	dir := w.config.Dir

	history := func(costs ...int64) (lines []privacy.Line) {
		l := must(privacy.Open(privacy.NewMemory(), privacy.Config{}))
		for i, c := range costs {
			id := fmt.Sprintf("release %d of %v", i, costs)
			must(0, l.Spend(ctx, id, privacy.PureCost(privacy.Party, 0, big.NewRat(c, 10))))
			line, found, err := l.Line(ctx, id)
			if !found || err != nil {
				t.Fatal(found, err)
			}
			lines = append(lines, line)
		}
		return lines
	}
	first, second, third := history(1), history(2), history(3, 4)
	for _, c := range []struct {
		known []privacy.Line
		want  int
	}{
		{first, 1}, {first, 0}, {append(first, second...), 1}, {append(second, first...), 0}, {third, 2}, {append(third, third...), 0},
	} {
		charged := must(folder.Reconcile(ctx, dir, c.known, nil))
		if len(charged) != c.want {
			t.Errorf("charged %v, want %d costs", charged, c.want)
		}
	}
	// Its end alone shows that something came before it.
	fourth := history(5, 6)
	if _, err := folder.Reconcile(ctx, dir, fourth[1:], nil); err == nil ||
		!strings.Contains(err.Error(), "1 entries were published and are lost") {
		t.Errorf("an entry whose forerunner nobody knows: %v", err)
	}
	if charged := must(folder.Reconcile(ctx, dir, fourth, nil)); len(charged) != 2 {
		t.Errorf("charged %v, want 2 costs", charged)
	}
	w.start() // the head that is kept elsewhere went along
}

// TestHeadIsNotForgotten: a ledger that was put back does not make the file forget
// how far it was, whatever is remembered of it next.
func TestHeadIsNotForgotten(t *testing.T) {
	ctx := context.Background()
	j := privacy.NewMemory()
	l := must(privacy.Open(j, privacy.Config{}))
	must(0, l.Spend(ctx, "a", privacy.PureCost(privacy.Party, 0, big.NewRat(1, 1))))
	path := filepath.Join(t.TempDir(), "head")
	kept := privacy.Head{Sequence: 2, Hash: privacy.Digest{1}}
	must(0, os.WriteFile(path, []byte(kept.String()), 0o600))
	h, last, err := folder.OpenHead(ctx, path, j)
	if err != nil || last != 2 {
		t.Fatal(last, err)
	}
	must(h.Advance(ctx, j))
	if have := must(privacy.ParseHead(string(must(os.ReadFile(path))))); have != kept {
		t.Errorf("the file says %s, want %s", have, kept)
	}
}

// TestHeadFile: a coordinator does not start without the head that it is told to
// keep, nor with that of another ledger.
func TestHeadFile(t *testing.T) {
	w := stoppedWorld(t)
	head := must(os.ReadFile(w.config.HeadFile()))
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"gone":    {"", "it remembers how far the ledger was"},
		"another": {"1:" + strings.Repeat("0", 64), "remembers another entry 1"},
		"damaged": {"one", "read ledger head"},
	} {
		must(0, os.Remove(w.config.HeadFile()))
		if c.text != "" {
			must(0, os.WriteFile(w.config.HeadFile(), []byte(c.text), 0o600))
		}
		server, err := New(w.config)
		if err == nil {
			server.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want …%s…", name, err, c.want)
		}
		must(0, os.WriteFile(w.config.HeadFile(), head, 0o600))
	}
	w.start()
}
