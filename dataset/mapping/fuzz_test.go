package mapping

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"caucus/dataset"
)

// everything is a mapping that uses every feature.
const everything = `
delimiter: ;
decimal: ","
missing: ["-9", NULL]
dates: DD.MM.YYYY
columns:
  age: {from: born, years_until: visit}
  creatinine: {expression: 'c > 1000 ? c / 88.4 : (s contains "x" ? len(s) : c)'}
  sex: {from: s, levels: {weiblich: F}}
  died: {expression: 's matches "^(a|b)*$" ? "yes" : lower(s) + s'}
  id: {from: c, multiply: 2, offset: 1, round: 1}
`

// FuzzMapping: a file is mapped like each of its lines alone, in any order, and mapping it again
// gives the same result. No record changes the result of another.
func FuzzMapping(f *testing.F) {
	for _, seed := range []string{
		"12.03.1950;31.12.2024;1.234,5;weiblich\n;;;\n-9;-9;-9;-9", "a;b\n\"1;2\n1;2;3;4", "1;1;9;x\n1;1;\xff;\x00\n1.1.1900;1.1.2000;1e308;ab", "29.02.1952;28.02.2024;0;" + strings.Repeat("ab", 100),
	} {
		f.Add([]byte(seed))
	}
	s := ward(f)
	m := parse(f, everything)
	format := dataset.Format{Delimiter: ';', Columns: []string{"born", "visit", "c", "s"}}
	mapped := func(t *testing.T, text []byte) []string {
		rows, err := dataset.NewLines(bytes.NewReader(text), format)
		if err != nil {
			t.Fatal(err)
		}
		b, err := m.Bind(rows.Columns(), s)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := dataset.CollectRows(b.Rows(rows))
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for i := range lines.Table.Rows() {
			var row []string
			for _, name := range lines.Table.Columns() {
				cell, _ := lines.Table.Cell(i, name)
				row = append(row, cell)
			}
			out = append(out, strings.Join(row, "\x01"))
		}
		return out
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<14 {
			return
		}
		var apart [][]string // of each line, which may be several rows: a lone CR ends a row too
		split := bytes.Split(text, []byte("\n"))
		for _, line := range split {
			apart = append(apart, mapped(t, line))
		}
		if whole, want := mapped(t, text), slices.Concat(apart...); !slices.Equal(whole, want) {
			t.Fatalf("%q is mapped to %q, its lines alone to %q", text, whole, want)
		}
		slices.Reverse(split)
		slices.Reverse(apart)
		turned, want := mapped(t, bytes.Join(split, []byte("\n"))), slices.Concat(apart...)
		if !slices.Equal(turned, want) {
			t.Fatalf("%q turned round is mapped to %q, want %q", text, turned, want)
		}
	})
}
