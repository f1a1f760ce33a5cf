package dataset

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"caucus/internal/testlevel"
)

// record is a reader's result: its cells, nil if malformed, and its place.
type record struct {
	cells []string
	place int
}

func (r record) String() string { return fmt.Sprintf("%d:%.200q", r.place, r.cells) }

func allRecords(rows Rows, err error) (columns []string, all []record, _ error) {
	if err != nil {
		return nil, nil, err
	}
	for {
		cells, ok, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return rows.Columns(), all, nil
		}
		if err != nil {
			return rows.Columns(), all, err
		}
		r := record{place: rows.Place()}
		if ok {
			r.cells = slices.Clone(cells)
		}
		all = append(all, r)
	}
}

func sameRecords(a, b []record) bool {
	return slices.EqualFunc(a, b, func(a, b record) bool {
		return a.place == b.place && slices.Equal(a.cells, b.cells) &&
			(a.cells == nil) == (b.cells == nil)
	})
}

func TestNewQuoted(t *testing.T) {
	for name, c := range map[string]struct {
		text   string
		format Format
		want   string // records: their places and cells
	}{
		"plain":             {"a,b\n1,2\n3,4\n", Format{}, `[2:["1" "2"] 3:["3" "4"]]`},
		"cell of two lines": {"a,b\n\"1\n2\",3\n4,5\n", Format{}, `[2:["1\n2" "3"] 4:["4" "5"]]`},
		"windows": {"a,b\r\n1,\" 2\r\n\r\n3 \"\r\n4,5\r\n", Format{},
			`[2:["1" "2\n\n3"] 5:["4" "5"]]`},
		"two cells": {"a;b;c\n\"1\n\";2;\"3\n#\n\"\"4\"\"\"\n5;6;7\n",
			Format{Delimiter: ';', Comment: "#"}, `[2:["1" "2" "3\n#\n\"4\""] 6:["5" "6" "7"]]`},
		"header": {"a,\"b\nc\"\n1,2\n", Format{}, `[3:["1" "2"]]`},
		"marks": {"\ufeffa,b\n\ufeff\"1\n\ufeff2\",3\n", Format{},
			`[2:["1\n` + `\ufeff` + `2" "3"]]`},
		"stray quote": {"a,b\n\"1,2\n3,4\"\n5,6\n", Format{},
			`[2:[] 3:["3" "4\""] 4:["5" "6"]]`},
		"never closed": {"a,b\n\"1,2\n3,4\n5,6\n", Format{}, `[2:[] 3:["3" "4"] 4:["5" "6"]]`},
		"text after a quote": {"a,b\n1,\"2\n3\" x\n4,\"5\n6\"\n", Format{},
			`[2:[] 3:["3\" x" ""] 4:["4" "5\n6"]]`},
		"cell too many": {"a,b\n\"1\nx\ny\",2,3\n4,5\n", Format{}, `[2:[] 5:["4" "5"]]`},
		"a row at its end": {"a,b\n1,\"2\nx\ny\",3\n4,5\n", Format{},
			`[2:[] 3:["x" ""] 4:["y\"" "3"] 5:["4" "5"]]`},
		"cell too few": {"a,b,c\n1,\"2\nx\"\n4,\"5\n\",6\n", Format{},
			`[2:["1" "2\nx" ""] 4:["4" "5" "6"]]`},
		"before a good record": {"a,b,c\n\"1,2,x\n4,\"\nfoo\",6\n", Format{}, `[2:[] 3:["4" "foo" "6"]]`},
		"takes two rows":       {"a,b\n1,\"2\n3,4\n5,6\n7\"\n", Format{}, `[2:["1" "2\n3,4\n5,6\n7"]]`},
		"takes three rows": {"a,b\n1,\"2\n3,4\n5,6\n7,8\n9\"\n1,2\n", Format{},
			`[2:[] 3:["3" "4"] 4:["5" "6"] 5:["7" "8"] 6:["9\"" ""] 7:["1" "2"]]`},
		"lone returns": {"a,b\r\"1\r2\",3\r4\r", Format{}, `[2:["1\n2" "3"] 4:["4" ""]]`},
		"first row":    {"\"Ward\n7\na,b\n1,2\n", Format{FirstRow: 3}, `[4:["1" "2"]]`},
		"escape": {"a,b\n\"1\\\"\n\\\"2\",3\n4,5\n", Format{Escape: '\\'},
			`[2:["1\"\n\"2" "3"] 4:["4" "5"]]`},
		"one column": {"a\n\"1\n2\n3\n4\n5\"\n6\n", Format{}, `[2:["1\n2\n3\n4\n5"] 7:["6"]]`},
		"nothing":    {"", Format{Columns: []string{"a"}}, `[]`},
	} {
		t.Run(name, func(t *testing.T) {
			_, all, err := allRecords(NewMultilineCSV(iotest.HalfReader(strings.NewReader(c.text)),
				c.format))
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprint(all); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	broken := errors.New("the disk is gone")
	for name, c := range map[string]struct {
		in   io.Reader
		want string
	}{
		"empty":           {strings.NewReader("\n\n"), "the file is empty"},
		"header's quotes": {strings.NewReader("\"a,b\n1,2.5\n"), "check its quotes"},
		"torn":            {io.MultiReader(strings.NewReader("a,b\n1,\"2.5\n"), iotest.ErrReader(broken)), "the disk is gone"},
	} {
		if _, _, err := allRecords(NewMultilineCSV(c.in, Format{})); err == nil ||
			!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "2.5") {
			t.Errorf("%s: error %v, want %q and no record", name, err, c.want)
		}
	}
}

// TestQuotedLimits: a record has at most maxQuotedLines lines and maxQuoted bytes.
func TestQuotedLimits(t *testing.T) {
	lines := strings.Repeat("x\n", maxQuotedLines-2)
	for text, want := range map[string]int{
		"1,\"\n" + lines + "\"\n":                                   1,
		"1,\"\n" + lines + "x\n\"\n":                                maxQuotedLines + 1,
		"1,\"\n" + strings.Repeat("x", maxQuoted-2) + "\"\n":        1,
		"1,\"\n" + strings.Repeat("x", maxQuoted-1) + "\"\n":        2,
		"\"" + strings.Repeat("1", maxLine) + "\n\",2\n3,4\n":       3,
		"\"\n" + strings.Repeat("1", maxLine+1) + "\",2\n3,4\n\n\n": 3,
	} {
		_, all, err := allRecords(NewMultilineCSV(strings.NewReader(text),
			Format{Columns: []string{"a", "b"}}))
		if err != nil || len(all) != want {
			t.Errorf("%.20q (%d bytes): %d records, want %d, %v", text, len(text), len(all), want,
				err)
		}
	}
}

// cellsSlowly cuts a text into cells, letter by letter. open: the text ends inside quotes. It is
// not ok if text follows a closing quote.
func cellsSlowly(text string, delimiter rune) (cells []string, open, ok bool) {
	const (
		before = iota // a cell so far of spaces only
		plain
		quoted
		quote  // a quote inside quotes
		behind // closing quote and a space
	)
	cell, state, odd := "", before, false
	for _, c := range text {
		space := unicode.IsSpace(c) && c != delimiter
		switch {
		case state == quoted && c == '"':
			state = quote
		case state == quoted:
			cell += string(c)
		case state == quote && c == '"':
			cell, state = cell+`"`, quoted
		case c == delimiter:
			cells, cell, state = append(cells, strings.TrimSpace(cell)), "", before
		case state == quote || state == behind:
			state, odd, cell = behind, odd || !space, cell+string(c)
		case state == before && c == '"':
			cell, state = "", quoted
		case state == before && !space || state == before && unicode.IsSpace(delimiter):
			cell, state = cell+string(c), plain
		default:
			cell += string(c)
		}
	}
	if odd && state == quoted {
		return nil, false, false
	}
	return append(cells, strings.TrimSpace(cell)), state == quoted, !odd
}

// linesSlowly cuts a text at newlines, carriage returns, and the two together.
func linesSlowly(text string) []string {
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"),
		"\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// fitSlowly gives a row n cells, if only empty ones are too many and no other delimiter is in a row
// that is one cell; otherwise nil.
func fitSlowly(cells []string, n int) []string {
	if len(cells) > n && strings.Join(cells[n:], "") == "" {
		cells = cells[:n]
	}
	if len(cells) > n || len(cells) == 1 && n > 1 && slices.ContainsFunc([]string{",", ";", "\t",
		"|"}, func(d string) bool {
		return len(strings.Split(cells[0], d)) >= n
	}) {
		return nil
	}
	if cells != nil {
		cells = slices.Concat(cells, make([]string, n-len(cells)))
	}
	return cells
}

// recordsSlowly reads lines by the documentation of NewMultilineCSV, trying each number of lines in
// turn. For each line it returns the record that the line belongs to, or -1.
func recordsSlowly(text string, f Format) (all []record, of []int) {
	lines := linesSlowly(text)
	isRow := func(line string) bool {
		cells, open, ok := cellsSlowly(line, f.delimiter())
		return ok && !open && len(cells) == len(f.Columns)
	}
	idle := func(line string) bool {
		line = strings.TrimPrefix(line, byteOrderMark)
		return strings.TrimSpace(line) == "" || f.Comment != "" &&
			strings.HasPrefix(line, f.Comment)
	}
	for i := 0; i < len(lines); {
		first := strings.TrimPrefix(lines[i], byteOrderMark)
		if idle(lines[i]) {
			of = append(of, -1)
			i++
			continue
		}
		cells, open, ok := cellsSlowly(first, f.delimiter())
		took := 1
		if ok && open {
			cells = nil
			for n := 2; i+n <= len(lines) && n <= maxQuotedLines; n++ {
				later := lines[i+1 : i+n]
				if len(strings.Join(later, "\n"))+1 > maxQuoted {
					break
				}
				whole, open, ok := cellsSlowly(first+"\n"+strings.Join(later, "\n"), f.delimiter())
				if !ok {
					break
				}
				if open {
					continue
				}
				apart := len(later) > manyRows && len(f.Columns) > 1 &&
					!slices.ContainsFunc(later[:len(later)-1], func(l string) bool {
						return !isRow(l)
					})
				if len(whole) != len(f.Columns) {
					for _, l := range later {
						text := strings.TrimPrefix(l, byteOrderMark)
						_, open, ok := cellsSlowly(text, f.delimiter())
						apart = apart || !idle(l) && (isRow(text) || ok && open)
					}
				}
				if !apart {
					cells, took = whole, n
				}
				break
			}
		}
		if !ok && len(cells) != len(f.Columns) {
			cells = nil
		}
		cells = fitSlowly(cells, len(f.Columns))
		for range took {
			of = append(of, len(all))
		}
		all = append(all, record{cells, i + 1})
		i += took
	}
	return all, of
}

// quotes generates texts in which quotes matter.
var quotes = rapid.StringMatching(`([a"\n\r,; ]|"",|\r\n|"\n|\n"|,"|",|1,2\n|\x{feff}|#){0,60}`)

// TestQuotedSlowly: NewMultilineCSV agrees with recordsSlowly. Each line belongs to one record,
// whose place is this line or an earlier one, or is blank or a comment.
func TestQuotedSlowly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkQuoted(t, quotes.Draw(t, "text"),
			Format{Columns: []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "columns")],
				Comment: rapid.SampledFrom([]string{"", "#"}).Draw(t, "comment")})
	})
}

