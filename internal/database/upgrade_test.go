package database

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestUpgrade: of two files that belong together both are brought up to date or none.
func TestUpgrade(t *testing.T) {
	dir := t.TempDir()
	first, second := filepath.Join(dir, "first.db"), filepath.Join(dir, "second.db")
	for _, path := range []string{first, second} {
		d := opened(t, notes(1), path)
		must(d.Write.Exec("INSERT INTO notes (text) VALUES ('of before')"))
		must(0, d.Close())
	}
	names := func() (all []string) {
		for _, e := range must(os.ReadDir(dir)) {
			if !strings.HasSuffix(e.Name(), "-wal") && !strings.HasSuffix(e.Name(), "-shm") {
				all = append(all, e.Name())
			}
		}
		return all
	}
	both := []string{"first.db", "second.db"}

	// The fourth migration fails: the first file stays as it is, too.
	if err := Upgrade(ctx, StoreFile{notes(3), first}, StoreFile{notes(4), second}); err == nil ||
		!strings.Contains(err.Error(), "second.db") ||
		!strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("a migration that fails: %v", err)
	}
	if got := names(); !reflect.DeepEqual(got, both) {
		t.Errorf("after it there are %q", got)
	}
	must(0, opened(t, notes(1), first).Close()) // not newer than one migration

	must(0, Upgrade(ctx, StoreFile{notes(3), first}, StoreFile{notes(3), second},
		StoreFile{notes(3), filepath.Join(dir, "none")}))
	must(0, Upgrade(ctx, StoreFile{notes(3), first}, StoreFile{notes(3), second}))
	for _, path := range []string{first, second} {
		d := opened(t, notes(3), path)
		if got := texts(t, d); len(got) != 3 || got[0] != "of before" {
			t.Errorf("%s holds %q", path, got)
		}
		must(0, d.Close())
	}
	if got := names(); !reflect.DeepEqual(got, both) {
		t.Errorf("after it there are %q", got)
	}
}
