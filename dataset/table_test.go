package dataset

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tableOf makes a table from lines of space-separated cells, the first line the header.
func tableOf(t testing.TB, lines ...string) *Table {
	t.Helper()
	rows := make([][]string, len(lines))
	for i, line := range lines {
		rows[i] = strings.Fields(line)
	}
	table, err := NewTable(rows[0], rows[1:])
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// A table, its selections and its written form agree with plain slices of cells, also beyond 256
// distinct values, where codes become wider.
func TestTableMatchesRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 600).Draw(t, "rows")
		distinct := rapid.IntRange(1, 700).Draw(t, "distinct")
		rows := make([][]string, n)
		for i := range rows {
			rows[i] = []string{fmt.Sprint((i * 7) % distinct),
				rapid.SampledFrom([]string{"a", "b,\"c", "ü"}).Draw(t, "cell")}
		}
		table, err := NewTable([]string{"x", "y"}, rows)
		if err != nil {
			t.Fatal(err)
		}
		check := func(table *Table, want [][]string) {
			if table.Rows() != len(want) {
				t.Fatalf("%d rows, want %d", table.Rows(), len(want))
			}
			for i := range want {
				x, _ := table.Cell(i, "x")
				y, ok := table.Cell(i, "y")
				if !ok || x != want[i][0] || y != want[i][1] {
					t.Fatalf("row %d is %q %q, want %q", i, x, y, want[i])
				}
			}
		}
		check(table, rows)
		if n > 0 {
			pick := rapid.SliceOf(rapid.IntRange(0, n-1)).Draw(t, "pick")
			check(table.Select(pick), pickRows(rows, pick))
			check(table.Select(pick).Select(nil), nil)
		}
		twice, err := Concat(table, table)
		if err != nil {
			t.Fatal(err)
		}
		check(twice, slices.Concat(rows, rows))
		var out bytes.Buffer
		if err := table.WriteCSV(&out); err != nil {
			t.Fatal(err)
		}
		back, err := ReadCSV(&out, Format{})
		if err != nil {
			t.Fatal(err)
		}
		check(back, rows)
	})
}

func TestTableCellOutside(t *testing.T) {
	table := tableOf(t, "a b", "1 2")
	for _, c := range []struct {
		row    int
		column string
	}{{-1, "a"}, {1, "a"}, {0, "c"}} {
		if got, ok := table.Cell(c.row, c.column); ok {
			t.Errorf("Cell(%d, %q) = %q", c.row, c.column, got)
		}
	}
	if !table.Has("a") || table.Has("c") {
		t.Error("Has is wrong")
	}
}

func TestTableErrors(t *testing.T) {
	for want, make := range map[string]func() error{
		"there are no columns":            func() error { _, err := NewTable(nil, nil); return err },
		"column 2 has no name":            func() error { _, err := NewTable([]string{"a", ""}, nil); return err },
		`name "a" occurs twice`:           func() error { _, err := NewTable([]string{"a", "a"}, nil); return err },
		"row 0 has 1 cells for 2 columns": func() error { _, err := NewTable([]string{"a", "b"}, [][]string{{"1"}}); return err },
		"there are none":                  func() error { _, err := Concat(); return err },
		"table 1 has the columns b": func() error {
			_, err := Concat(tableOf(t, "a"), tableOf(t, "b"))
			return err
		},
	} {
		if err := make(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
