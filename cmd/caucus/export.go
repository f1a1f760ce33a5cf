package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"caucus/study/classifier"
	"caucus/study/export"
)

// exportedModel is the JSON document of export.
type exportedModel struct {
	Release string            `json:"release"`
	To      string            `json:"to"`
	File    string            `json:"file"`
	Bytes   int               `json:"bytes"`
	Output  classifier.Output `json:"output"`
	Classes []string          `json:"classes"`
	Columns []string          `json:"columns"`
	// Simulated: the release's noise protected nobody.
	Simulated bool `json:"simulated"`
	// Warnings are the release's.
	Warnings []string `json:"warnings,omitempty"`
}

func newExport(c *console) *cobra.Command {
	var to, out, calibration string
	var table export.Table
	cmd := &cobra.Command{
		Use:   "export RELEASE",
		Short: "Write a release's classifier as one file for where it is used",
		Long: `Write schema, encoding, feature map, weights, calibration and warnings of a
release as one file that needs nothing else: a program of Python or R without
a package, an SQL query for PostgreSQL or SQLite, ONNX, or JSON. It
gives the numbers of caucus predict. With --calibration, the release of an
evaluate study of that release, its calibration line is put into the weights,
and the numbers are probabilities.`,
		Example: `  caucus export release.json --to onnx --out readmission.onnx
  caucus export release.json --calibration evaluation.json --to r --out readmission.R
  caucus export release.json --to sql --table patients --id patient_id --out readmission.sql`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("export takes one release: caucus export release.json --to python --out model.py")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			format, name, err := export.Named(to, out)
			if err != nil {
				return usageError{err}
			}
			if name != "sql" && (cmd.Flags().Changed("table") || cmd.Flags().Changed("id")) {
				return usagef("--table and --id are for --to sql")
			}
			if format.Binary && out == "" {
				return usagef("%s is no text: give a file, --out model%s", name, format.Ending)
			}
			if c.json && out == "" {
				return usagef("the model and --json both want stdout: name a file, --out model%s", format.Ending)
			}
			if err := checkEnding("out", out, format.Ending); err != nil {
				return err
			}
			r, _, err := usableRelease(args[0])
			if err != nil {
				return err
			}
			if calibration != "" {
				if r, _, err = recalibrated(r, calibration); err != nil { // warnings say it below
					return err
				}
			}
			m, err := export.New(r)
			if err != nil {
				return err
			}
			b, err := format.Write(m, table)
			if bad := (export.BadTable{}); errors.As(err, &bad) {
				return usageError{err}
			}
			if err != nil {
				return err
			}
			doc := exportedModel{Release: args[0], To: name, File: out, Bytes: len(b), Output: m.Output, Classes: m.Classes, Simulated: m.About.Simulated, Warnings: m.Warnings}
			for _, column := range m.Columns {
				doc.Columns = append(doc.Columns, column.Name)
			}
			for _, w := range m.Warnings {
				c.note("warning: %s", w)
			}
			if m.About.Simulated {
				c.note(simulatedNote)
			}
			if out != "" {
				if err := c.writeText(out, b); err != nil {
					return err
				}
			}
			return c.print(doc, func(w io.Writer) error {
				if out == "" {
					_, err := w.Write(b)
					return err
				}
				_, err := fmt.Fprintf(w, "%s: %d columns in, a class and %d numbers out: %s\n", out, len(m.Columns), len(m.Classes), m.Output.Words())
				return err
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&to, "to", "", strings.Join(export.Names(), ", ")+" (default as the ending of --out says)")
	f.StringVar(&out, "out", "", "file to write; - is stdout")
	writes(f, "out", asStdout)
	f.StringVar(&calibration, "calibration", "", "release of an evaluate study of that release: its calibration line makes probabilities of the numbers")
	reads(f, "calibration")
	f.StringVar(&table.Name, "table", "records", "sql: table of the records")
	f.StringArrayVar(&table.Keep, "id", nil, "sql: column to keep beside the predictions; may be repeated (default those that the model reads)")
	return cmd
}
