package dataset

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"caucus/internal/csvfile"
)

// Table is an immutable table of text cells with named columns, safe for concurrent use. Each
// column stores every distinct value once and a small code per row, so a value is stored and later
// parsed once.
type Table struct {
	rows    int
	columns []column
	index   map[string]int
}

type column struct {
	name   string
	values []string // distinct values, in the order in which they first appear
	codes  codes    // for each row a position in values
}

// codes holds a number per row: one byte for up to 256 distinct values, otherwise four.
type codes struct {
	narrow []uint8
	wide   []uint32 // in use unless nil
}

func (c *codes) at(row int) uint32 {
	if c.wide != nil {
		return c.wide[row]
	}
	return uint32(c.narrow[row])
}

func (c *codes) append(code uint32) {
	if c.wide == nil {
		if code < 256 {
			c.narrow = append(c.narrow, uint8(code))
			return
		}
		c.wide = make([]uint32, len(c.narrow), 2*len(c.narrow)+1)
		for i, v := range c.narrow {
			c.wide[i] = uint32(v)
		}
		c.narrow = nil
	}
	c.wide = append(c.wide, code)
}

func (c *codes) pick(rows []int) codes {
	if c.wide != nil {
		return codes{wide: pickRows(c.wide, rows)}
	}
	return codes{narrow: pickRows(c.narrow, rows)}
}

func pickRows[T any](from []T, rows []int) []T {
	to := make([]T, len(rows))
	for i, r := range rows {
		to[i] = from[r]
	}
	return to
}

// Rows counts rows without a header.
func (t *Table) Rows() int { return t.rows }

// Columns lists the names in the file's order. The slice is the caller's own.
func (t *Table) Columns() []string {
	names := make([]string, len(t.columns))
	for i, c := range t.columns {
		names[i] = c.name
	}
	return names
}

// Has reports whether a column has exactly this name, in the same case.
func (t *Table) Has(column string) bool {
	_, ok := t.index[column]
	return ok
}

// Cell returns the text at a row of a named column; false if there is no such row or column.
func (t *Table) Cell(row int, column string) (string, bool) {
	i, ok := t.index[column]
	if !ok || row < 0 || row >= t.rows {
		return "", false
	}
	c := &t.columns[i]
	return c.values[c.codes.at(row)], true
}

// Select returns the table of the given rows in order. A row may repeat. It panics on an absent
// row.
func (t *Table) Select(rows []int) *Table {
	s := &Table{rows: len(rows), columns: make([]column, len(t.columns)), index: t.index}
	for i := range t.columns {
		c := &t.columns[i]
		s.columns[i] = column{name: c.name, values: c.values, codes: c.codes.pick(rows)}
	}
	return s
}

// WriteCSV writes the table as comma-separated text with a header, which [ReadCSV] reads back. A
// cell that a spreadsheet would compute is an error ([csvfile.NewRefusing]).
func (t *Table) WriteCSV(w io.Writer) error { return t.Write(csvfile.NewRefusing(w)) }

// Write writes a header and the rows, and closes the writer.
func (t *Table) Write(out *csvfile.Writer) error {
	row := t.Columns()
	err := out.Write(row)
	for r := 0; r < t.rows && err == nil; r++ {
		for i := range t.columns {
			c := &t.columns[i]
			row[i] = c.values[c.codes.at(r)]
		}
		err = out.Write(row)
	}
	if err = cmp.Or(err, out.Close()); err != nil {
		return fmt.Errorf("write table: %w", err)
	}
	return nil
}

// With returns the table with another column, which has the same text in each row.
func (t *Table) With(name, value string) *Table {
	added := column{name: name, values: []string{value},
		codes: codes{narrow: make([]uint8, t.rows)}}
	return newTable(t.rows, append(slices.Clone(t.columns), added))
}

func (t *Table) column(name string) *column {
	if i, ok := t.index[name]; ok {
		return &t.columns[i]
	}
	return nil
}

// NewByteTable makes a table of whole numbers from 0 to 255: cells holds each column's values, all
// of the same length. It keeps the slices. The names must be distinct.
func NewByteTable(names []string, cells [][]uint8) *Table {
	values := make([]string, 256) // the text of byte v gets code v
	for v := range values {
		values[v] = strconv.Itoa(v)
	}
	columns := make([]column, len(names))
	for i, name := range names {
		columns[i] = column{name: name, values: values, codes: codes{narrow: cells[i]}}
	}
	return newTable(len(cells[0]), columns)
}

func newTable(rows int, columns []column) *Table {
	t := &Table{rows: rows, columns: columns, index: make(map[string]int, len(columns))}
	for i, c := range columns {
		t.index[c.name] = i
	}
	return t
}
