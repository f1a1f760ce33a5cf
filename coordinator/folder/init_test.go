package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/privacy"
	"caucus/protocol"
)

// TestInitWritesHead: Init writes the head file beside the folder before the first charge, so the
// ledger never has an entry without a head file. A folder that is made anew after a loss does not
// start with a fresh budget.
func TestInitWritesHead(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "coordinator")
	must(0, Init(InitOptions{Dir: dir, Listen: "127.0.0.1:0"}))
	head := dir + ".head"
	if h := must(privacy.ParseHead(string(must(os.ReadFile(head))))); h != (privacy.Head{}) {
		t.Errorf("a new head file says %s", h)
	}
	if mode := must(os.Stat(head)).Mode().Perm(); mode != 0o600 {
		t.Errorf("the head file has mode %04o", mode)
	}
	c := must(LoadConfig(filepath.Join(dir, ConfigFile)))
	if c.HeadFile() != head {
		t.Errorf("the configuration names %s, want %s", c.HeadFile(), head)
	}
	if c.Budget != nil {
		t.Errorf("a new coordinator has budget %v", c.Budget)
	}
	must(0, os.RemoveAll(dir)) // an Init that was cut off is repeated
	must(0, Init(InitOptions{Dir: dir, Listen: "127.0.0.1:0"}))
	must(0, os.RemoveAll(dir))
	must(0, os.WriteFile(head, []byte("3:"+strings.Repeat("ab", 32)), 0o600))
	if err := Init(InitOptions{Dir: dir, Listen: "127.0.0.1:0"}); err == nil ||
		!strings.Contains(err.Error(), "3 entries") {
		t.Errorf("a coordinator whose ledger had 3 entries is made anew: %v", err)
	}
}

// TestTroubleSaysWhatToDo: a fault of the machine is ErrUnavailable for callers, and its text tells
// the operator what to do.
func TestTroubleSaysWhatToDo(t *testing.T) {
	h := &LedgerHead{path: filepath.Join(t.TempDir(), "gone", "head")}
	err := h.keep(privacy.Head{})
	if !errors.Is(err, protocol.ErrUnavailable) || !errors.Is(err, fs.ErrNotExist) ||
		!strings.Contains(err.Error(), "make its folder") ||
		strings.Contains(err.Error(), "available") {
		t.Errorf("a head file without its folder: %v", err)
	}
}

// TestHeadIsOutside: a head file within the folder is refused, because a restore would replace it
// too, and it would remember nothing.
func TestHeadIsOutside(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "coordinator")
	for _, head := range []string{filepath.Join(dir, "ledger.head"),
		filepath.Join(dir, "..", "coordinator", "a", "head")} {
		if err := Init(InitOptions{Dir: dir, Head: head}); err == nil ||
			!strings.Contains(err.Error(), "name a file outside") {
			t.Errorf("init with %s: %v", head, err)
		}
	}
	c := DefaultConfig(dir)
	for head, inside := range map[string]bool{
		"ledger.head": true, "./..head": true, c.Path("head"): true, "../head": false, dir + ".head": false,
	} {
		text := fmt.Sprintf("dir: %q\nhead: %q\nbudget: none\n", dir, head)
		if _, err := ParseConfig([]byte(text)); (err != nil) != inside {
			t.Errorf("head: %s: %v", head, err)
		}
	}
}

// TestHelperAfterMove: for a coordinator that moved to PostgreSQL without a database of shares, the
// error says that the helper must be set up before the move.
func TestHelperAfterMove(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "coordinator")
	must(0, Init(InitOptions{Dir: dir, Listen: "127.0.0.1:0"}))
	path := filepath.Join(dir, ConfigFile)
	must(0, os.WriteFile(path, append(must(os.ReadFile(path)),
		"store: postgres://localhost/caucus\n"...), 0o600))
	if _, err := MakeHelper(dir, "", ""); err == nil ||
		!strings.Contains(err.Error(), "before caucus coordinator move") {
		t.Error(err)
	}
}
