package main

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
)

func (a *agentCommand) source() *cobra.Command {
	cmd := &cobra.Command{Use: "source", Short: "List the site's data sources, and declare them", Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.listSources() }}
	cmd.AddCommand(a.sourceDeclare(), a.sourceForget())
	return cmd
}

func (a *agentCommand) sourceDeclare() *cobra.Command {
	var p person
	var vouch, yes bool
	cmd := &cobra.Command{
		Use:   "declare NAME",
		Short: "Import a source's records, and say what they are",
		Long: `Read a data source of the configuration once, show what came of it, and import it:
its records, as its schema means them, are kept in the folder of imports. Studies
get these records and nothing else, whatever becomes of the file; studies of a
source that is not declared wait. The number of records is rounded down to three
digits: at most 1 % are left out. Declare a source again to import it anew. The act
is in the audit log.

A quoted cell may hold line breaks. What is no row of the table is an empty record.
Where the schema has a patient column that the file lacks, write patient: none in
the mapping: each record counts for one patient. A source with redeclare: daily is
read anew for each study instead, line by line: a quote ends with its line, and the
number of records has two digits.

Whoever declares a source states that each column of a record was computed from
that record alone: a rank, or a score of a model that was trained on the others,
is not. Such columns stand under derived in the mapping, and --vouch answers for
them, as it does for all columns of a query. On a terminal it asks before anything
is kept. A file that is not as the configuration expects (unreadable, unlabelled,
records) is refused. Nothing is sent.`,
		Example: "  caucus agent source declare ward --config agent.yaml",
		Args:    one("agent source declare", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ag, err := a.open()
			if err != nil {
				return err
			}
			defer ag.Close()
			bar := newProgress(a.console)
			how := source.How{Vouch: vouch, Progress: func(records int, read, of int64) { bar.bytes(records, read, of) }}
			if in := cmd.InOrStdin(); !yes && isTerminal(in) {
				how.Ask = func(r source.Report) error {
					bar.stop()
					return a.confirmSource(cmd.Context(), in, r)
				}
			}
			r, err := ag.DeclareSource(cmd.Context(), args[0], desk.Approver{Name: p.as}, how)
			bar.stop()
			if err != nil {
				for _, m := range r.Remarks {
					a.note("look at: %s", m)
				}
				return err
			}
			if how.Ask != nil && !a.json { // it was shown before
				a.note("declared")
				return nil
			}
			return a.print(r, r.WriteText)
		},
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask on a terminal")
	cmd.Flags().StringVar(&p.as, "as", "", "your name (default: your account's)")
	cmd.Flags().BoolVar(&vouch, "vouch", false, "answer for columns that were computed from other records")
	return cmd
}

func (a *agentCommand) sourceForget() *cobra.Command {
	var p person
	cmd := &cobra.Command{
		Use:   "forget NAME",
		Short: "Remove a source's declaration and its imported records",
		Long: `Remove what was declared of a data source, and the records that were imported.
Studies of it wait until a person declares it again. File or database stay as they
are. The act is in the audit log.`,
		Example: "  caucus agent source forget ward --config agent.yaml",
		Args:    one("agent source forget", "NAME"),
		RunE: func(_ *cobra.Command, args []string) error {
			ag, err := a.open()
			if err != nil {
				return err
			}
			defer ag.Close()
			if err := ag.ForgetSource(args[0], desk.Approver{Name: p.as}); err != nil {
				return err
			}
			a.note("source %s is forgotten: studies of it wait until a person declares it", args[0])
			return nil
		},
	}
	cmd.Flags().StringVar(&p.as, "as", "", "your name (default: your account's)")
	return cmd
}

// confirmSource shows what came of a source and waits for a yes, or for the end of ctx.
func (a *agentCommand) confirmSource(ctx context.Context, in io.Reader, r source.Report) error {
	if err := r.WriteText(a.err); err != nil {
		return err
	}
	fmt.Fprintf(a.err, "Studies will get these records. You state: %s. Declare? [y/N] ", r.Declared.Claims())
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
			return errors.New("not declared: what was declared before stands")
		}
		return nil
	}
}

func (a *agentCommand) checkSource(ctx context.Context, name string) error {
	ag, err := a.open()
	if err != nil {
		return err
	}
	defer ag.Close()
	r, err := ag.CheckSource(ctx, name)
	if err != nil {
		return err
	}
	if err := a.print(r, r.WriteText); err != nil {
		return err
	}
	if r.Problem != "" {
		return errors.New(r.Problem)
	}
	if r.Declared == nil {
		return errors.New(r.Waits)
	}
	return nil
}

// listSources lists the sources and their declarations.
func (a *agentCommand) listSources() error {
	ag, err := a.open()
	if err != nil {
		return err
	}
	defer ag.Close()
	all := ag.Sources()
	if all == nil {
		all = []source.Report{}
	}
	return a.print(all, func(w io.Writer) error {
		t := newTable(w, "source", "file", "records", "declared by", "on")
		for _, r := range all {
			records, by, on := "not declared", "", ""
			if d := r.Declared; d != nil {
				records, by, on = fmt.Sprint(d.Records), d.By, d.At.Format("2006-01-02")
			}
			t.add(r.Source, r.File, records, by, on)
		}
		return t.render()
	})
}
