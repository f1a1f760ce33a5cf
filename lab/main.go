package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// a second signal ends the process where it is; parts are whole or absent
	context.AfterFunc(ctx, stop)
	code := Main(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errUsage is wrapped by a command line that makes no sense.
var errUsage = errors.New("usage")

// Main runs one command line. It returns 0 when done, 1 when the command failed, 2 when it was used
// wrongly.
func Main(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use: "lab", Short: "Make the papers' tables and figures", Args: cobra.ArbitraryArgs,
		SilenceErrors: true, SilenceUsage: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%w: there is no verb %q: use list, run or samples", errUsage, args[0])
			}
			return cmd.Help()
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return fmt.Errorf("%w: %w", errUsage, err)
	})
	root.AddCommand(newList(stdout), newRun(stderr), newSamples(stdout))
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintf(stderr, "lab: %v\n", err)
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

func newList(stdout io.Writer) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the experiments", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			for _, e := range experiments() {
				fmt.Fprintf(stdout, "%-10s %s\n", e.Name, e.About)
			}
			return nil
		},
	}
}

func newRun(stderr io.Writer) *cobra.Command {
	l, only := &lab{}, ""
	r := &runner{lab: l, now: time.Now, note: func(format string, args ...any) {
		fmt.Fprintf(stderr, format+"\n", args...)
	}}
	cmd := &cobra.Command{
		Use: "run NAME...", Short: "Run experiments, or take up where an earlier run stopped",
		RunE: func(cmd *cobra.Command, names []string) error {
			var list []experiment
			if len(names) == 1 && names[0] == "all" {
				list = experiments()
			} else {
				for _, name := range names {
					e, err := experimentNamed(name)
					if err != nil {
						return fmt.Errorf("%w: %w", errUsage, err)
					}
					list = append(list, e)
				}
			}
			if len(list) == 0 || r.out == "" {
				return fmt.Errorf("%w: name experiments (see lab list), or all, and give --out DIR", errUsage)
			}
			if only != "" {
				var err error
				if r.only, err = regexp.Compile(only); err != nil {
					return fmt.Errorf("%w: --only: %w", errUsage, err)
				}
			}
			r.command = l.command(names)
			return r.run(cmd.Context(), list)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&l.Quick, "quick", false, "a small version that takes at most two minutes: an ordering, no digits")
	f.IntVar(&l.Draws, "draws", 0, "draws of the data (default: the experiment's own number)")
	f.Uint64Var(&l.Seed, "seed", 1, "seed of splits, learners and simulated noise")
	f.StringVar(&l.DataDir, "data-dir", os.Getenv("CAUCUS_DATA"), "folder of the known data sets (default $CAUCUS_DATA)")
	f.StringVar(&r.out, "out", "", "folder to write to")
	f.StringVar(&only, "only", "", "measure only tasks whose key matches this pattern; the page then shows all that was ever measured")
	f.IntVar(&l.Workers, "workers", runtime.GOMAXPROCS(0), "tasks at a time")
	return cmd
}

// command is the command line that repeats a run.
func (l *lab) command(names []string) string {
	c := "go run -C lab . run " + strings.Join(names, " ")
	if l.Quick {
		c += " --quick"
	}
	if l.Draws > 0 {
		c += fmt.Sprintf(" --draws %d", l.Draws)
	}
	return c + fmt.Sprintf(" --seed %d --data-dir \"$CAUCUS_DATA\" --out results", l.Seed)
}