func checkQuoted(t rapid.TB, text string, f Format) {
	t.Helper()
	_, got, err := allRecords(NewMultilineCSV(strings.NewReader(text), f))
	if err != nil {
		t.Fatal(err)
	}
	want, of := recordsSlowly(text, f)
	if !sameRecords(got, want) {
		t.Fatalf("%q is read as %v, want %v", text, got, want)
	}
	if n := len(linesSlowly(text)); len(of) != n {
		t.Fatalf("%d of %d lines are in a record or idle", len(of), n)
	}
}

// TestQuotedAsLines: if every quote ends on its line, NewMultilineCSV reads as NewLines does,
// malformed lines, header and errors included.
func TestQuotedAsLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := Format{Delimiter: rapid.SampledFrom([]rune{0, ';', '\t', ' '}).Draw(t, "delimiter"),
			Comment: rapid.SampledFrom([]string{"", "#"}).Draw(t, "comment")}
		if rapid.Bool().Draw(t, "header") {
			f.Columns = []string{"a", "b"}
		}
		var text strings.Builder
		for _, line := range linesSlowly(quotes.Draw(t, "text")) {
			r := newLineReader(strings.NewReader(""), f)
			if held, ok := r.holdsRecord(line); ok {
				if _, as := r.split(held); as == ProblemOpenQuote {
					continue
				}
			}
			text.WriteString(line + "\n")
		}
		asLines(t, text.String(), f)
	})
}

