package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"caucus/analyst/export"
	"caucus/auxdata"
	"caucus/cmd/internal/console"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/reweigh/weighed"
)

// exportedModel is the JSON document of "caucus release export" for a classifier or for numbers.
type exportedModel struct {
	Release string            `json:"release"`
	To      string            `json:"to"`
	File    string            `json:"file"`
	Bytes   int               `json:"bytes"`
	Output  classifier.Output `json:"output,omitempty"`
	Classes []string          `json:"classes,omitempty"`
	Columns []string          `json:"columns"`
	Rows    int               `json:"rows,omitempty"` // of numbers
	// Simulated reports that the release's noise protected nobody.
	Simulated bool     `json:"simulated"`
	Warnings  []string `json:"warnings,omitempty"`
}

type exporting struct {
	*console.Console
	to, out, calibration string
	table                export.Table
	pool                 weighing
}

// poolForm is the export format for a reweigh release: the pool with a column of weights.
const poolForm = "pool"

func newReleaseExport(c *console.Console) *cobra.Command {
	x := &exporting{Console: c}
	cmd := &cobra.Command{
		Use:   "export FILE",
		Short: "Write a release's classifier, numbers or weighted pool for use elsewhere",
		Long: `For a classifier: write schema, encoding, feature map, weights, calibration and
warnings as one file that needs nothing else: an R program without packages, an
SQL query for PostgreSQL or SQLite, ONNX, or JSON. The file gives the same numbers as
caucus release predict. --calibration takes the release of an evaluate study of the
classifier, and uses its calibration line to turn the numbers into probabilities.

For a survival release (curves, numbers at risk, medians and comparisons) or a regress
release (coefficients): write a CSV file with a row for each number, or an R program
that has the same rows and draws them.

For a reweigh release, with --to pool: write its pool with all its columns and one more,
` + auxdata.WeightColumn + `, which holds the weights. Such a file is a pool of its own, with a
digest of its own: study create takes it, and the plan should say under weights where
they come from (printed here), so that its release states what both cost together.`,
		Example: `  caucus release export release.json --to onnx --out readmission.onnx
  caucus release export release.json --calibration evaluation.json --to r --out readmission.R
  caucus release export release.json --to sql --table patients --id patient_id --out readmission.sql
  caucus release export relapse.json --out relapse.csv
  caucus release export stay.json --out stay.R
  caucus release export weights.json --to pool --pool pool.csv --out weighted.csv`,
		Args: console.OneArgument("release export", "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			given := cmd.Flags().Changed
			if x.to == poolForm {
				if given("table") || given("id") || given("calibration") {
					return console.Usagef("--table, --id and --calibration are for a classifier: --to pool takes --pool FILE and --out FILE")
				}
				return x.weighted(args[0])
			}
			if x.pool.pool != "" || x.pool.schema != "" || x.pool.how.AnyFlagSet() {
				return console.Usagef("--pool and the flags for its file format are for --to pool")
			}
			return x.model(args[0], given("table") || given("id"))
		},
	}
	f := cmd.Flags()
	f.StringVar(&x.to, "to", "",
		strings.Join(append(export.FormatNames(), poolForm),
			", ")+" (default as the ending of --out says)")
	f.StringVar(&x.out, "out", "", "file to write; - is stdout")
	console.MarkOutput(f, "out", console.AcceptsStdout)
	f.StringVar(&x.calibration, "calibration", "", "release of an evaluate study of the classifier, whose calibration line turns the numbers into probabilities")
	f.StringVar(&x.table.Name, "table", "records", "sql: table of the records")
	f.StringArrayVar(&x.table.ExtraColumns, "id", nil, "sql: column to keep beside the predictions; may be repeated (default those that the model reads)")
	f.StringVar(&x.pool.pool, "pool", "", "pool: the study's pool")
	f.StringVar(&x.pool.schema, "schema", "", "pool: schema of the pool file, if its format differs from the study's")
	x.pool.how.Flags(f)
	console.MarkInputs(f, "calibration", "pool", "schema")
	return cmd
}

