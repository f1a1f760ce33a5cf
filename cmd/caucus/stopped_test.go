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

// TestStops: a simulation, or a prediction, that is told to stop ends within seconds, with status 1
// and without a document. This also holds while it waits for input that checks no context: here a
// file that never comes.
func TestStops(t *testing.T) {
	for _, verb := range [][]string{
		{"simulate", "classify", "--train", "train.csv", "--schema", "train.csv"},
		{"release", "predict", "train.csv", "--data", "train.csv", "--out", "answer.csv"},
	} {
		stops(t, verb, os.Interrupt)
		stops(t, verb, syscall.SIGTERM)
	}
}

// stops starts a verb that reads train.csv, and signals it.
func stops(t *testing.T, verb []string, by os.Signal) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "train.csv")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := caucus(t.Context(), dir, verb...)
	var said, document strings.Builder
	cmd.Stderr, cmd.Stdout = &said, &document
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(file, os.O_WRONLY, 0) // waits until the verb reads
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	slow := time.AfterFunc(20*time.Second, func() { cmd.Process.Kill() })
	if err := cmd.Process.Signal(by); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 ||
		!strings.Contains(said.String(), "stopped before it was done") || document.Len() > 0 {
		t.Errorf("%v, %v: %v, on stdout %q, on stderr %q", verb, by, err, document.String(),
			said.String())
	}
	slow.Stop()
}

// TestSecondSignal: a verb that waits for a pipe ends with the second signal.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "release.json")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := caucus(t.Context(), dir, "release", "verify", pipe)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the verb reads
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for deadline := time.After(20 * time.Second); ; {
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
			return
		case <-deadline:
			cmd.Process.Kill()
			t.Fatal("it does not end")
		case <-time.After(100 * time.Millisecond):
		}
	}
}
