package dataset

import "fmt"

// Remark counts the changed cells of a column, or the changed rows of a file. It is computed from
// private records without protection: show it to the data's owner, and never send, log or publish
// it.
type Remark struct {
	Column  string // empty if the remark is about rows
	Problem Problem
	Count   int // cells or rows; 0 if the remark is about a whole column
	First   int `json:",omitempty"` // line or row number, from 1, of the first; 0 if not known
}

// Problem names a kind of odd cell, row or column, and its treatment.
type Problem string

// What encoding does to an odd cell. None of it is an error, because an error would tell about a
// record.
const (
	ProblemClamped      Problem = "outside its bounds, clamped"
	ProblemMissing      Problem = "missing"
	ProblemNotANumber   Problem = "not a number, taken for missing"
	ProblemUnknownLevel Problem = "not a known level, counted as other"
	ProblemUnknownLabel Problem = "without a known label"
	ProblemNotText      Problem = "no UTF-8 text, taken for missing"
)

// What a reader of files repairs (the first four), and why it takes a row for an empty record.
const (
	ProblemShortRow Problem = "rows with fewer cells than the header has names: the last cells are " +
		"missing"
	ProblemEmptyCells Problem = "rows with empty cells after the last named column, which are dropped"
	ProblemNoteBeside Problem = "rows with texts right of the table, which are dropped"
	ProblemLoneReturn Problem = "lines that end with a carriage return alone"
	ProblemLongRow    Problem = "rows with more cells than the header has names, read as empty records: " +
		"is a delimiter in a text without quotes, or does a column lack its name (write header " +
		"and first_row)?"
	ProblemOtherDelimiter Problem = "rows with another delimiter, read as empty records"
	ProblemOpenQuote      Problem = "rows with a quote that does not end, read as empty records"
	ProblemTextBehind     Problem = "rows with text behind a closing quote, read as empty records"
	ProblemTextAfter      Problem = "rows with text behind a closing quote, read as a part of the cell"
	ProblemBackslash      Problem = "rows with a backslash before a quote, read as empty records: " +
		"write escape: \\ in the mapping, or export with doubled quotes"
	ProblemLongLine Problem = "rows of more than 4 MiB, read as empty records"
)

// What a reader makes of the cells of a column that no text is usual for.
const (
	ProblemSpanOfDays Problem = "spans of time, read as days"
)

// RowRemarks counts rows by cause, in the order in which the causes first occur.
type RowRemarks []Remark

// Add counts a row, whose line or row number is place.
func (r *RowRemarks) Add(p Problem, place int) {
	for i := range *r {
		if (*r)[i].Problem == p {
			(*r)[i].Count++
			return
		}
	}
	*r = append(*r, Remark{Problem: p, Count: 1, First: place})
}

// String returns a line for a person: "age: 3 cells outside its bounds, clamped".
func (r Remark) String() string {
	switch {
	case r.Column == "":
		return fmt.Sprintf("%s: %d, the first in line %d", r.Problem, r.Count, r.First)
	case r.Count == 0:
		return fmt.Sprintf("%s: %s", r.Column, r.Problem)
	}
	cells, first := "cells", ""
	if r.Count == 1 {
		cells = "cell"
	}
	if r.First > 0 {
		first = fmt.Sprintf(" (the first in line %d)", r.First)
	}
	return fmt.Sprintf("%s: %d %s %s%s", r.Column, r.Count, cells, r.Problem, first)
}

func appendRemark(to []Remark, column string, p Problem, count int) []Remark {
	if count == 0 || p == "" {
		return to
	}
	return append(to, Remark{Column: column, Problem: p, Count: count})
}