func (e *exporting) model(release string, sql bool) error {
	format, name, err := export.FindFormat(e.to, e.out)
	if err != nil {
		return console.Usagef("%w", err)
	}
	if name != "sql" && sql {
		return console.Usagef("--table and --id are for --to sql")
	}
	if format.Binary && e.out == "" {
		return console.Usagef("%s is a binary format: give a file, --out model%s", name, format.Extension)
	}
	if e.JSON && e.out == "" {
		return console.Usagef("the model and --json both want stdout: name a file, --out model%s", format.Extension)
	}
	if err := console.CheckEnding("out", e.out, format.Extension); err != nil {
		return err
	}
	r, _, err := usableRelease(release)
	if err != nil {
		return err
	}
	if e.calibration != "" {
		// the warnings are printed below
		if r, _, err = recalibrated(r, e.calibration); err != nil {
			return err
		}
	}
	doc := exportedModel{Release: release, To: name, File: e.out, Simulated: r.Simulated,
		Warnings: r.Result.Warnings}
	var b []byte
	if slices.Contains(export.FramedKinds(), r.Kind) {
		b, err = e.numbers(r, format, &doc)
	} else {
		b, err = e.classifier(r, format, &doc)
	}
	if err != nil {
		return err
	}
	doc.Bytes = len(b)
	for _, w := range doc.Warnings {
		e.Note("warning: %s", w)
	}
	if doc.Simulated {
		e.Note(simulatedNote)
	}
	if e.out != "" {
		if err := e.WriteText(e.out, b); err != nil {
			return err
		}
	}
	return e.Print(doc, func(w io.Writer) {
		if e.out == "" {
			w.Write(b)
			return
		}
		if doc.Rows > 0 {
			fmt.Fprintf(w, "%s: %d numbers, a row each\n", e.out, doc.Rows)
			return
		}
		fmt.Fprintf(w, "%s: %d columns in, a class and %d numbers out: %s\n", e.out, len(doc.Columns), len(doc.Classes), doc.Output.Words())
	})
}

func (e *exporting) numbers(r study.Release, f export.Format, doc *exportedModel) ([]byte, error) {
	if f.Frame == nil {
		return nil, console.Usagef("%s is a %s release: give --to csv or --to r", doc.Release,
			r.Kind)
	}
	t, err := export.NewFrame(r)
	if err != nil {
		return nil, err
	}
	doc.Columns, doc.Rows = t.Columns(), len(t.Rows)
	return f.Frame(t)
}

func (e *exporting) classifier(r study.Release, f export.Format,
	doc *exportedModel) ([]byte, error) {
	m, err := export.New(r)
	if err != nil {
		return nil, err
	}
	if f.Write == nil {
		return nil, console.Usagef("--to %s is for releases of kind %s, and %s is of kind %s", doc.To,
			strings.Join(export.FramedKinds(), " or "), doc.Release, r.Kind)
	}
	doc.Output, doc.Classes = m.Output, m.Classes
	for _, column := range m.Columns {
		doc.Columns = append(doc.Columns, column.Name)
	}
	b, err := f.Write(m, e.table)
	if bad := (export.TableError{}); errors.As(err, &bad) {
		return nil, console.Usagef("%w", err)
	}
	return b, err
}

// weighted writes the pool of a reweigh study with the release's weights.
func (e *exporting) weighted(release string) error {
	q := &e.pool
	if q.pool == "" || e.out == "" {
		return console.Usagef("release export --to pool needs --pool FILE and --out FILE")
	}
	if err := console.CheckEnding("out", e.out, ".csv"); err != nil {
		return err
	}
	q.release = release
	if err := q.load(e.Console); err != nil {
		return err
	}
	if err := e.Write(e.out, func(w io.Writer) error {
		return auxdata.WriteWeighted(w, q.table, q.weighed.ReleasedWeights.Weight)
	}); err != nil {
		return err
	}
	source, err := weighed.WeightSourceOf(q.document)
	if err != nil {
		return err
	}
	weighted := q.weighed.Weighted
	doc := madePool{Out: e.out, Rows: q.table.Rows(), From: q.pool, Digest: &weighted.Digest,
		EffectiveRows: weighted.EffectiveRows(), Weights: source}
	return e.Print(doc, func(w io.Writer) {
		fmt.Fprintf(w, "wrote %s to %s\n", console.Counted(doc.Rows, "rows"), e.out)
		printWeights(w, q.document)
		printTotals(w, q.document.Totals)
		fmt.Fprintf(w, "study create takes the file with pool_release: %s, or with\nweights: {plan: %s, unit: %s, epsilon: %g, delta: %g, per_party: %d}\n",
			release, source.Plan, source.Unit, source.Epsilon, source.Delta, source.PerParty)
	})
}
