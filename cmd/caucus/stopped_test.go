//go:build unix

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSimulateStops: a simulation that is told to stop ends within seconds, with status 1 and
// without a document, also where it waits for what asks no context: here a file that never
// comes.
func TestSimulateStops(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, by := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		dir := t.TempDir()
		file := filepath.Join(dir, "train.csv")
		if err := syscall.Mkfifo(file, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := caucus(t.Context(), dir, "simulate", "classify", "--train", file, "--schema", file)
		var said, document strings.Builder
		cmd.Stderr, cmd.Stdout = &said, &document
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		writer, err := os.OpenFile(file, os.O_WRONLY, 0) // waits until it reads
		if err != nil {
			t.Fatal(err)
		}
		defer writer.Close()
		slow := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
		if err := cmd.Process.Signal(by); err != nil {
			t.Fatal(err)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 || !strings.Contains(said.String(), "stopped before it was done") || document.Len() > 0 {
			t.Errorf("%v: %v, on stdout %q, on stderr %q", by, err, document.String(), said.String())
		}
		slow.Stop()
	}
}
