package dataset

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// TableBuilder makes a Table row by row. It stores each distinct text of a column once.
type TableBuilder struct {
	rows    int
	columns []column
	codeOf  []map[string]uint32 // per column: value → code
	last    []uint32            // per column: the code of the row before
}

// NewTableBuilder starts a table of these columns. It fails if a name is empty or repeated.
func NewTableBuilder(names []string) (*TableBuilder, error) {
	if len(names) == 0 {
		return nil, errors.New("make table: there are no columns")
	}
	b := &TableBuilder{
		columns: make([]column, len(names)),
		codeOf:  make([]map[string]uint32, len(names)),
		last:    make([]uint32, len(names)),
	}
	seen := make(map[string]bool, len(names))
	for i, name := range names {
		if name == "" {
			return nil, fmt.Errorf("make table: column %d has no name", i+1)
		}
		if seen[name] {
			return nil, fmt.Errorf("make table: the column name %q occurs twice; rename one", name)
		}
		seen[name] = true
		b.columns[i].name = name
		b.codeOf[i] = make(map[string]uint32)
	}
	return b, nil
}

// Add appends a row, with a cell for each column. It copies the cells, so the
// caller may reuse slice and strings.
func (t *TableBuilder) Add(cells []string) {
	for i, cell := range cells {
		c := &t.columns[i]
		// Neighbouring rows are often alike, and comparing is cheaper than hashing.
		if t.rows > 0 && c.values[t.last[i]] == cell {
			c.codes.append(t.last[i])
			continue
		}
		code, known := t.codeOf[i][cell]
		if !known {
			code = uint32(len(c.values))
			kept := strings.Clone(cell)
			c.values = append(c.values, kept)
			t.codeOf[i][kept] = code
		}
		t.last[i] = code
		c.codes.append(code)
	}
	t.rows++
}

// Table returns the rows so far. Add nothing afterwards.
func (t *TableBuilder) Table() *Table { return newTable(t.rows, t.columns) }

func listNames(names []string) string {
	const most = 12
	if len(names) > most {
		return fmt.Sprintf("%s, ... (%d in all)", strings.Join(names[:most], ", "), len(names))
	}
	return strings.Join(names, ", ")
}

// NamesOrCount lists a file's columns. If a name is a number it only gives how many there are,
// because the first record may have been read as the header, and no record may appear in an error.
func NamesOrCount(names []string) string {
	if slices.ContainsFunc(names, isNumber) {
		return fmt.Sprintf("%d columns, some with numbers for names", len(names))
	}
	return listNames(names)
}

func isNumber(text string) bool {
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// NewTable makes a table of the named columns and rows. It fails if a name is empty or repeated, or
// if a row has another number of cells.
func NewTable(columns []string, rows [][]string) (*Table, error) {
	b, err := NewTableBuilder(columns)
	if err != nil {
		return nil, err
	}
	for i, row := range rows {
		if len(row) != len(columns) {
			return nil, fmt.Errorf("make table: row %d has %d cells for %d columns", i, len(row),
				len(columns))
		}
		b.Add(row)
	}
	return b.Table(), nil
}

// Concat joins the rows of all tables under the columns of the first. It fails if a later table has
// other columns; their order may differ.
func Concat(tables ...*Table) (*Table, error) {
	if len(tables) == 0 {
		return nil, errors.New("join tables: there are none")
	}
	names := tables[0].Columns()
	b, err := NewTableBuilder(names)
	if err != nil {
		return nil, err
	}
	row := make([]string, len(names))
	for n, t := range tables {
		if len(t.columns) != len(names) || slices.ContainsFunc(names, func(s string) bool {
			return !t.Has(s)
		}) {
			return nil, fmt.Errorf("join tables: table %d has the columns %s, the first has %s",
				n, NamesOrCount(t.Columns()), NamesOrCount(names))
		}
		for r := range t.rows {
			for i, name := range names {
				row[i], _ = t.Cell(r, name)
			}
			b.Add(row)
		}
	}
	return b.Table(), nil
}
