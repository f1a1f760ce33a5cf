package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"

	"caucus/dataset"
)

// predictions are a table that can be written as CSV and Parquet.
type predictions struct {
	names []string
	kept  [][]string // the records' columns
	of    prediction
}

// table joins the kept columns of the records with the predictions.
func (p prediction) table(records *dataset.Table, keep []string) (predictions, error) {
	t := predictions{names: []string{"row"}, of: p}
	for _, name := range keep {
		column := make([]string, records.Rows())
		for i := range column {
			column[i], _ = records.Cell(i, name)
		}
		t.names, t.kept = append(t.names, name), append(t.kept, column)
	}
	t.names = append(t.names, "predicted")
	for _, class := range p.Classes {
		t.names = append(t.names, string(p.Output)+"_"+class)
	}
	for i, name := range t.names {
		if slices.Contains(t.names[:i], name) {
			return t, fmt.Errorf("the answer would have two columns %q: rename the file's column, or keep other columns with --id", name)
		}
	}
	return t, nil
}

// columns returns the kept columns by name; nil if there are none.
func (t predictions) columns() map[string][]string {
	var all map[string][]string
	for i, column := range t.kept {
		if all == nil {
			all = map[string][]string{}
		}
		all[t.names[i+1]] = column
	}
	return all
}

// file writes Parquet if the name ends in .parquet, else CSV.
func (t predictions) file(c *console, name string) error {
	if strings.EqualFold(filepath.Ext(name), ".parquet") {
		return c.write(name, t.parquet)
	}
	return c.write(name, t.csv)
}

func (t predictions) csv(w io.Writer) error {
	out := csv.NewWriter(w)
	out.Write(t.names) // Flush reports errors
	for i, label := range t.of.Labels {
		row := []string{strconv.Itoa(i + 1)}
		for _, column := range t.kept {
			row = append(row, column[i])
		}
		row = append(row, label)
		for _, v := range t.of.Values[i] {
			row = append(row, strconv.FormatFloat(v, 'g', -1, 64))
		}
		out.Write(row)
	}
	out.Flush()
	return out.Error()
}

// inOrder is a group of Parquet columns in the given order; a plain group sorts them by name.
type inOrder struct {
	parquet.Group
	names []string
}

func (g inOrder) Fields() []parquet.Field {
	all := g.Group.Fields()
	slices.SortFunc(all, func(a, b parquet.Field) int { return slices.Index(g.names, a.Name()) - slices.Index(g.names, b.Name()) })
	return all
}

func (t predictions) parquet(w io.Writer) error {
	group := inOrder{parquet.Group{}, t.names}
	for i, name := range t.names {
		switch {
		case i == 0:
			group.Group[name] = parquet.Int(64)
		case i <= len(t.kept)+1:
			group.Group[name] = parquet.String()
		default:
			group.Group[name] = parquet.Leaf(parquet.DoubleType)
		}
	}
	out := parquet.NewWriter(w, parquet.NewSchema("predictions", group))
	for i, label := range t.of.Labels {
		row := parquet.Row{parquet.Int64Value(int64(i + 1))}
		for _, column := range t.kept {
			row = append(row, parquet.ByteArrayValue([]byte(column[i])))
		}
		row = append(row, parquet.ByteArrayValue([]byte(label)))
		for _, v := range t.of.Values[i] {
			row = append(row, parquet.DoubleValue(v))
		}
		for j := range row {
			row[j] = row[j].Level(0, 0, j)
		}
		if _, err := out.WriteRows([]parquet.Row{row}); err != nil {
			return fmt.Errorf("write Parquet: %w", err)
		}
	}
	if err := out.Close(); err != nil {
		return fmt.Errorf("write Parquet: %w", err)
	}
	return nil
}
