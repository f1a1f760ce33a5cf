package main

import (
	"cmp"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/ratio/estimated"
)

const simulatedNote = "note: this release was simulated: its noise protected nobody"

// prediction is the JSON document of "caucus release predict" for a classifier.
type prediction struct {
	Release string         `json:"release"`
	Rows    int            `json:"rows"`
	Classes []string       `json:"classes"`
	Counts  map[string]int `json:"counts"`
	// Simulated reports that the release's noise protected nobody.
	Simulated bool `json:"simulated"`
	// Output is the meaning of Values.
	Output classifier.Output `json:"output"`
	Labels []string          `json:"labels"`
	// Values has a row for each record and a column for each class.
	Values [][]float64 `json:"values"`
	// Kept holds the columns of --id and --keep, as text.
	Kept    map[string][]string `json:"kept,omitempty"`
	Correct *float64            `json:"accuracy,omitempty"`
}

type predicting struct {
	*console.Console
	data, schema, out, plot, calibration string
	ids                                  []string
	keep                                 bool
	how                                  input.ReadOptions
}

func newReleasePredict(c *console.Console) *cobra.Command {
	q := &predicting{Console: c}
	cmd := &cobra.Command{
		Use:   "predict FILE",
		Short: "Use a release on a file of records, here and offline",
		Long: `Use a release on the records of a file. The release holds schema and feature map; the
records stay on this machine.

For a classifier: predict the class of every record. The output has one row for each
record: the row number, the columns named by --id or --keep, the class, and one number
for each class. The name of a number says its meaning: probability_, vote_share_ or
score_. The output is CSV, or Parquet if --out ends in .parquet. --calibration takes the
release of an evaluate study of the classifier, and uses its calibration line to turn
the numbers into probabilities.

For a ratio release: estimate the share of each class among the records, with 95 %
intervals or the reason why there are none. Labels in the file are not used for the
estimate, but compared with it afterwards.`,
		Example: `  caucus release predict release.json --data patients.csv --id patient
  caucus release predict release.json --data patients.parquet --keep --out predictions.parquet
  caucus release predict release.json --calibration evaluation.json --data patients.csv
  zcat patients.csv.gz | caucus release predict release.json --data -
  caucus release predict by-clinic.json --data ward.csv --plot ward.svg`,
		Args: console.OneArgument("release predict", "FILE"),
	}
	cmd.RunE = console.EndOnCancel(c, func(cmd *cobra.Command, args []string) error {
		return q.run(cmd, args[0])
	})
	f := cmd.Flags()
	f.StringVar(&q.data, "data", "", "file of records: CSV (also packed), Excel, Parquet; - is standard input")
	q.how.Flags(f)
	f.StringVar(&q.schema, "schema", "", "schema of the file, if it has no header or another delimiter")
	f.StringVar(&q.calibration, "calibration", "", "release of an evaluate study of the classifier, whose calibration line turns the numbers into probabilities")
	console.MarkInputs(f, "calibration", "data", "schema")
	f.StringVar(&q.out, "out", "-", "file for the predictions, CSV or, where it ends in .parquet, Parquet; - is stdout")
	console.MarkOutput(f, "out", console.AcceptsStdout, ".csv", ".parquet")
	f.StringArrayVar(&q.ids, "id", nil, "column of the records to keep beside the predictions; may be repeated")
	f.BoolVar(&q.keep, "keep", false, "keep all columns of the records")
	f.StringVar(&q.plot, "plot", "", "for a ratio release: write a plot of the shares and their intervals to this SVG file")
	console.MarkOutput(f, "plot", ".svg")
	return cmd
}

func (q *predicting) run(cmd *cobra.Command, release string) error {
	if q.data == "" {
		return console.Usagef("release predict needs --data FILE, the records")
	}
	if q.keep && len(q.ids) > 0 {
		return console.Usagef("--keep keeps every column: leave out --id")
	}
	r, p, err := usableRelease(release)
	if err != nil {
		return err
	}
	_, classifies := classifier.Of(r.Result)
	shares, no := estimated.ResultOf(r)
	switch {
	case classifies && q.plot != "":
		return console.Usagef("--plot is for a ratio release, and %s holds a classifier", release)
	case !classifies && no != nil:
		return fmt.Errorf("%s is of kind %s and holds neither a classifier nor class ratios: caucus release show says what it holds", release, p.Kind)
	case !classifies:
		for _, name := range []string{"calibration", "out", "id", "keep"} {
			if cmd.Flags().Changed(name) {
				return console.Usagef("--%s is for a classifier, and %s estimates the shares of classes", name, release)
			}
		}
	}
	format, err := input.FormatOf(q.schema)
	if err != nil {
		return err
	}
	if classifies {
		return q.rows(release, r, p, format)
	}
	table, err := q.how.Table(q.Console, q.data, p.Schema, format)
	if err != nil {
		return err
	}
	records, remarks, err := p.Schema.Encode(table)
	if err != nil {
		return fmt.Errorf("%s: %w", input.Name(q.data), err)
	}
	for _, m := range remarks {
		q.Note("note: %s", m)
	}
	return q.shares(release, r, p, shares, records)
}

// rows predicts the class of every record. It reads the file part by part.
func (q *predicting) rows(release string, r study.Release, p study.Plan,
	format dataset.Format) error {
	var about []string
	var err error
	if q.calibration != "" {
		if r, about, err = recalibrated(r, q.calibration); err != nil {
			return err
		}
	}
	a := answering{predicting: q, schema: p.Schema}
	if a.predict, err = classifier.Predictor(r); err != nil {
		return err
	}
	if a.file, err = q.how.Open(q.data, format); err != nil {
		return err
	}
	defer a.file.Close()
	a.doc = prediction{Release: release, Simulated: p.Simulated, Classes: p.Schema.Classes()}
	if of, ok := classifier.Of(r.Result); ok {
		a.doc.Output = of.Output
	}
	written := q.out != "" && q.out != "-"
	switch onto := !written || console.IsStdout(q.out); {
	case onto && q.JSON:
		err = a.read(nil)
	case onto: // printed lines cannot be taken back, so look for errors first
		if err = a.readable(); err == nil {
			err = a.read(q.Console.Out)
		}
	default:
		err = q.WriteRecords(q.out, a.read)
	}
	if err != nil {
		return cmp.Or(a.unread, err)
	}
	for _, m := range a.notes {
		q.Note("note: %s", m)
	}
	if p.Simulated {
		q.Note(simulatedNote)
	}
	for _, m := range about {
		q.Note("note: %s", m)
	}
	if a.doc.Output != classifier.Probability {
		q.Note("note: the numbers are %s", a.doc.Output.Words())
	}
	if a.known > 0 {
		share := float64(a.right) / float64(a.known)
		a.doc.Correct = &share
		q.Note("%d of %d labelled records are predicted correctly (%.4f)", a.right, a.known, share)
	}
	return q.Print(a.doc, func(io.Writer) {})
}
