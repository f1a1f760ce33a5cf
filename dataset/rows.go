package dataset

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Rows are the successive records of a file of any format. A record's result is a function of this
// record and of the file's text before its first record (column names, styles). A reader has no
// other state.
type Rows interface {
	// Columns returns all columns of the file, in its order.
	Columns() []string
	// Next returns the next record: a cell for each column, valid until the next call. If ok is
	// false the record is malformed and its cells mean nothing. The error is io.EOF after the last
	// record; any other error is about the file.
	Next() (cells []string, ok bool, err error)
	// Place returns the last record's line or row, from 1.
	Place() int
	// Remarks returns what the reader has repaired, dropped or left out so far.
	Remarks() []Remark
}

type firstRows struct {
	Rows
	left int
}

// FirstRows returns the first rows of a file, at most most.
func FirstRows(rows Rows, most int) Rows { return &firstRows{rows, most} }

func (f *firstRows) Next() ([]string, bool, error) {
	if f.left--; f.left < 0 {
		return nil, false, io.EOF
	}
	return f.Rows.Next()
}

// CollectedRows is a site's file as read by [CollectRows]. Its counts are private, like a Remark.
type CollectedRows struct {
	// Columns lists all columns of the file, in its order.
	Columns []string
	// Table has a row for each record, in file order.
	Table *Table
	// Malformed counts malformed lines, which are rows of empty cells. FirstMalformed is the first,
	// or 0.
	Malformed, FirstMalformed int
	// Remarks are the reader's, and count the cells of each column that are not text.
	Remarks []Remark
}

// IsValidText reports whether a cell is text: UTF-8 without a NUL.
func IsValidText(cell string) bool {
	return strings.IndexByte(cell, 0) < 0 &&
		utf8.ValidString(cell)
}

// CollectRows reads rows to their end. A malformed record becomes a row of empty cells; a cell that
// is not text becomes empty. An error is about the file.
func CollectRows(rows Rows) (CollectedRows, error) {
	fail := func(err error) (CollectedRows, error) {
		return CollectedRows{},
			fmt.Errorf("read records: %w", err)
	}
	names := rows.Columns()
	out := CollectedRows{Columns: names}
	if len(names) == 0 {
		out.Table = newTable(0, nil)
		return out, nil
	}
	b, err := NewTableBuilder(names)
	if err != nil {
		return fail(err)
	}
	noText, row := make([]int, len(names)), make([]string, len(names))
	for {
		cells, ok, err := rows.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fail(err)
		}
		clear(row)
		if !ok {
			if out.Malformed++; out.Malformed == 1 {
				out.FirstMalformed = rows.Place()
			}
		}
		for i := range row {
			switch {
			case !ok:
			case IsValidText(cells[i]):
				row[i] = cells[i]
			default:
				noText[i]++
			}
		}
		b.Add(row)
	}
	out.Remarks = rows.Remarks()
	for i, n := range noText {
		out.Remarks = appendRemark(out.Remarks, names[i], ProblemNotText, n)
	}
	out.Table = b.Table()
	return out, nil
}