func asLines(t rapid.TB, text string, f Format) {
	t.Helper()
	columns, want, wantErr := allRecords(NewLines(strings.NewReader(text), f))
	names, got, err := allRecords(NewMultilineCSV(strings.NewReader(text), f))
	if fmt.Sprint(err) != fmt.Sprint(wantErr) || !slices.Equal(names, columns) ||
		!sameRecords(got, want) {
		t.Fatalf("%.200q is read as %.500s (%v), by lines as %.500s (%v)", text, fmt.Sprint(got), err, fmt.Sprint(want), wantErr)
	}
}

// TestQuotedAsCSV: a table written by this package is read as ReadCSV reads it, line breaks
// included.
func TestQuotedAsCSV(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.StringMatching(`[a-z0-9 ",;#'é\n]{0,8}`)
		rows := rapid.SliceOfN(rapid.SliceOfN(cell, 3, 3), 0, 6).Draw(t, "rows")
		for _, row := range rows {
			row[0] = "x" + strings.ReplaceAll(row[0], ",", "") // no row is blank
			row[1] = strings.ReplaceAll(row[1], ",", "")       // no line of a row is a row
		}
		table, err := NewTable([]string{"x", "y", "z"}, rows)
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if err := table.WriteCSV(&text); err != nil {
			t.Fatal(err)
		}
		_, want, err := allRecords(NewCSV(bytes.NewReader(text.Bytes()), Format{}))
		if err != nil {
			t.Fatal(err)
		}
		_, got, err := allRecords(NewMultilineCSV(bytes.NewReader(text.Bytes()), Format{}))
		if err != nil || !sameRecords(got, want) {
			t.Fatalf("%q: %v (%v), want %v", text.Bytes(), got, err, want)
		}
	})
}

