package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"caucus/agent/desk"
	"caucus/agent/source"
)

func (a *agentCommand) source() *cobra.Command {
	cmd := &cobra.Command{Use: "source", Short: "List the site's data sources, and declare them", Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.listSources() }}
	cmd.AddCommand(a.sourceDeclare())
	return cmd
}

func (a *agentCommand) sourceDeclare() *cobra.Command {
	var p person
	var vouch bool
	cmd := &cobra.Command{
		Use:   "declare NAME",
		Short: "Say how a source is read and how many records it has",
		Long: `Read a data source of the configuration once, show what is odd in it, and declare
it: how its file is written and what of it each column of the schema is (its
mapping), what the columns mean (its schema), which columns the file has, and its
number of records, rounded down to two digits. Studies of a source that is not
declared wait. After that a file of text may change: each study gets exactly the
declared number of records, and whether this site takes part hangs on what was
declared, never on what the file holds. A workbook or a Parquet file is read only
as it was declared. Declare a source again when that should change. The act is in
the audit log.

A schema may have a patient column that the file lacks. Then write patient: none in
the mapping: each record counts for one patient.

Each line of text, or row of a sheet or of Parquet, is one record; a quoted cell of
text may hold line breaks. One that is no row of the table is an empty record.
Whoever declares a source says by that that each column of a record was computed
from that record alone: a rank, or a score of a model that was trained on the
others, is not. Such columns stand under derived in the mapping, and --vouch
answers for them. A file that is not as the configuration expects (unreadable,
unlabelled, records) is refused. Nothing is sent.`,
		Example: "  caucus agent source declare ward --config agent.yaml",
		Args:    one("agent source declare", "NAME"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ag, err := a.open()
			if err != nil {
				return err
			}
			defer ag.Close()
			r, err := ag.DeclareSource(args[0], desk.Approver{Name: p.as}, vouch)
			if err != nil {
				for _, m := range r.Remarks {
					a.note("look at: %s", m)
				}
				return err
			}
			return a.print(r, r.WriteText)
		},
	}
	cmd.Flags().StringVar(&p.as, "as", "", "your name (default: your account's)")
	cmd.Flags().BoolVar(&vouch, "vouch", false, "answer for columns that were computed from other records")
	return cmd
}

func (a *agentCommand) checkSource(name string) error {
	ag, err := a.open()
	if err != nil {
		return err
	}
	defer ag.Close()
	r, err := ag.CheckSource(name)
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
