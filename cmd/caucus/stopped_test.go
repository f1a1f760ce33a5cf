//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
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

// TestStoppedFile: a verb that is stopped while it writes its answer ends, and leaves no file,
// complete or partial, even if its writer goes on for a while.
func TestStoppedFile(t *testing.T) {
	for _, name := range []string{"answer.csv", "answer.parquet"} {
		dir := t.TempDir()
		ctx, stop := context.WithCancel(t.Context())
		c := &console{}
		cmd := &cobra.Command{}
		cmd.SetContext(ctx)
		ended, returned := make(chan error, 1), make(chan struct{})
		go func() {
			ended <- endsAtOnce(c, func(*cobra.Command, []string) error {
				defer close(returned)
				return c.write(filepath.Join(dir, name), func(w io.Writer) error {
					if _, err := w.Write([]byte("row")); err != nil {
						return err
					}
					stop()
					return ctx.Err()
				})
			})(cmd, nil)
		}()
		select {
		case err := <-ended:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: %v", name, err)
			}
		case <-time.After(20 * time.Second):
			t.Fatalf("%s: it does not end", name)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("%s: %v is left", name, left)
		}
		// Release the writer: it waits for the end of the process, if the process did not end
		// before the stop.
		c.writing.TryLock()
		c.writing.Unlock()
		<-returned
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
