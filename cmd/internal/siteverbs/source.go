package siteverbs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"caucus/agent/desk"
	"caucus/agent/source"
	"caucus/cmd/internal/console"
)

func (a *Agent) source() *cobra.Command {
	cmd := &cobra.Command{Use: "source", Short: "List the site's data sources, and declare them",
		Args: console.NoArguments,
		RunE: func(*cobra.Command, []string) error { return a.listSources() }}
	cmd.AddCommand(a.sourceDeclare(), a.sourceForget())
	return cmd
}

func (a *Agent) sourceDeclare() *cobra.Command {
	var p person
	var vouch, yes bool
	cmd := &cobra.Command{
		Use:   "declare NAME",
		Short: "Import a source's records, and state how they were made",
		Long: `Read a data source of the configuration once, show a summary, and import its records,
encoded by the site's schema, into the folder of imports. Studies get these records,
even if the file changes later. Studies wait if their source is not declared. The
number of records is rounded down to three digits, so at most 1 % are left out.
Declare a source again to import it anew. The audit log records each declaration.

A quoted cell may hold line breaks. A record that is not a row of the table becomes an
empty record. If the schema has a patient column and the file has none, write
patient: none in the mapping: each record then counts as one patient. With
patient: one-record you also state that no person has two records, and the source
takes part in studies at unit patient. A source with redeclare: daily is not imported
but read for each study, line by line: a quote ends with its line, and the number of
records is rounded down to two digits.

By declaring a source you state that each column of a record was computed from this
record alone. A rank, or a score of a model that was trained on the other records,
breaks this rule: list such columns under derived in the mapping, and answer for them
with --vouch. A query needs --vouch for all its columns. The command asks before it
keeps anything; without a terminal it needs --yes. It refuses a file that is not as
the configuration expects (unreadable, unlabelled, clamped, records). It sends
nothing.`,
		Example: "  caucus agent source declare ward --config agent.yaml\n" +
			"  caucus agent source declare ward --yes --as 'Dr Meier'    # in a script",
		Args: console.OneArgument("agent source declare", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ag, err := a.Open()
			if err != nil {
				return err
			}
			defer ag.Close()
			bar := console.NewProgress(a.Console)
			how := source.DeclareOptions{Vouch: vouch, Progress: func(records int, read, of int64) {
				bar.Bytes(records, read, of)
			}}
			in := cmd.InOrStdin()
			if !yes && !console.IsTerminal(in) {
				return console.Usagef("there is no terminal to ask on: add --yes, " +
					"with which you state in your name (--as) what the command would ask")
			}
			if !yes {
				how.Ask = func(r source.Report) error {
					bar.Stop()
					return a.confirmSource(cmd.Context(), in, r)
				}
			}
			r, err := ag.DeclareSource(cmd.Context(), args[0], desk.Approver{Name: p.as}, how)
			bar.Stop()
			if err != nil {
				for _, m := range r.Remarks {
					a.Note("look at: %s", m)
				}
				return err
			}
			if how.Ask != nil && !a.JSON { // Ask has shown the report already
				a.Note("declared")
				return nil
			}
			return a.Print(r, func(w io.Writer) { r.WriteText(w) })
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask: you state what the command would ask")
	cmd.Flags().StringVar(&p.as, "as", "", "your name (default: your account's)")
	cmd.Flags().BoolVar(&vouch, "vouch", false, "answer for columns that were computed from other records, and for all of a query")
	return cmd
}

func (a *Agent) sourceForget() *cobra.Command {
	var p person
	cmd := &cobra.Command{
		Use:   "forget NAME",
		Short: "Remove a source's declaration and its imported records",
		Long: `Remove a data source's declaration and its imported records. Studies on this source
wait until a person declares it again. The file or database stays as it is. The
audit log records the removal.`,
		Example: "  caucus agent source forget ward --config agent.yaml",
		Args:    console.OneArgument("agent source forget", "NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			ag, err := a.Open()
			if err != nil {
				return err
			}
			defer ag.Close()
			if err := ag.ForgetSource(args[0], desk.Approver{Name: p.as}); err != nil {
				return err
			}
			a.Note("source %s is forgotten: studies on it wait until a person declares it", args[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&p.as, "as", "", "your name (default: your account's)")
	return cmd
}

// confirmSource shows the report on a source and waits until the person says yes, or until ctx
// ends.
func (a *Agent) confirmSource(ctx context.Context, in io.Reader, r source.Report) error {
	if err := r.WriteText(a.WithVerbNames(a.Err)); err != nil {
		return err
	}
	fmt.Fprintf(a.Err, "Studies will get these records. You state: %s. Declare? [y/N] ", r.Declared.ClaimText())
	answer := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(in).ReadString('\n')
		answer <- strings.ToLower(strings.TrimSpace(text))
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case text := <-answer:
		if text != "y" && text != "yes" {
			return errors.New("not declared: an earlier declaration stays in force")
		}
		return nil
	}
}

func (a *Agent) checkSource(ctx context.Context, name string) error {
	ag, err := a.Open()
	if err != nil {
		return err
	}
	defer ag.Close()
	r, err := ag.CheckSource(ctx, name)
	if err != nil {
		return err
	}
	if err := a.Print(r, func(w io.Writer) { r.WriteText(w) }); err != nil {
		return err
	}
	if r.Problem != "" {
		return errors.New(r.Problem)
	}
	if r.Declared == nil {
		return errors.New(r.WaitReason)
	}
	return nil
}

func (a *Agent) listSources() error {
	ag, err := a.Open()
	if err != nil {
		return err
	}
	defer ag.Close()
	all := ag.Sources()
	return a.Print(console.NonNil(all), func(w io.Writer) {
		t := console.NewTable(w, "source", "file", "records", "declared by", "on")
		for _, r := range all {
			records, by, on := "not declared", "", ""
			if d := r.Declared; d != nil {
				records, by, on = fmt.Sprint(d.Records), d.By, d.At.Format("2006-01-02")
			}
			t.Add(r.Source, r.File, records, by, on)
		}
		t.Render()
	})
}
