package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/spf13/cobra"

	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/dataset"
	"caucus/dataset/mapping"
	"caucus/dataset/public"
)

func newDataset(c *console.Console) *cobra.Command {
	return console.Group("dataset", "Work with schemas of data", newDatasetSchema(c))
}

func newDatasetSchema(c *console.Console) *cobra.Command {
	var label string
	var how input.ReadOptions
	cmd := &cobra.Command{
		Use:   "schema [FILE]",
		Short: "Draft a schema from a public file, or list the data sets whose schema is known",
		Long: `Draft a YAML schema: kinds, bounds and levels of a file's columns. The command lists
the columns that it leaves out, and why: identifiers, dates, numbers with a decimal
comma, free text. A column named like a patient number is proposed as patient.

Give it PUBLIC data only. Bounds taken from private data would leak them; write
down what is publicly known about each column instead.

Without FILE it lists the data sets whose schema is known, for --dataset.`,
		Example: "  caucus dataset schema public.csv --label readmitted > schema.yaml",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return console.Usagef("dataset schema takes one FILE; see caucus dataset schema --help")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listKnown(c)
			}
			if label == "" {
				return console.Usagef("say which column is the label: --label COLUMN")
			}
			table, err := how.Table(c, args[0], dataset.Schema{}, dataset.Format{})
			if err != nil {
				return err
			}
			schema, left, err := public.DraftSchema(table, label)
			if err != nil {
				return err
			}
			text, err := schema.YAML()
			if err != nil {
				return err
			}
			for _, l := range left {
				c.Note("left out: %s: %s", l.Column, l.Reason)
			}
			for _, f := range schema.Features {
				if doubt := draftDoubt(f, table.Distinct(f.Column)); doubt != "" {
					c.Note("look at: %s: %s", f.Column, doubt)
				}
			}
			c.Note("a draft: check every bound and level against what is publicly known, not against private data")
			doc := struct {
				dataset.Schema
				LeftOut []public.OmittedColumn `json:"left_out"`
			}{schema, append([]public.OmittedColumn{}, left...)}
			return c.Print(doc, func(w io.Writer) { w.Write(text) })
		},
	}
	how.Flags(cmd.Flags())
	cmd.Flags().StringVar(&label, "label", "", "the label's column")
	return cmd
}

// manyLevels is how many levels few columns of codes have, and columns of names do.
const manyLevels = 30

// draftDoubt says what else the numbers of a drafted feature may mean, with their counts: a code of
// missing values, or codes of levels. Empty: nothing.
func draftDoubt(f dataset.Feature, texts map[string]int) string {
	if n := len(f.Levels); n > manyLevels {
		return fmt.Sprintf("it has %d levels, such as %s, which everybody will see: leave it out if "+
			"they are names", n, f.Levels[0])
	}
	if f.Kind != dataset.Numeric {
		return ""
	}
	if says := mapping.LikelyMissingMarks(texts, ""); says != "" {
		return says + ", and draft anew"
	}
	var values []float64
	for text := range texts {
		if v, ok := dataset.ParseNumber(text); ok {
			if v < 0 || v > 9 || v != math.Trunc(v) {
				return ""
			}
			values = append(values, v)
		}
	}
	slices.Sort(values)
	if values = slices.Compact(values); len(values) > 6 {
		return ""
	}
	return fmt.Sprintf("it has only the numbers %v: if they are codes, such as of a sex, "+
		"make it categorical, with these as levels", values)
}

func listKnown(c *console.Console) error {
	type row struct {
		Name    string   `json:"name"`
		About   string   `json:"about"`
		Source  string   `json:"source"`
		Classes []string `json:"classes"`
	}
	var rows []row
	for _, n := range public.KnownDatasetNames() {
		k, err := public.LoadKnownDataset(n)
		if err != nil {
			return err
		}
		rows = append(rows, row{n, k.About, k.Source, k.Schema.Classes()})
	}
	return c.Print(rows, func(w io.Writer) {
		t := console.NewTable(w, "name", "about")
		for _, r := range rows {
			t.Add(r.Name, r.About)
		}
		t.Render()
	})
}
