package coordinator

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/privacy"
)

// refusesToStart checks that New refuses, for this reason.
func (w *world) refusesToStart(what, want string) {
	w.t.Helper()
	server, err := New(w.config)
	if err == nil {
		server.Close()
	}
	if err == nil || !strings.Contains(err.Error(), want) {
		w.t.Errorf("%s: %v, want …%s…", what, err, want)
	}
	if err != nil && (strings.Contains(err.Error(), "tried again") ||
		strings.Contains(err.Error(), "not available")) {
		w.t.Errorf("%s: nobody tries again to start: %v", what, err)
	}
}

// TestHeadMustBeThere: the coordinator notices at its start, and not after a charge, that a head
// file is missing or cannot be written.
func TestHeadMustBeThere(t *testing.T) {
	w := newWorld(t, nil)
	w.stop()
	head := w.config.HeadFile()
	must(0, os.Rename(head, head+".away"))
	w.refusesToStart("no head file", "it remembers how far the ledger was")
	must(0, os.Rename(head+".away", head))
	if os.Getuid() == 0 { // root may write anywhere, so a folder takes the file's place
		must(0, os.Remove(head))
		must(0, os.Mkdir(head, 0o700))
		w.refusesToStart("a head file that cannot be written", "head:")
		must(0, os.Remove(head))
		must(0, os.WriteFile(head, []byte(privacy.Head{}.String()), 0o600))
	} else {
		folder := filepath.Dir(head)
		must(0, os.Chmod(folder, 0o500))
		w.refusesToStart("a head file that cannot be written", "head:")
		must(0, os.Chmod(folder, 0o700))
	}
	w.start()
}

// TestHeadCatchesUp: a coordinator is killed between the commits of its ledger and its head file.
// It starts again, and the file then has the entry.
func TestHeadCatchesUp(t *testing.T) {
	w := stoppedWorld(t)
	head := must(privacy.ParseHead(string(must(os.ReadFile(w.config.HeadFile())))))
	must(0, os.WriteFile(w.config.HeadFile(), []byte(privacy.Head{}.String()), 0o600))
	w.start()
	w.stop()
	if have := must(privacy.ParseHead(string(must(os.ReadFile(w.config.HeadFile()))))); have !=
		head || head.Sequence != 1 {
		t.Errorf("the file says %s after the start, want %s", have, head)
	}
	w.start()
}

// TestEmptyFiles: a file that a full disk or a careless restore left empty is not taken for a new
// one.
func TestEmptyFiles(t *testing.T) {
	w := stoppedWorld(t)
	dir := w.config.Dir
	empty := func(file string, fn func()) {
		path := filepath.Join(dir, file)
		text := must(os.ReadFile(path))
		must(0, os.Truncate(path, 0))
		fn()
		must(0, os.WriteFile(path, text, 0o600))
	}
	for _, file := range []string{folder.StoreFile, folder.LedgerFile} {
		empty(file, func() { w.refusesToStart("empty "+file, "it is empty") })
	}
	empty(folder.StoreFile, func() {
		if _, err := folder.NewOperator(context.Background(), dir, "second",
			w.clock.Now()); err == nil || !strings.Contains(err.Error(), "it is empty") {
			t.Errorf("an operator of an empty store: %v", err)
		}
	})
	empty(folder.ConfigFile, func() {
		if _, err := folder.LoadConfig(filepath.Join(dir, folder.ConfigFile)); err == nil ||
			!strings.Contains(err.Error(), "it is empty") {
			t.Errorf("an empty configuration: %v", err)
		}
	})
	if _, err := records.Open(filepath.Join(dir, "none.db")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a store that is not there: %v", err)
	}
	w.start()
}

// TestIntegrityAtStart: damaged pages of the store, and a ledger with a broken chain, are found at
// the start.
func TestIntegrityAtStart(t *testing.T) {
	w := stoppedWorld(t)
	path := filepath.Join(w.config.Dir, folder.StoreFile)
	good := must(os.ReadFile(path))
	const page = 4096
	bad := append([]byte{}, good...)
	for i := 2 * page; i < 3*page; i++ { // the third page, which belongs to a table
		bad[i] ^= 0x5a
	}
	must(0, os.WriteFile(path, bad, 0o600))
	w.refusesToStart("a damaged page", "damaged")
	bad = append([]byte{}, good...)
	copy(bad, "not a database, ") // the file's first bytes
	must(0, os.WriteFile(path, bad, 0o600))
	w.refusesToStart("another file", "the file is not a Caucus store: give another path")
	must(0, os.WriteFile(path, good, 0o600))

	path = filepath.Join(w.config.Dir, folder.LedgerFile)
	good = must(os.ReadFile(path))
	at := strings.Index(string(good), `"mechanism":"`)
	if at < 0 {
		t.Fatal("the ledger has another form than this test reads")
	}
	bad = append([]byte{}, good...)
	bad[at+len(`"mechanism":"`)] ^= 1
	must(0, os.WriteFile(path, bad, 0o600))
	w.refusesToStart("a changed ledger entry", "verify ledger")
	must(0, os.WriteFile(path, good, 0o600))
	w.start()
}
