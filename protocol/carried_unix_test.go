//go:build unix

package protocol

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestCarriedIsAFile: a pipe in place of a carried file is refused at once.
func TestCarriedIsAFile(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for what, do := range map[string]func() error{
		"read":  func() error { _, err := ReadCarriedFile(pipe, nil, PackFile); return err },
		"write": func() error { return WriteCarriedFile(pipe, PackFile, []byte("pack")) },
	} {
		done := make(chan error, 1)
		go func() { done <- do() }()
		select {
		case err := <-done:
			if err == nil || !strings.Contains(err.Error(), "no plain file") {
				t.Errorf("%s: %v", what, err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s waits for whoever would open the pipe", what)
		}
	}
}
