package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"caucus/internal/textpage"
)

// Main runs the process's command line by the commands of root until a signal ends it, and
// exits. A second signal kills the process.
func Main(root func(*Console) *cobra.Command) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // after the first signal, a second signal kills the process
	code := Execute(ctx, root, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Execute runs one command line by the commands of root. It returns 0 for success, 1 for failure, 2
// for wrong usage.
func Execute(ctx context.Context, root func(*Console) *cobra.Command, args []string,
	stdout, stderr io.Writer) int {
	c := &Console{Out: stdout, Err: stderr}
	cmd := root(c)
	cmd.SetArgs(args)
	cmd.SetOut(c.WithVerbNames(stdout))
	cmd.SetErr(c.WithVerbNames(stderr))
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(textpage.PlainWriter{Writer: c.WithVerbNames(stderr)}, "%s: %s\n", cmd.Name(),
		plain(err))
	var usage UsageError
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

// plain returns an error's text, and puts the operating system's words about files into plain
// English.
func plain(err error) string {
	text := strings.TrimSuffix(err.Error(), ": "+context.Canceled.Error())
	for _, of := range fileErrors(err) {
		says := of.Error()
		switch {
		case errors.Is(of, fs.ErrNotExist):
			says = "there is no file " + of.Path
		case errors.Is(of, fs.ErrExist):
			says = of.Path + " is there already: give another name"
		case errors.Is(of, fs.ErrPermission):
			says = "this account may not " + of.Op + " " + of.Path + ": use the account that owns it, or change its permissions"
		case errors.Is(of, syscall.EISDIR):
			says = of.Path + " is a folder: give a file"
		case errors.Is(of, syscall.ENOTDIR):
			says = filepath.Dir(of.Path) + " is no folder"
		case errors.Is(of, syscall.ENOSPC):
			says = "the disk of folder " + filepath.Dir(of.Path) +
				" is full: make room, then try again"
		}
		text = strings.Replace(text, of.Error(), says, 1)
	}
	return text
}

func fileErrors(err error) (all []*fs.PathError) {
	switch e := err.(type) {
	case *fs.PathError:
		return []*fs.PathError{e}
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			all = append(all, fileErrors(one)...)
		}
	case interface{ Unwrap() error }:
		return fileErrors(e.Unwrap())
	}
	return all
}

// UsageError is a wrong command line (exit code 2), as opposed to a command that failed (1).
type UsageError struct{ error }

// Unwrap returns the error that says what is wrong.
func (u UsageError) Unwrap() error { return u.error }

// Usagef returns a UsageError of a formatted text; %w keeps what it wraps.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// EndOnCancel ends a verb that keeps no state as soon as its context ends, because reading a file
// and long fits do not check the context. Every file is then complete or absent.
func EndOnCancel(c *Console, run func(*cobra.Command, []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		done := make(chan error, 1)
		go func() { done <- run(cmd, args) }()
		select {
		case err := <-done:
			return err
		case <-cmd.Context().Done():
			c.stop()
			return fmt.Errorf("stopped before it was done: %w", cmd.Context().Err())
		}
	}
}

// RunDaemon prints a daemon's document and runs the daemon until the context ends.
func (c *Console) RunDaemon(ctx context.Context, document any, says string, daemon interface {
	Run(context.Context) error
	Close() error
}) error {
	if err := c.Print(document, func(w io.Writer) { fmt.Fprintln(w, says) }); err != nil {
		return errors.Join(err, daemon.Close())
	}
	return daemon.Run(ctx)
}
