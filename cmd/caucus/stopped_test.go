//go:build unix

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStops: a simulation, or a prediction, that is told to stop ends within seconds, with status 1 and
// without a document, also where it waits for what asks no context: here a file that never
// comes.
func TestStops(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, verb := range [][]string{
		{"simulate", "classify", "--train", "train.csv", "--schema", "train.csv"},
		{"predict", "--release", "train.csv", "--data", "train.csv", "--out", "answer.csv"},
	} {
		stops(t, verb, os.Interrupt)
		stops(t, verb, syscall.SIGTERM)
	}
}

// TestStoppedFile: an answer that is stopped is no file, in part or whole.
func TestStoppedFile(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, name := range []string{"answer.csv", "answer.parquet"} {
		dir := t.TempDir()
		answer := predictions{names: []string{"row", "predicted", "score_a"}, of: prediction{Labels: []string{"a"}, Values: [][]float64{{1}}}}
		if err := answer.file(ctx, &console{}, filepath.Join(dir, name)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
	}
}

// stops starts a verb that reads train.csv and signals it.
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
		t.Errorf("%v, %v: %v, on stdout %q, on stderr %q", verb, by, err, document.String(), said.String())
	}
	slow.Stop()
}
