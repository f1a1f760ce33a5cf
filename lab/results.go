package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat"
)

// results are measurements: rows of named columns, as in the CSV files. A row
// need not have every column; what it lacks is "".
type results struct {
	columns []string
	rows    []map[string]string
}

// add appends a row of column, value pairs: add("set", "adult", "epsilon", 0.1,
// "accuracy", .83). Values are strings, integers, booleans or float64.
func (r *results) add(pairs ...any) {
	row := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		column := pairs[i].(string)
		if !slices.Contains(r.columns, column) {
			r.columns = append(r.columns, column)
		}
		row[column] = cell(pairs[i+1])
	}
	r.rows = append(r.rows, row)
}

// cell writes a value so that equal numbers read equal.
func cell(v any) string {
	if x, ok := v.(float64); ok {
		return strconv.FormatFloat(x, 'g', 8, 64)
	}
	return fmt.Sprint(v)
}

// join appends the rows of another.
func (r *results) join(o *results) {
	for _, c := range o.columns {
		if !slices.Contains(r.columns, c) {
			r.columns = append(r.columns, c)
		}
	}
	r.rows = append(r.rows, o.rows...)
}

// where is the rows with these values: where("set", "adult", "epsilon", 0.1).
func (r *results) where(pairs ...any) *results {
	out := &results{columns: r.columns}
	for _, row := range r.rows {
		match := true
		for i := 0; i+1 < len(pairs); i += 2 {
			match = match && row[pairs[i].(string)] == cell(pairs[i+1])
		}
		if match {
			out.rows = append(out.rows, row)
		}
	}
	return out
}

// distinct lists a column's values in order of first appearance, "" left out.
func (r *results) distinct(column string) []string {
	var out []string
	seen := map[string]bool{"": true}
	for _, row := range r.rows {
		if v := row[column]; !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// numbers lists a column's different numbers, ascending.
func (r *results) numbers(column string) []float64 {
	out := slices.Clone(r.floats(column))
	slices.Sort(out)
	return slices.Compact(out)
}

// floats is a column as numbers; rows where it holds none are left out.
func (r *results) floats(column string) []float64 {
	var out []float64
	for _, row := range r.rows {
		if x, err := strconv.ParseFloat(row[column], 64); err == nil {
			out = append(out, x)
		}
	}
	return out
}

// moments is a mean over draws, with its standard deviation (0 for one draw) and how many there
// are.
type moments struct {
	Mean, SD float64
	N        int
}

// String is "0.8312 ± 0.0040", or "" without any.
func (m moments) String() string {
	switch m.N {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%.4f", m.Mean)
	}
	return fmt.Sprintf("%.4f ± %.4f", m.Mean, m.SD)
}

func (r *results) over(column string) moments {
	v := r.floats(column)
	if len(v) == 0 {
		return moments{}
	}
	m := moments{N: len(v)}
	if m.Mean, m.SD = stat.MeanStdDev(v, nil); len(v) == 1 {
		m.SD = 0
	}
	return m
}

func (r *results) writeCSV(w io.Writer) error {
	c := csv.NewWriter(w)
	if err := c.Write(r.columns); err != nil {
		return fmt.Errorf("write results: %w", err)
	}
	for _, row := range r.rows {
		line := make([]string, len(r.columns))
		for i, column := range r.columns {
			line[i] = row[column]
		}
		if err := c.Write(line); err != nil {
			return fmt.Errorf("write results: %w", err)
		}
	}
	c.Flush()
	return c.Error()
}

func readResults(from io.Reader) (*results, error) {
	lines, err := csv.NewReader(from).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read results: %w", err)
	}
	if len(lines) == 0 {
		return &results{}, nil
	}
	r := &results{columns: lines[0]}
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, v := range line {
			row[r.columns[i]] = v
		}
		r.rows = append(r.rows, row)
	}
	return r, nil
}
