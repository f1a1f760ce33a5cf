package coordinator

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/privacy"
	"caucus/study"
)

// TestStorePutBack: a ledger answered for three contributions, and then the store was restored to a
// state with two. For two contributions the ledger gives neither the old answer, which would be
// taken for theirs, nor a new one. For the same three it gives the old answer again.
func TestStorePutBack(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	roster := names(3)
	for _, p := range roster {
		w.enrol(string(p))
	}
	pool := poolOf(40)
	s := w.open(planOf(roster, pool, w.clock.Now().Add(time.Hour)), pool)
	send := func(i int) {
		must(w.parties[string(roster[i])].Contribute(ctx, s.Hash, ballotFor(i, 40)))
	}
	send(0)
	send(1)
	w.stop()
	backup := map[string][]byte{}
	for _, path := range must(filepath.Glob(filepath.Join(w.config.Dir, folder.StoreFile+"*"))) {
		backup[path] = must(os.ReadFile(path))
	}
	w.start()
	send(2)
	w.wait("trial", study.Released)
	first := must(w.operator.Release(ctx, "trial")).Release

	putBack := func() {
		w.stop()
		for _, path := range must(filepath.Glob(filepath.Join(w.config.Dir,
			folder.StoreFile+"*"))) {
			must(0, os.Remove(path))
		}
		for path, b := range backup {
			must(0, os.WriteFile(path, b, 0o600))
		}
		w.start()
	}
	charges := func() int64 {
		return must(w.server.scheduler.releaser.ledger.Totals(ctx))[privacy.Party].Charges
	}
	putBack()
	send(2)
	w.wait("trial", study.Released)
	again := must(w.operator.Release(ctx, "trial")).Release
	if !reflect.DeepEqual(again.Published, first.Published) ||
		!reflect.DeepEqual(again.Ledger, first.Ledger) || charges() != 1 {
		t.Errorf("the same parties again got another answer, %d charges", charges())
	}

	putBack()
	w.clock.add(2 * time.Hour)
	if out := w.wait("trial", study.Released, study.Failed); out.State != study.Failed ||
		!strings.Contains(out.Reason, "answered for other contributions") {
		t.Errorf("two parties of three: the study is %s (%s)", out.State, out.Reason)
	}
	if charges() != 1 {
		t.Errorf("%d charges, want 1", charges())
	}
}