// realData returns the folder of public data sets, or skips the test.
func realData(t testing.TB) fs.FS {
	t.Helper()
	dir := os.Getenv("CAUCUS_DATA")
	if dir == "" {
		t.Skip("CAUCUS_DATA is not set: it names the folder of public data sets this test reads")
	}
	return os.DirFS(dir)
}

// TestQuotedReal: real files of text are read as NewLines reads them, or as ReadCSV does if quoted
// cells have line breaks. One has a wrong quote.
func TestQuotedReal(t *testing.T) {
	dir := realData(t)
	files, most := 0, testlevel.N(t, 1<<20, 1<<30)
	err := fs.WalkDir(dir, ".", func(path string, d fs.DirEntry, err error) error {
		plain := strings.TrimSuffix(path, ".gz")
		if err != nil || d.IsDir() ||
			!slices.ContainsFunc([]string{".csv", ".data", ".test", "_percent", "corrected"},
				func(end string) bool {
					return strings.HasSuffix(plain, end)
				}) {
			return err
		}
		text := readReal(t, dir, path)
		text = text[:min(len(text), most)]
		f := Format{}
		first, _, _ := strings.Cut(text, "\n")
		if _, err := NewLines(strings.NewReader(text), f); err != nil {
			f.Columns = strings.Split("c"+strings.Repeat(",c", strings.Count(first, ",")), ",")
			for i := range f.Columns {
				f.Columns[i] = fmt.Sprint("c", i)
			}
		}
		files++
		if path == "youtube_spam/Youtube04-Eminem.csv" {
			_, all, err := allRecords(NewMultilineCSV(strings.NewReader(text), f))
			if err != nil {
				return err
			}
			malformed := slices.DeleteFunc(slices.Clone(all), func(r record) bool {
				return r.cells != nil
			})
			t.Logf("%s: %d records, malformed %v", path, len(all), malformed)
			if len(all) != 453 || len(malformed) != 2 || malformed[0].place != 271 {
				t.Errorf("%s: %d records, malformed %v", path, len(all), malformed)
			}
			return nil
		}
		asLines(t, text, f)
		return nil
	})
	if err != nil || files < 15 {
		t.Errorf("%d files, %v", files, err)
	}
}

