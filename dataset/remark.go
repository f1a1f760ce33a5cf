package dataset

import "fmt"

// Remark counts the changed cells of a column. It is computed from private records without protection:
// show it to the data's owner, and never send, log or publish it.
type Remark struct {
	Column  string
	Problem Problem
	Count   int // at least 1
}

// Problem names a kind of odd cell and its treatment.
type Problem string

const (
	Clamped      Problem = "outside its bounds, clamped"
	Missing      Problem = "missing"
	NotANumber   Problem = "not a number, set to the middle of the range"
	UnknownLevel Problem = "not a known level, counted as other"
	UnknownLabel Problem = "without a known label"
	NoText       Problem = "no UTF-8 text, taken for missing"
)

// String returns a line for a person: "age: 3 cells outside its bounds, clamped".
func (r Remark) String() string {
	cells := "cells"
	if r.Count == 1 {
		cells = "cell"
	}
	return fmt.Sprintf("%s: %d %s %s", r.Column, r.Count, cells, r.Problem)
}

func appendRemark(to []Remark, column string, p Problem, count int) []Remark {
	if count == 0 || p == "" {
		return to
	}
	return append(to, Remark{Column: column, Problem: p, Count: count})
}
