package folder

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMake: a folder is made once, its config file last. An unfinished folder is made anew, without
// its leftovers.
func TestMake(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "home")
	home := DaemonFolder{Dir: dir, Daemon: "helper", Config: "helper.yaml",
		UnfinishedFiles: []string{"store*"}}
	write := func(path string, text []byte) error { return os.WriteFile(path, text, 0o600) }
	broken := errors.New("the disk is full")
	fill := func(fails error) func() ([]byte, error) {
		return func() ([]byte, error) {
			if left, _ := filepath.Glob(filepath.Join(dir, "store*")); len(left) > 0 {
				t.Errorf("it finds %v", left)
			}
			if _, err := LockForDaemon(dir, "another helper"); !errors.Is(err, ErrLocked) ||
				!strings.Contains(err.Error(), "another helper runs on it: stop it first") {
				t.Errorf("the folder is not held: %v", err)
			}
			if err := os.WriteFile(filepath.Join(dir, "store.db"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return []byte("listen: :1\n"), fails
		}
	}
	if err := home.Make(write, fill(broken)); !errors.Is(err, broken) {
		t.Errorf("have %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "helper.yaml")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was not finished has a config file: %v", err)
	}
	if err := home.Make(write, fill(nil)); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "helper.yaml")); err != nil ||
		string(text) != "listen: :1\n" {
		t.Errorf("have %q, %v", text, err)
	}
	if err := home.Make(write, fill(nil)); err == nil ||
		!strings.Contains(err.Error(), "there is a helper already") {
		t.Errorf("a second time: %v", err)
	}
}

// TestNames: a file beside the folder gets a relative name, a file inside is refused.
func TestNames(t *testing.T) {
	top := t.TempDir()
	t.Chdir(top)
	dir := filepath.Join(top, "home")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ have, want string }{
		{ResolvePath(dir, ""), ""}, {ResolvePath(dir, "a"), filepath.Join(dir, "a")}, {ResolvePath(dir, dir), dir},
		{DefaultPath("home", ".head", ""), dir + ".head"}, {DefaultPath("home", ".head", "x"), "x"},
	} {
		if c.have != c.want {
			t.Errorf("have %q, want %q", c.have, c.want)
		}
	}
	for path, want := range map[string]string{"home.head": filepath.Join("..", "home.head"),
		filepath.Join("far", "head"): filepath.Join(top, "far", "head")} {
		if have, err := ConfigPath("home", path); err != nil || have != want {
			t.Errorf("%s is named %q, %v; want %q", path, have, err, want)
		}
	}
	for name, outside := range map[string]bool{"head": false, "../home/head": false,
		filepath.Join(dir, "head"): false, "../home.head": true, filepath.Join(top, "head"): true} {
		if err := RefuseInside("home", name, "helper"); (err == nil) != outside {
			t.Errorf("%s: %v", name, err)
		}
	}
}
