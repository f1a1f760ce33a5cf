package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"caucus/study/classifier"
	"caucus/study/kinds"
)

// prediction is the JSON document of predict.
type prediction struct {
	Release string         `json:"release"`
	Rows    int            `json:"rows"`
	Classes []string       `json:"classes"`
	Counts  map[string]int `json:"counts"`
	Labels  []string       `json:"labels"`
	// Values are of the predicted classes; Output says what they are.
	Output  classifier.Output `json:"output"`
	Values  []float64         `json:"values"`
	Correct *float64          `json:"accuracy,omitempty"`
}

func newPredict(c *console) *cobra.Command {
	var release, data, schema, out string
	var how reading
	cmd := &cobra.Command{
		Use:     "predict",
		Short:   "Use a release on a file of records, here and offline",
		Long:    "Predict the class of every record of a file. The release carries schema\nand feature map; the records stay on this machine.",
		Example: "  caucus predict --release release.json --data patients.csv",
		Args:    noArguments,
		RunE: func(*cobra.Command, []string) error {
			if release == "" || data == "" {
				return usagef("predict needs --release FILE and --data FILE")
			}
			r, err := readRelease(release)
			if err != nil {
				return err
			}
			p, err := kinds.Usable(r)
			if err != nil {
				return err
			}
			if p.Simulated {
				c.note("note: this release was simulated: its noise protected nobody")
			}
			format, err := formatOf(schema)
			if err != nil {
				return err
			}
			table, err := how.table(c, data, p.Schema, format)
			if err != nil {
				return err
			}
			records, remarks, err := p.Schema.Encode(table)
			if err != nil {
				return fmt.Errorf("%s: %w", data, err)
			}
			for _, m := range remarks {
				c.note("note: %s", m)
			}
			labels, values, err := classifier.Predict(r, records)
			if err != nil {
				return err
			}
			doc := prediction{Release: release, Rows: len(labels), Classes: p.Schema.Classes(), Counts: map[string]int{}}
			if of, ok := classifier.Of(r.Result); ok {
				doc.Output = of.Output
			}
			if doc.Output != classifier.Probability {
				c.note("note: the numbers are %s", doc.Output.Words())
			}
			right, known := classifier.Right(labels, records.Y)
			for i, k := range labels {
				doc.Labels = append(doc.Labels, doc.Classes[k])
				doc.Values = append(doc.Values, values.At(i, k))
				doc.Counts[doc.Classes[k]]++
			}
			if known > 0 {
				a := float64(right) / float64(known)
				doc.Correct = &a
			}
			if out != "" {
				if err := writePredictionFile(out, doc); err != nil {
					return err
				}
			}
			if doc.Correct != nil {
				c.note("%d of %d labelled records are predicted correctly (%.4f)", right, known, *doc.Correct)
			}
			return c.print(doc, func(w io.Writer) error {
				if out != "" {
					return nil
				}
				return writePredictions(w, doc)
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&release, "release", "", "release document of a classify study")
	f.StringVar(&data, "data", "", "file of records: CSV (also packed), Excel, Parquet")
	how.flags(f)
	f.StringVar(&schema, "schema", "", "schema of that file, where it has no header or another delimiter")
	f.StringVar(&out, "out", "", "write the predictions to this CSV file instead of stdout")
	return cmd
}

func writePredictionFile(name string, p prediction) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(writePredictions(file, p), file.Close())
}

func writePredictions(w io.Writer, p prediction) error {
	out := csv.NewWriter(w)
	out.Write([]string{"row", "predicted", string(p.Output)})
	for i, l := range p.Labels {
		out.Write([]string{fmt.Sprint(i + 1), l, fmt.Sprintf("%.4f", p.Values[i])})
	}
	out.Flush()
	return out.Error()
}
