package mapping

import (
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"caucus/dataset"
)

// counted are rows of a number, of whether it is even, and of a text; each 1000th is malformed, and
// each 777th has no text.
type counted struct {
	rows, at int
	text     string
}

func (c *counted) Columns() []string         { return []string{"n", "even", "text"} }
func (c *counted) Place() int                { return c.at + 1 }
func (c *counted) Remarks() []dataset.Remark { return []dataset.Remark{{Problem: "odd", Count: 1}} }

func (c *counted) Next() ([]string, bool, error) {
	if c.at++; c.at > c.rows {
		return nil, false, io.EOF
	}
	text := c.text
	if c.at%777 == 0 {
		text = "\xff"
	}
	return []string{fmt.Sprint(c.at), fmt.Sprint(c.at%2 == 0), text}, c.at%1000 != 0, nil
}

// TestReadSample: a file below the limits is kept whole, as Collect reads it. From a longer file,
// the first and the last row and a part of the others are kept, in order, whatever pattern repeats
// in the file. All rows are counted.
func TestReadSample(t *testing.T) {
	want, err := dataset.CollectRows(&counted{rows: 5000, text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	have, err := ReadSample(&counted{rows: 5000, text: "x"})
	if err != nil || have.Records != 5000 || !reflect.DeepEqual(have.CollectedRows, want) {
		t.Errorf("a short file: %v, %d records", err, have.Records)
	}
	for name, c := range map[string]counted{
		"many rows":  {rows: 3*sampleRows + 1, text: "x"},
		"long cells": {rows: 501, text: strings.Repeat("x", sampleBytes/300)},
	} {
		s, err := ReadSample(&c)
		if err != nil || s.Records != c.rows || s.Malformed != c.rows/1000 {
			t.Fatalf("%s: %v, %d records, %d malformed", name, err, s.Records, s.Malformed)
		}
		n := s.Table.Rows()
		first, _ := s.Table.Cell(0, "n")
		last, _ := s.Table.Cell(n-1, "n")
		if first != "1" || last != fmt.Sprint(c.rows) || n > sampleRows+1 ||
			n*len(c.text) > sampleBytes+2*len(c.text) {
			t.Errorf("%s: %d rows, from %s to %s", name, n, first, last)
		}
		// The number of even rows is binomial by a half: six standard deviations are exceeded with
		// probability 2e-9, once for all, because the rows are always the same.
		if even := s.Table.Distinct("even")["true"]; name == "many rows" &&
			(n < sampleRows/3 || (even-n/2)*(even-n/2) > 9*n+1) {
			t.Errorf("%s: %d of %d rows are even", name, even, n)
		}
		for _, r := range s.Remarks {
			if r.Problem == dataset.ProblemNotText && r.Count != c.rows/777 {
				t.Errorf("%s: %v", name, r)
			}
		}
	}
}
