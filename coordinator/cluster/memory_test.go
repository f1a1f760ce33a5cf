//go:build unix

package cluster

import (
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"caucus/protocol/server"
)

// TestOldMemory: at its start, a replica reads what it stored before its last end. The others'
// messages are newer, so replicas that they report alive stay alive, however slowly the file is
// read.
func TestOldMemory(t *testing.T) {
	authority := must(server.NewAuthority(time.Now()))
	first, at := opened(t, config(authority, "first"))
	c := config(authority, "again", at)
	c.Memory = filepath.Join(t.TempDir(), "replicas.json")
	must(0, syscall.Mkfifo(c.Memory, 0o600)) // a pipe, so its reader waits
	go func() {
		for until := time.Now().Add(2 * time.Second); len(first.living()) < 2 &&
			time.Now().Before(until); {
			time.Sleep(time.Millisecond)
		}
		text := must(json.Marshal(first.View().Members))
		must(0, os.WriteFile(c.Memory, text, 0o600))
	}()
	again, _ := opened(t, c)
	soon(t, "it hears of the first", func() bool { return len(again.living()) == 2 })
}
