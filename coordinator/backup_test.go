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
	"caucus/study"
)

// TestBackup: a backup is made while the coordinator runs and a study is open. The backup passes
// its check and is restored to another folder, where the coordinator goes on. A study that was
// released after the backup is not released again.
func TestBackup(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	s := w.small(2)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	out := filepath.Join(t.TempDir(), "backup")
	made := must(folder.Backup(ctx, w.config.Dir, out, w.clock.Now()))
	if made.Ledger != (privacy.Head{}) || made.Files[folder.StoreFile] == "" ||
		made.Files[folder.LedgerFile] == "" || made.Files[folder.SignerFile] == "" {
		t.Errorf("the backup holds %v at %s", made.Files, made.Ledger)
	}
	for _, e := range must(os.ReadDir(out)) {
		if info := must(e.Info()); info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %04o", e.Name(), info.Mode().Perm())
		}
		if strings.HasSuffix(e.Name(), "-wal") || e.Name() == "lock" ||
			strings.HasSuffix(e.Name(), ".head") {
			t.Errorf("%s is in the backup", e.Name())
		}
	}
	if _, err := folder.Backup(ctx, w.config.Dir, out, w.clock.Now()); err == nil ||
		!strings.Contains(err.Error(), "there already") {
		t.Errorf("over an earlier backup: %v", err)
	}
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 2)))
	w.wait("trial", study.Released)
	w.stop()

	dir := w.config.Dir
	if _, err := folder.Restore(ctx, out, dir); err == nil ||
		!strings.Contains(err.Error(), "move it away") {
		t.Errorf("restored over a folder: %v", err)
	}
	if report := must(folder.CheckBackup(ctx, out, dir)); report.NewerEntries != 1 {
		t.Errorf("the backup is %d entries behind", report.NewerEntries)
	}
	must(0, os.Rename(dir, dir+".away"))
	if report := must(folder.Restore(ctx, out, dir)); report.NewerEntries != 1 {
		t.Errorf("the restored folder is %d entries behind", report.NewerEntries)
	}
	w.start()
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 2)))
	w.wait("trial", study.Summed)
	w.until("behind what was published")
	if _, err := w.operator.Release(ctx, "trial"); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("a second release: %v", err)
	}
}

// TestBackupOfEveryMoment: while the coordinator works, each backup shows a single moment: its
// ledger has every charge that its store knows of.
func TestBackupOfEveryMoment(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	var w *world
	n := 0
	at := make(chan struct{}, 1)
	w = newWorld(t, func(c *folder.Config) {
		c.Checkpoint = func(effect string) {
			if !strings.HasPrefix(effect, "after ") || effect == "after receipt sent" {
				return // a reader would wait for the transaction
			}
			at <- struct{}{}
			defer func() { <-at }()
			n++
			out := filepath.Join(dir, strings.ReplaceAll(effect, "/", "."),
				time.Now().Format("150405.000000000"))
			must(0, os.MkdirAll(filepath.Dir(out), 0o700))
			if _, err := folder.Backup(ctx, c.Dir, out, time.Now()); err != nil {
				t.Errorf("%s: %v", effect, err)
			} else if _, err := folder.CheckBackup(ctx, out, ""); err != nil {
				t.Errorf("%s: %v", effect, err)
			}
		}
	})
	s := w.small(2)
	for i, p := range names(2) {
		must(w.parties[string(p)].Contribute(ctx, s.Hash, ballotFor(i, 2)))
	}
	w.wait("trial", study.Released)
	w.stop()
	if n < 6 {
		t.Errorf("%d backups were made", n)
	}
}
