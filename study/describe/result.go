package describe

import (
	"fmt"
	"math"
	"strconv"

	"caucus/aggregation"
	"caucus/dataset"
	"caucus/study"
)

// Counts are the result of a describe study.
type Counts struct {
	// Records is the public number of private records.
	Records int64 `json:"records"`
	// NoiseSD is the standard deviation of the noise on each of Column.Noisy, ShareSD
	// the same as a share of the records, 0 without any.
	NoiseSD float64 `json:"noise_sd"`
	ShareSD float64 `json:"share_sd"`
	// Columns are the features in the order of the schema, then the label.
	Columns []Column `json:"columns"`
}

// Column is what is said of one column. It has one cell a level or class, and one for
// what is none; or one a bin, and where the schema says missing: true, one for what is
// missing.
type Column struct {
	Column string `json:"column"`
	// Levels name the cells of a text or the label; none for a number.
	Levels []string `json:"levels,omitempty"`
	// Edges of a number's bins, one more than there are, in its own unit. A number on
	// an edge is in the bin above, one beyond the ends in the bin there.
	Edges []float64 `json:"edges,omitempty"`
	// Noisy are the counts as released. They may be negative; estimates start here.
	Noisy []int64 `json:"noisy"`
	// Counts are the nearest to them that records can have, none below 0 and Records
	// together: for display, because they are biased near 0. Shares are theirs.
	Counts []float64 `json:"counts"`
	Shares []float64 `json:"shares"`
}

func countsOf(columns []column, noisy []int64, records int64, sd float64) Counts {
	out := Counts{Records: records, NoiseSD: sd}
	if records > 0 {
		out.ShareSD = sd / float64(records)
	}
	for _, c := range columns {
		raw := noisy[c.cell : c.cell+c.cells()]
		counts, shares := make([]float64, len(raw)), make([]float64, len(raw))
		if records > 0 {
			for k, v := range raw {
				counts[k] = float64(v)
			}
			counts = aggregation.ProjectSimplex(counts, float64(records))
			for k, v := range counts {
				shares[k] = v / float64(records)
			}
		}
		out.Columns = append(out.Columns, Column{Column: c.name, Levels: c.levels, Edges: c.edges, Noisy: raw, Counts: counts, Shares: shares})
	}
	return out
}

// Exact counts records without noise: the truth that a simulation compares with.
// The plan was checked.
func Exact(p study.Plan, r *dataset.Records) Counts {
	columns := columnsOf(p.Schema, termsOf(p).Bins)
	return countsOf(columns, count(columns, r), int64(r.Len()), 0)
}

// Cells name the column's cells.
func (c Column) Cells() []string {
	if c.Edges == nil {
		return c.Levels
	}
	var names []string
	for k := 1; k < len(c.Edges); k++ {
		names = append(names, number(c.Edges[k-1])+" to "+number(c.Edges[k]))
	}
	switch bins := len(names); {
	case len(c.Noisy) > bins:
		names = append(names, missing)
	case bins > 0: // what is missing is encoded as the middle
		names[binOf(0.5, bins)] += ", or " + missing
	}
	return names
}

// number writes an edge so that it can be read, large ones without an exponent.
func number(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// CountsOf is what the release of a describe study says.
func CountsOf(r study.Release) (out Counts, err error) {
	if err := r.Result.DecodeBody(&out); err != nil {
		return out, err
	}
	for _, c := range out.Columns {
		if n := len(c.Noisy); len(c.Cells()) != n || len(c.Counts) != n || len(c.Shares) != n {
			return Counts{}, fmt.Errorf("read counts: column %q has %d cells with %d names, %d counts and %d shares", c.Column, n, len(c.Cells()), len(c.Counts), len(c.Shares))
		}
	}
	return out, nil
}

// Report: see study.Reporter.
func (Kind) Report(r study.Release) (study.Report, error) {
	c, err := CountsOf(r)
	if err != nil {
		return study.Report{}, err
	}
	t := study.ReportTable{
		Title: fmt.Sprintf("records by column, of %d; ± %.3g records, ± %.2g as a share (the standard deviation of the noise)", c.Records, c.NoiseSD, c.ShareSD),
		Head:  []string{"column", "cell", "records", "share", "released"},
	}
	for _, col := range c.Columns {
		name := col.Column
		for k, cell := range col.Cells() {
			t.Rows = append(t.Rows, []string{name, cell, fmt.Sprintf("%.0f", col.Counts[k]), fmt.Sprintf("%.4f", col.Shares[k]), strconv.FormatInt(col.Noisy[k], 10)})
			name = ""
		}
	}
	return study.Report{
		Lines:  []study.ReportLine{{Name: "records", Text: fmt.Sprintf("%d, as the sites declared", c.Records)}},
		Tables: []study.ReportTable{t},
	}, nil
}
