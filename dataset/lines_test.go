package dataset

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

func rowsOf(t *Table) [][]string {
	var rows [][]string
	for i := range t.Rows() {
		var row []string
		for _, name := range t.Columns() {
			cell, _ := t.Cell(i, name)
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestReadLines(t *testing.T) {
	headerless := Format{Columns: []string{"a", "b"}}
	empty := []string{"", ""}
	for name, c := range map[string]struct {
		text      string
		format    Format
		want      [][]string // header first
		malformed int
		first     int // malformed line
	}{
		"plain":              {"a,b\n1,2\n3,4\n", Format{}, [][]string{{"a", "b"}, {"1", "2"}, {"3", "4"}}, 0, 0},
		"no last newline":    {"a,b\n1,2", Format{}, [][]string{{"a", "b"}, {"1", "2"}}, 0, 0},
		"windows":            {"\xef\xbb\xbfa,b\r\n1,\"2\"\r\n", Format{}, [][]string{{"a", "b"}, {"1", "2"}}, 0, 0},
		"blank lines":        {"\n \na,b\n\n1,2\n\r\n \n\n", Format{}, [][]string{{"a", "b"}, {"1", "2"}}, 0, 0},
		"no header":          {"1,2\n", headerless, [][]string{{"a", "b"}, {"1", "2"}}, 0, 0},
		"nothing":            {"", headerless, [][]string{{"a", "b"}}, 0, 0},
		"header look-alike":  {"a,b\na,b\n", Format{}, [][]string{{"a", "b"}, {"a", "b"}}, 0, 0},
		"look-alike first":   {"a,b\n1,2\n", headerless, [][]string{{"a", "b"}, {"a", "b"}, {"1", "2"}}, 0, 0},
		"comment":            {"#x\na;b\n#1;2\n 3 ; #4\n", Format{Delimiter: ';', Comment: "#"}, [][]string{{"a", "b"}, {"3", "#4"}}, 0, 0},
		"no comment":         {"a,b\n#1,2\n", Format{}, [][]string{{"a", "b"}, {"#1", "2"}}, 0, 0},
		"quoted delimiter":   {"a,b\n \"x, \"\"y\"\"\" ,2\n", Format{}, [][]string{{"a", "b"}, {`x, "y"`, "2"}}, 0, 0},
		"quote in a cell":    {"a,b\n5\" pipe,2\n", Format{}, [][]string{{"a", "b"}, {`5" pipe`, "2"}}, 0, 0},
		"stray quote":        {"a,b\n\"1,2\n3,4\"\n5,6\n", Format{}, [][]string{{"a", "b"}, empty, {"3", `4"`}, {"5", "6"}}, 1, 2},
		"text after a quote": {"a,b\n\"1\"x,2\n\"1\"x,2,3\n\"old\" scar ,3\n", Format{}, [][]string{{"a", "b"}, {"1x", "2"}, empty, {"old scar", "3"}}, 1, 3},
		"cell of two lines":  {"a,b\n\"1\n2\",3\n4,5\n", Format{}, [][]string{{"a", "b"}, empty, {`2"`, "3"}, {"4", "5"}}, 1, 2},
		"short": {"a,b,c\n1\n1,2\n,\n3,4,5\n", Format{}, [][]string{{"a", "b", "c"},
			{"1", "", ""}, {"1", "2", ""}, {"", "", ""}, {"3", "4", "5"}}, 0, 0},
		"long": {"a,b\n1,2\n1,2,3\n1,2,,3\n4,5\n", Format{}, [][]string{{"a", "b"},
			{"1", "2"}, empty, empty, {"4", "5"}}, 2, 3},
		"trailing": {"a,b\n1,2,\n1,2,,\n1,,,\n", Format{}, [][]string{{"a", "b"}, {"1",
			"2"}, {"1", "2"}, {"1", ""}}, 0, 0},
		"other delimiter": {"a,b,c\n1,2,3\n1;2;3\nx; y\n", Format{}, [][]string{{"a", "b", "c"},
			{"1", "2", "3"}, {"", "", ""}, {"x; y", "", ""}}, 1, 3},
		"lone returns": {"a,b\r1,2\r3,4\r\n5,6\r\r\n\r7,8\r", Format{}, [][]string{{"a", "b"},
			{"1", "2"}, {"3", "4"}, {"5", "6"}, {"7", "8"}}, 0, 0},
		"first row": {"Ward \"7\"\n\n\"x\na,b\n1,2\n", Format{FirstRow: 4},
			[][]string{{"a", "b"}, {"1", "2"}}, 0, 0},
		"first row, names": {"Ward 7\n1,2\n1,2,3\n", Format{FirstRow: 2, Columns: []string{"a",
			"b"}}, [][]string{{"a", "b"}, {"1", "2"}, empty}, 1, 3},
		"footer": {"a,b\n1,2\n(1 row)\n", Format{Comment: "(1"}, [][]string{{"a", "b"},
			{"1", "2"}}, 0, 0},
		"escape": {"a,b\n\"\\\"x\\\", \\\\y\",\\N\nu\\,v,\"w\"\"\"\n\"\\\",2\n",
			Format{Escape: '\\'}, [][]string{{"a", "b"}, {`"x", \y`, `\N`}, {"u,v", `w"`}, empty},
			1, 4},
		"no escape": {"a,b\n\"C:\\\",2\n\"x\\\"\",3\n", Format{}, [][]string{{"a", "b"},
			{`C:\`, "2"}, empty}, 1, 3},
		"same names": {"a,b,a\n1,2,3\n", Format{}, [][]string{{"a (column 1)", "b",
			"a (column 3)"}, {"1", "2", "3"}}, 0, 0},
		"tabs":               {"a\tb\n1\t\n\"2\"\t3\n", Format{Delimiter: '\t'}, [][]string{{"a", "b"}, {"1", ""}, {"2", "3"}}, 0, 0},
		"spaces":             {"a b\n\"1 \" 2\n1  2\n", Format{Delimiter: ' '}, [][]string{{"a", "b"}, {"1", "2"}, empty}, 1, 3},
		"no text":            {"a,b\n\xff,2\n3,\x00\n\xe9,4\n", Format{}, [][]string{{"a", "b"}, {"", "2"}, {"3", ""}, {"", "4"}}, 0, 0},
		"mark in the middle": {"a,b\n1,2\n\ufeff3,4\n", Format{}, [][]string{{"a", "b"}, {"1", "2"}, {"3", "4"}}, 0, 0},
		"gzip's first bytes": {"\x1f\x8b,2\n3,4\n", headerless, [][]string{{"a", "b"}, {"", "2"}, {"3", "4"}}, 0, 0},
		"too long":           {"a,b\n" + strings.Repeat("1", maxLine-1) + ",2\n3,4\n" + strings.Repeat("1", 2*maxLine), Format{}, [][]string{{"a", "b"}, empty, {"3", "4"}, empty}, 2, 2},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ReadLines(iotest.HalfReader(strings.NewReader(c.text)), c.format)
			if err != nil {
				t.Fatal(err)
			}
			if names := got.Table.Columns(); !slices.Equal(names, c.want[0]) {
				t.Errorf("columns %q, want %q", names, c.want[0])
			}
			if rows := rowsOf(got.Table); !slices.EqualFunc(rows, c.want[1:], slices.Equal) {
				t.Errorf("rows %.200q, want %.200q", rows, c.want[1:])
			}
			if got.Malformed != c.malformed || got.FirstMalformed != c.first {
				t.Errorf("%d malformed lines, the first in line %d, want %d and %d", got.Malformed, got.FirstMalformed, c.malformed, c.first)
			}
		})
	}
	got, err := ReadLines(strings.NewReader("a,b\n\xff,2\n3,\x00\n\xe9,4\n"), Format{})
	if want := []Remark{{Column: "a", Problem: ProblemNotText, Count: 2},
		{Column: "b", Problem: ProblemNotText,
			Count: 1}}; err != nil || !slices.Equal(got.Remarks, want) {
		t.Errorf("remarks %v (%v), want %v", got.Remarks, err, want)
	}
}

// TestRowRemarks: repaired and dropped lines are counted by cause, with the first line of each.
// This holds with and without line breaks in quoted cells, and however the bytes arrive.
func TestRowRemarks(t *testing.T) {
	text := "a,b,c\n1,2,3\n1,2\n1\n1,2,3,\n1,2,3,,\n1,2,3,4\n1;2;3\n1,\"2\"x,3,4\n" +
		"1,\"2\\\"\",3\r1,2,3\r1,\"2,3"
	want := []Remark{
		{Problem: ProblemShortRow, Count: 2, First: 3}, {Problem: ProblemEmptyCells, Count: 2, First: 5},
		{Problem: ProblemLongRow, Count: 1, First: 7},
		{Problem: ProblemOtherDelimiter, Count: 1, First: 8}, {Problem: ProblemTextBehind, Count: 1, First: 9},
		{Problem: ProblemBackslash, Count: 1, First: 10},
		{Problem: ProblemOpenQuote, Count: 1, First: 12}, {Problem: ProblemLoneReturn, Count: 2, First: 10},
	}
	for name, open := range map[string]func(io.Reader, Format) (Rows, error){"lines": NewLines,
		"quoted": NewMultilineCSV} {
		for _, slow := range []func(io.Reader) io.Reader{iotest.OneByteReader, iotest.HalfReader,
			iotest.DataErrReader} {
			rows, err := open(slow(strings.NewReader(text)), Format{})
			if err != nil {
				t.Fatal(err)
			}
			got, err := CollectRows(rows)
			if err != nil || !slices.Equal(got.Remarks, want) || got.Malformed != 5 ||
				got.FirstMalformed != 7 {
				t.Errorf("%s: %d malformed from line %d, %v, remarks %v, want %v", name,
					got.Malformed, got.FirstMalformed, err, got.Remarks, want)
			}
		}
	}
	if got := want[0].String(); got != "rows with fewer cells than the header has names: the last "+
		"cells are missing: 2, the first in line 3" {
		t.Errorf("a remark reads %q", got)
	}
}

// TestReadLinesMalformed: a line that is no row of all columns is a row of empty cells.
func TestReadLinesMalformed(t *testing.T) {
	got, err := ReadLines(strings.NewReader("a,b,c\n1,\x00,3\n4,5,,x\n6,7,\xff\n"), Format{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"1", "", "3"}, {"", "", ""}, {"6", "7", ""}}
	if !slices.Equal(got.Table.Columns(), []string{"a", "b", "c"}) ||
		!slices.EqualFunc(rowsOf(got.Table), want, slices.Equal) {
		t.Errorf("columns %q, rows %q", got.Table.Columns(), rowsOf(got.Table))
	}
	if got.Malformed != 1 || !slices.Equal(got.Remarks, []Remark{{Problem: ProblemLongRow, Count: 1,
		First: 3}, {Column: "b", Problem: ProblemNotText, Count: 1}, {Column: "c", Problem: ProblemNotText,
		Count: 1}}) {
		t.Errorf("%d malformed, remarks %v", got.Malformed, got.Remarks)
	}
}

// TestReadLinesErrors: only an unreadable file or header is an error, and no error shows a record.
func TestReadLinesErrors(t *testing.T) {
	broken := errors.New("the disk is gone")
	for name, c := range map[string]struct {
		in     io.Reader
		format Format
		want   string
	}{
		"empty":            {strings.NewReader("\n\n"), Format{}, "the file is empty; expected a header line"},
		"header of values": {strings.NewReader("1,2.5\n"), Format{}, "holds numbers, not names"},
		"header's quotes":  {strings.NewReader("\"a,b\n1,2.5\n"), Format{}, "check its quotes"},
		"names twice":      {strings.NewReader("2.5,2.5\n"), Format{}, "holds numbers, not names"},
		"first row": {strings.NewReader("a,b\n2.5,1\n"), Format{FirstRow: 4},
			"first_row 4: there are fewer lines"},
		"delimiter": {strings.NewReader(""), Format{Delimiter: '"'}, "cannot separate cells"},
		"torn": {io.MultiReader(strings.NewReader("a,b\n1,2.5\n"), iotest.ErrReader(broken)),
			Format{}, "the disk is gone"},
	} {
		_, err := ReadLines(c.in, c.format)
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			strings.Contains(err.Error(), "2.5") {
			t.Errorf("%s: error %v, want %q and no record", name, err, c.want)
		}
	}
}

// TestReadLinesAgrees: both readers read a table written by this package in the same way.
func TestReadLinesAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringMatching(`[a-z0-9 ",;#'é]{0,6}`)
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 3, 3), 0, 6).Draw(t, "rows")
		table, err := NewTable([]string{"x", "y", "z"}, rows)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := table.WriteCSV(&text); err != nil {
			t.Fatal(err)
		}
		want, err := ReadCSV(bytes.NewReader(text.Bytes()), Format{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadLines(bytes.NewReader(text.Bytes()), Format{})
		if err != nil || got.Malformed > 0 ||
			!slices.EqualFunc(rowsOf(got.Table), rowsOf(want), slices.Equal) {
			t.Fatalf("%q: %q (%v), want %q", text.Bytes(), rowsOf(got.Table), err, rowsOf(want))
		}
	})
}

// FuzzReadLines: any file without a header is read without an error, and its rows are the rows of
// its lines read one by one. No line changes how another line is read.
func FuzzReadLines(f *testing.F) {
	for _, seed := range []string{"1,2\r3\r\n4,5,\r\r\n6,7,8\r", "1;2\n", "1,2\n3,4",
		"\"1\n2\",3\n", "\xef\xbb\xbf1,2\r\n\xef\xbb\xbf3,4", "#1,2\n\x1f\x8b,\x00", ",\n\n \n,,",
		"a,b\n\"\"\",\"\n'"} {
		f.Add([]byte(seed), ',', "")
		f.Add([]byte(seed), ';', "#")
		f.Add([]byte(seed), ' ', ",")
	}
	f.Fuzz(func(t *testing.T, text []byte, delimiter rune, comment string) {
		format := Format{Columns: []string{"a", "b"}, Delimiter: delimiter, Comment: comment}
		if len(text) > 1<<16 || format.Validate() != nil {
			return
		}
		whole, err := ReadLines(bytes.NewReader(text), format)
		if err != nil {
			t.Fatal(err)
		}
		var apart [][]string
		malformed := 0
		for i, line := range linesSlowly(string(text)) {
			if i > 0 { // a mark counts only at the beginning of a file
				line = "\n" + line
			}
			one, err := ReadLines(strings.NewReader(line), format)
			if err != nil || one.Table.Rows() > 1 {
				t.Fatalf("line %q alone has %d rows, %v", line, one.Table.Rows(), err)
			}
			apart = append(apart, rowsOf(one.Table)...)
			malformed += one.Malformed
		}
		if got := rowsOf(whole.Table); !slices.EqualFunc(got, apart, slices.Equal) ||
			whole.Malformed != malformed {
			t.Fatalf("%q is read as %q (%d malformed), its lines alone as %q (%d)", text, got, whole.Malformed, apart, malformed)
		}
	})
}

// TestLinesInAnyOrder: without a header, a line gives the same record at any place in the file, the
// first included. So sorting a file after one record was replaced still gives a neighbour.
func TestLinesInAnyOrder(t *testing.T) {
	format := Format{Columns: []string{"a", "b"}}
	lines := []string{"\ufeff1,x", "1,x", "\ufeff\"2\",y", "#,z", " ,", "\xff\xfe,u", "\x1f\x8b,v",
		"\"3\"\",w", "4", "\ufeff", "5,x\r", "\ufeff\ufeff6,y"}
	read := func(lines []string) []string {
		t.Helper()
		got, err := ReadLines(strings.NewReader(strings.Join(lines, "\n")), format)
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for i := range got.Table.Rows() {
			a, _ := got.Table.Cell(i, "a")
			b, _ := got.Table.Cell(i, "b")
			rows = append(rows, fmt.Sprintf("%q %q", a, b))
		}
		slices.Sort(rows)
		return rows
	}
	want := read(lines)
	for i := range lines {
		turned := slices.Concat(lines[i:], lines[:i])
		if got := read(turned); !slices.Equal(got, want) {
			t.Errorf("with %q first: %v, want %v", lines[i], got, want)
		}
	}
}

// ReadLines collects the rows of NewLines.
func ReadLines(r io.Reader, f Format) (CollectedRows, error) {
	rows, err := NewLines(r, f)
	if err != nil {
		return CollectedRows{}, err
	}
	return CollectRows(rows)
}