func readReal(t testing.TB, dir fs.FS, path string) string {
	t.Helper()
	b, err := fs.ReadFile(dir, path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			b, err = io.ReadAll(z)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// FuzzQuoted: any bytes are read without an error, with the result of recordsSlowly.
func FuzzQuoted(f *testing.F) {
	for _, seed := range []string{"1,2\n3,4", "\"1\n2\",3\n", "\"1,2\n3,4\"\n",
		"1,\"2\n3,4\n5,6\n7,8\n9\"", "1,\"\r\n\"\"\r\n\"\n\"\"", "#\"\n\ufeff\"\n\",1",
		"a\",\"b\na\",\"b\n"} {
		f.Add([]byte(seed), ',', "")
		f.Add([]byte(seed), ';', "#")
		f.Add([]byte(seed), ' ', ",")
	}
	f.Fuzz(func(t *testing.T, text []byte, delimiter rune, comment string) {
		format := Format{Columns: []string{"a", "b"}, Delimiter: delimiter, Comment: comment}
		if len(text) > 1<<12 || format.Validate() != nil {
			return
		}
		if IsValidText(string(text)) { // the slow reader reads letters
			checkQuoted(t, string(text), format)
		} else if _, _, err := allRecords(NewMultilineCSV(bytes.NewReader(text),
			format)); err != nil {
			t.Fatal(err)
		}
	})
}

// TestQuotedAhead: with a wrong quote on every line, memory stays within the limits.
func TestQuotedAhead(t *testing.T) {
	in, err := NewMultilineCSV(strings.NewReader("a,b\n"+strings.Repeat("x\",\"y\n",
		3*maxQuotedLines)),
		Format{})
	if err != nil {
		t.Fatal(err)
	}
	r := in.(*quotedReader)
	records := 0
	for ; ; records++ {
		_, ok, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if ok || err != nil || len(r.ahead) > maxQuotedLines || cap(r.ahead) > 4*maxQuotedLines {
			t.Fatalf("record %d: %v, %v, %d of %d lines ahead", records, ok, err, len(r.ahead),
				cap(r.ahead))
		}
	}
	if records != 3*maxQuotedLines {
		t.Errorf("%d records", records)
	}
}

// TestQuotedLinear: a file in which every line opens a quote that ends far below, or nowhere, is
// read in time that is linear in its length: four times the lines take less than eight times the
// time.
func TestQuotedLinear(t *testing.T) {
	for name, line := range map[string]string{
		"ends in the next line": "a,\"\"\",x\",\"z\n",
		"ends nowhere":          "\"x\n",
		"too many cells":        "a,b\",c,\"d\n",
		"ends far below":        "\"x\n" + strings.Repeat("y\n", 900) + "z\",2,3\n",
	} {
		took := func(bytes int) time.Duration {
			text := "a,b\n" + strings.Repeat(line, bytes/len(line))
			least := time.Hour
			for range 3 {
				start := time.Now()
				if _, _, err := allRecords(NewMultilineCSV(strings.NewReader(text),
					Format{})); err != nil {
					t.Fatal(err)
				}
				least = min(least, time.Since(start))
			}
			return least
		}
		const short = 1 << 17
		if a, b := took(short), took(4*short); b > 8*a+50*time.Millisecond {
			t.Errorf("%s: %d bytes take %v, four times as many %v", name, short, a, b)
		}
	}
}

// BenchmarkQuoted: allowing line breaks in cells hardly slows the reading of a plain file.
func BenchmarkQuoted(b *testing.B) {
	text := "id,age,sex,note\n" + strings.Repeat("12345,71,female,\"a note, quoted\"\n23456,55,male,another\n", 20000)
	for name, open := range map[string]func(io.Reader, Format) (Rows,
		error){"lines": NewLines, "quoted": NewMultilineCSV} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				rows, err := open(strings.NewReader(text), Format{})
				for err == nil {
					_, _, err = rows.Next()
				}
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
		})
	}
}
