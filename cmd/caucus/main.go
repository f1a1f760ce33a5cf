package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"caucus/internal/textpage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // after the first signal, a second signal kills the process
	code := Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Main runs one command line. It returns 0 for success, 1 for failure, 2 for wrong usage.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := newRoot(&console{out: stdout, err: stderr})
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(textpage.Plain{Writer: stderr}, "caucus: %s\n", plain(err))
	var usage usageError
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

type console struct {
	out, err io.Writer
	json     bool
	// inputs are the input files that are known so far, which the command must not overwrite.
	inputs []given
	// owned are the daemons' folders from which the command reads.
	owned []string
	// writing guards unfinished: the name of a file that write has begun and will rename.
	writing    sync.Mutex
	unfinished string
}

// print writes the document as JSON with --json, and the text otherwise. Its error says that the
// output could not be written, as on a full disk.
func (c *console) print(document any, text func(io.Writer)) error {
	if !c.json {
		var b bytes.Buffer
		text(&b)
		_, err := c.out.Write(b.Bytes())
		return err
	}
	e := json.NewEncoder(c.out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(document); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

func (c *console) say(document any, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	return c.print(document, func(w io.Writer) {
		io.WriteString(w, text)
	})
}

// note writes a line to stderr, for people, never into a document.
func (c *console) note(format string, args ...any) {
	fmt.Fprintf(textpage.Plain{Writer: c.err}, format+"\n", args...)
}

// usageError is a wrong command line (exit code 2), as opposed to a command that failed (1).
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// environmentFlag adds a flag whose default is an environment variable. Help shows the variable's
// name only.
func environmentFlag(f *pflag.FlagSet, v *string, name, variable, usage string) {
	f.StringVar(v, name, os.Getenv(variable), usage+" (default $"+variable+")")
	f.Lookup(name).DefValue = ""
}

func newRoot(c *console) *cobra.Command {
	root := &cobra.Command{
		Use:           "caucus",
		Short:         "Learn across parties that may not pool their data",
		SilenceErrors: true, SilenceUsage: true,
		Args:              noArguments,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: c.checkOutputs,
	}
	root.PersistentFlags().BoolVar(&c.json, "json", false,
		"write exactly one JSON document to stdout")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if was := wasMoved(cmd, cmd.Flags().Args()); was != nil {
			return was
		}
		return usagef("%s; see %s --help", plainly(err)+asTerm(cmd, err), cmd.CommandPath())
	})
	root.Version = version()
	root.SetVersionTemplate("caucus {{.Version}}\n")
	root.AddCommand(newCoordinator(c), newHelper(c), newAgent(c), newParty(c), newStudy(c),
		newForecast(c),
		newDemo(c), newSimulate(c), newRelease(c), newPool(c), newDataset(c), newLedger(c))
	return root
}

// unread matches the flag library's error for a value that is not a number.
var unread = regexp.MustCompile(`strconv\.\w+: parsing ("(?:[^"\\]|\\.)*"): (value out of range|invalid syntax)`)

func plainly(err error) string {
	if flag, lacks := strings.CutPrefix(err.Error(), "flag needs an argument: "); lacks {
		return flag + " needs a value: " + flag + " VALUE"
	}
	return unread.ReplaceAllStringFunc(err.Error(), func(found string) string {
		m := unread.FindStringSubmatch(found)
		switch {
		case m[2] == "value out of range":
			return m[1] + " is too large"
		case strings.HasPrefix(found, "strconv.ParseBool"):
			return m[1] + " is neither true nor false"
		case strings.HasPrefix(found, "strconv.ParseFloat"):
			return m[1] + " is no number"
		}
		return m[1] + " is no whole number"
	})
}

// noArguments refuses arguments and suggests verbs.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if was := wasMoved(cmd, args); was != nil {
		return was
	}
	cmd.SuggestionsMinimumDistance = 2 // letters; cobra sets its default too late for this call
	if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
		return usagef("%s has no verb %q; did you mean %s? See %s --help", cmd.CommandPath(), args[0], strings.Join(meant, " or "), cmd.CommandPath())
	}
	return usagef("%s takes no argument %q; see %s --help", cmd.CommandPath(), args[0],
		cmd.CommandPath())
}

// group makes a verb that does nothing but group other verbs.
func group(use, short string, verbs ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{
		Use: use, Short: short, Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return usagef("say which: %s; see %s --help", names(verbs), cmd.CommandPath())
		},
	}
	g.AddCommand(verbs...)
	return g
}

func names(verbs []*cobra.Command) string {
	s := ""
	for i, v := range verbs {
		if i > 0 {
			s += ", "
		}
		s += v.Name()
	}
	return s
}
