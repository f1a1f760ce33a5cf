package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"caucus/study/classifier"
)

// simulatedNote warns whoever uses a simulated release.
const simulatedNote = "note: this release was simulated: its noise protected nobody"

// prediction is the JSON document of predict.
type prediction struct {
	Release string         `json:"release"`
	Rows    int            `json:"rows"`
	Classes []string       `json:"classes"`
	Counts  map[string]int `json:"counts"`
	// Simulated: the release's noise protected nobody.
	Simulated bool `json:"simulated"`
	// Output says what Values are: see classifier.Output.
	Output classifier.Output `json:"output"`
	Labels []string          `json:"labels"`
	// Values has a row for each record, with a number for each class.
	Values [][]float64 `json:"values"`
	// Kept are the columns of the records that --id and --keep name, as texts.
	Kept    map[string][]string `json:"kept,omitempty"`
	Correct *float64            `json:"accuracy,omitempty"`
}

func newPredict(c *console) *cobra.Command {
	var release, data, schema, out, calibration string
	var ids []string
	var keep bool
	var how reading
	cmd := &cobra.Command{
		Use:   "predict",
		Short: "Use a release on a file of records, here and offline",
		Long: `Predict the class of every record of a file. The release carries schema
and feature map; the records stay on this machine.

The answer has a row for each record: its number, what is kept of it (--id,
--keep), the class, and one number for each class, named by what it is:
probability_, vote_share_ or score_. It is CSV, or Parquet where --out ends in
.parquet.`,
		Example: `  caucus predict --release release.json --data patients.csv --id patient
  caucus predict --release release.json --data patients.parquet --keep --out predictions.parquet
  caucus predict --release release.json --calibration evaluation.json --data patients.csv
  zcat patients.csv.gz | caucus predict --release release.json --data -`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			if release == "" || data == "" {
				return usagef("predict needs --release FILE and --data FILE")
			}
			if keep && len(ids) > 0 {
				return usagef("--keep keeps every column: leave out --id")
			}
			r, p, err := usableRelease(release)
			if err != nil {
				return err
			}
			if _, ok := classifier.Of(r.Result); !ok {
				return fmt.Errorf("%s is of kind %s and holds no classifier: caucus release show says what it holds", release, p.Kind)
			}
			format, err := formatOf(schema)
			if err != nil {
				return err
			}
			how.keep = ids
			table, err := how.table(c, data, p.Schema, format)
			if err != nil {
				return err
			}
			if p.Simulated {
				c.note(simulatedNote)
			}
			if calibration != "" {
				var about []string
				if r, about, err = recalibrated(r, calibration); err != nil {
					return err
				}
				for _, a := range about {
					c.note("note: %s", a)
				}
			}
			records, remarks, err := p.Schema.Encode(table)
			if err != nil {
				return fmt.Errorf("%s: %w", inputName(data), err)
			}
			for _, m := range remarks {
				c.note("note: %s", m)
			}
			labels, values, err := classifier.Predict(r, records)
			if err != nil {
				return err
			}
			doc := prediction{Release: release, Rows: len(labels), Simulated: p.Simulated, Classes: p.Schema.Classes(), Counts: map[string]int{}, Labels: []string{}, Values: [][]float64{}}
			if of, ok := classifier.Of(r.Result); ok {
				doc.Output = of.Output
			}
			if doc.Output != classifier.Probability {
				c.note("note: the numbers are %s", doc.Output.Words())
			}
			right, known := classifier.Right(labels, records.Y)
			for i, k := range labels {
				doc.Labels = append(doc.Labels, doc.Classes[k])
				doc.Values = append(doc.Values, values.RawRowView(i))
				doc.Counts[doc.Classes[k]]++
			}
			if known > 0 {
				a := float64(right) / float64(known)
				doc.Correct = &a
			}
			if keep {
				ids = table.Columns()
			}
			answer, err := doc.table(table, ids)
			if err != nil {
				return usageError{err}
			}
			doc.Kept = answer.columns()
			if out != "" && out != "-" {
				if err := answer.file(c, out); err != nil {
					return err
				}
			}
			if doc.Correct != nil {
				c.note("%d of %d labelled records are predicted correctly (%.4f)", right, known, *doc.Correct)
			}
			return c.print(doc, func(w io.Writer) error {
				if out != "" && out != "-" {
					return nil
				}
				return answer.csv(w)
			})
		},
	}
	cmd.RunE = endsAtOnce(c, cmd.RunE)
	f := cmd.Flags()
	f.StringVar(&release, "release", "", "release document of a classify study")
	f.StringVar(&calibration, "calibration", "", "release of an evaluate study of that release: its calibration line makes probabilities of the numbers")
	f.StringVar(&data, "data", "", "file of records: CSV (also packed), Excel, Parquet; - is standard input")
	how.flags(f)
	f.StringVar(&schema, "schema", "", "schema of that file, where it has no header or another delimiter")
	reads(f, "release", "calibration", "data", "schema")
	f.StringVar(&out, "out", "-", "file for the predictions, CSV or, where it ends in .parquet, Parquet; - is stdout")
	writes(f, "out", asStdout, ".csv", ".parquet")
	f.StringArrayVar(&ids, "id", nil, "column of the records to keep beside the predictions; may be repeated")
	f.BoolVar(&keep, "keep", false, "keep all columns of the records")
	return cmd
}
