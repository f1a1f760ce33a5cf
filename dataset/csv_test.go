package dataset

import (
	"bytes"
	"compress/gzip"
	"slices"
	"strings"
	"testing"
)

func packed(text string) string {
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, _ = z.Write([]byte(text)) // a bytes.Buffer does not fail
	_ = z.Close()
	return out.String()
}

func TestReadCSV(t *testing.T) {
	headerless := Format{Columns: []string{"a", "b"}}
	for name, c := range map[string]struct {
		text   string
		format Format
		want   [][]string // header first
	}{
		"plain": {"a,b\n1,2\n3,4\n", Format{}, [][]string{{"a", "b"}, {"1", "2"}, {"3",
			"4"}}},
		"gzip": {packed("a,b\n1,2\n"), Format{}, [][]string{{"a", "b"}, {"1", "2"}}},
		"windows": {"\xef\xbb\xbfa,b\r\n1,2\r\n", Format{}, [][]string{{"a", "b"}, {"1",
			"2"}}},
		"spaces": {"a, b\n 1 , \"x, y\"\n \n", Format{}, [][]string{{"a", "b"}, {"1",
			"x, y"}}},
		"no header":          {"1,2\n", headerless, [][]string{{"a", "b"}, {"1", "2"}}},
		"no header, no rows": {"", headerless, [][]string{{"a", "b"}}},
		"only a header":      {"a,b\n", Format{}, [][]string{{"a", "b"}}},
		"comment": {"|note, it\na;b\n1;2\n", Format{Delimiter: ';', Comment: "|"},
			[][]string{{"a", "b"}, {"1", "2"}}},
		"tabs with gaps": {"a\tb\n1\t\n", Format{Delimiter: '\t'}, [][]string{{"a", "b"}, {"1",
			""}}},
		"same names": {"a,a\n1,2\n", Format{}, [][]string{{"a (column 1)", "a (column 2)"},
			{"1", "2"}}},
		"index column":        {",a\n1,2\n", Format{}, [][]string{{"column1", "a"}, {"1", "2"}}},
		"names that count":    {"0,1\n5,6\n", Format{}, [][]string{{"0", "1"}, {"5", "6"}}},
		"one column":          {"a\n1\n\n2\n", Format{}, [][]string{{"a"}, {"1"}, {"2"}}},
		"quoted line in cell": {"a,b\n\"1\n2\",3\n", Format{}, [][]string{{"a", "b"}, {"1\n2", "3"}}},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := ReadCSV(strings.NewReader(c.text), c.format)
			if err != nil {
				t.Fatal(err)
			}
			if got := table.Columns(); !slices.Equal(got, c.want[0]) {
				t.Errorf("columns %q, want %q", got, c.want[0])
			}
			if table.Rows() != len(c.want)-1 {
				t.Fatalf("%d rows, want %d", table.Rows(), len(c.want)-1)
			}
			for i, row := range c.want[1:] {
				for j, want := range row {
					if got, _ := table.Cell(i, c.want[0][j]); got != want {
						t.Errorf("cell %d,%d = %q, want %q", i, j, got, want)
					}
				}
			}
		})
	}
}

func TestReadCSVErrors(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		format Format
		want   string
	}{
		"empty":                   {"", Format{}, "the file is empty; expected a header line"},
		"empty gzip":              {packed(""), Format{}, "the file is empty"},
		"ragged":                  {"a,b\n1,2\n1,2,3\n", Format{}, "line 3 has 3 cells, expected 2 (a, b)"},
		"ragged after long cell":  {"a,b\n\"1\n1\",2\n1\n", Format{}, "line 4 has 1 cells"},
		"wrong delimiter":         {"1;2;3\n", Format{Columns: []string{"a", "b", "c"}}, "the delimiter looks like ';'"},
		"wrong delimiter, header": {"a;b\n1,5;2\n", Format{}, "the delimiter looks like ';'"},
		"no header":               {"1,2.5\n3,4\n", Format{}, "the first line holds numbers, not names"},
		"site's own":              {"x\na\n", Format{FirstRow: 2}, "for a site's own file"},
		"broken quote":            {"a,b\n\"1,2\n", Format{}, `extraneous or missing " in quoted-field`},
		"broken gzip":             {packed("a,b\n1,2\n")[:20], Format{}, "unexpected EOF"},
		"not gzip":                {"\x1f\x8bhello", Format{}, "unpack gzip"},
		"delimiter":               {"a\n", Format{Delimiter: '"'}, "delimiter '\"' cannot separate cells"},
		"comment": {"a\n", Format{Comment: "//"}, "a comment of several " +
			"characters"},
		"repeated name": {"1\n", Format{Columns: []string{"a", "a"}}, `"a" occurs twice`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ReadCSV(strings.NewReader(c.text), c.format)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "2.5") {
				t.Errorf("the error %v shows a record", err)
			}
		})
	}
}

// FuzzReadCSV: any bytes give a rectangular table or an error.
func FuzzReadCSV(f *testing.F) {
	for _, seed := range []string{"a,b\n1,2\n", "\"a\n\",b\n", packed("a\n1\n"), "\xef\xbb\xbf",
		"|x\na;b\n", "\x1f\x8b", ",\n,\n"} {
		f.Add([]byte(seed), ',', "")
		f.Add([]byte(seed), ';', "|")
	}
	f.Fuzz(func(t *testing.T, text []byte, delimiter rune, comment string) {
		if len(text) > 1<<16 {
			return
		}
		table, err := ReadCSV(bytes.NewReader(text), Format{Delimiter: delimiter, Comment: comment})
		if err != nil {
			return
		}
		for _, name := range table.Columns() {
			for i := range table.Rows() {
				if cell, ok := table.Cell(i, name); !ok || cell != strings.TrimSpace(cell) {
					t.Fatalf("cell %d %q = %q, %v", i, name, cell, ok)
				}
			}
		}
	})
}
