package files

import (
	"bytes"
	"encoding/binary"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"caucus/dataset"
)

func testFile(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// drafted proposes how to read a file, as agent map does, and collects its records.
func drafted(t *testing.T, b []byte, w TextFormat) (TextFormat, []string, dataset.CollectedRows) {
	t.Helper()
	in := bytes.NewReader(b)
	form, err := Detect(in, in.Size(), w)
	if err != nil {
		t.Fatal(err)
	}
	w, notes, err := ProposeTextFormat(in, in.Size(), form, w,
		[]string{"died", "age", "crea", "sex"})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := OpenForPerson(in, in.Size(), form, w)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := dataset.CollectRows(rows)
	if err != nil {
		t.Fatal(err)
	}
	return w, notes, lines
}

// TestFilesAsPeopleHaveThem: the sums are pandas' of the same files, whose 300 records are the same
// in all but 17-duration.parquet, where age is a duration.
func TestFilesAsPeopleHaveThem(t *testing.T) {
	for name, c := range map[string]struct {
		draft   TextFormat // proposed
		escape  string     // named by hand
		age     float64
		remarks []dataset.Remark
	}{
		"09-short-rows.csv": {age: 16280, remarks: []dataset.Remark{
			{Problem: dataset.ProblemShortRow,
				Count: 60, First: 2}}},
		"11-lone-cr.csv": {age: 16280, remarks: []dataset.Remark{
			{Problem: dataset.ProblemLoneReturn,
				Count: 30, First: 2}}},
		"17-duration.parquet": {age: 3037, remarks: []dataset.Remark{{Column: "age",
			Problem: dataset.ProblemSpanOfDays}}},
		"20-title.xlsx": {age: 16280, draft: TextFormat{FirstRow: 3}},
		"22-trailing.csv": {age: 16280, remarks: []dataset.Remark{
			{Problem: dataset.ProblemEmptyCells,
				Count: 300, First: 2}}},
		"27-cover.xlsx":    {age: 16280, draft: TextFormat{Sheet: "Data"}},
		"29-backslash.csv": {age: 16280, escape: `\`},
	} {
		w, _, lines := drafted(t, testFile(t, name), TextFormat{Escape: c.escape})
		if c.draft.Escape = c.escape; !equalWritten(w, c.draft) {
			t.Errorf("%s: the draft is %+v, want %+v", name, w, c.draft)
		}
		sums := map[string]float64{}
		for i := range lines.Table.Rows() {
			for _, column := range []string{"age", "crea"} {
				cell, _ := lines.Table.Cell(i, column)
				v, err := strconv.ParseFloat(cell, 64)
				if err != nil {
					t.Fatalf("%s: row %d: %s is %q", name, i, column, cell)
				}
				sums[column] += v
			}
		}
		women, died := lines.Table.Distinct("sex")["F"], lines.Table.Distinct("died")["yes"]
		if lines.Malformed > 0 || lines.Table.Rows() != 300 || math.Abs(sums["age"]-c.age) > 1e-9 ||
			math.Abs(sums["crea"]-331.44) > 1e-9 || women != 153 || died != 85 {
			t.Errorf("%s: %d records, %d malformed, sums %v, %d women, %d died", name,
				lines.Table.Rows(), lines.Malformed, sums, women, died)
		}
		if !slices.Equal(lines.Remarks, c.remarks) {
			t.Errorf("%s: remarks %v, want %v", name, lines.Remarks, c.remarks)
		}
	}
	if _, _, _, err := read(testFile(t, "01-lz4.parquet"), TextFormat{}); err == nil ||
		!strings.Contains(err.Error(), "column age is packed with LZ4_RAW, which is not read") {
		t.Errorf("LZ4_RAW: %v", err)
	}
	_, _, lines := drafted(t, testFile(t, "29-backslash.csv"), TextFormat{})
	if want := []dataset.Remark{{Problem: dataset.ProblemBackslash, Count: 60,
		First: 2}}; !slices.Equal(lines.Remarks, want) {
		t.Errorf("backslashes without escape: %v", lines.Remarks)
	}
}

func equalWritten(a, b TextFormat) bool {
	return a.Encoding == b.Encoding && a.Delimiter == b.Delimiter && a.Escape == b.Escape &&
		a.FirstRow == b.FirstRow &&
		a.Comment == b.Comment && a.Sheet == b.Sheet && slices.Equal(a.Header, b.Header)
}

// TestPropose: the table is found below titles, by its delimiter; a header is never taken from a
// record.
func TestPropose(t *testing.T) {
	rows := strings.Repeat("70;1,2;F;no\n71;1,3;M;yes\n", 5)
	for name, c := range map[string]struct {
		text string
		want TextFormat
	}{
		"nothing":    {"", TextFormat{}},
		"plain":      {"age,crea,sex,died\n70,1.2,F,no\n", TextFormat{}},
		"semicolons": {"age;crea;sex;died\n" + rows, TextFormat{Delimiter: ";"}},
		"sep=": {"sep=;\nage;crea;sex;died\n" + rows, TextFormat{Delimiter: ";",
			FirstRow: 2}},
		"title": {"Report, ward 7, of 2024\n\nage;crea;sex;died\n" + rows,
			TextFormat{Delimiter: ";", FirstRow: 3}},
		"wide title": {"Report;of;ward;7\nage;crea;sex;died\n" + rows,
			TextFormat{Delimiter: ";", FirstRow: 2}},
		"other names": {"Ward 7\nAlter;Krea;Geschlecht;tot\n" + rows, TextFormat{Delimiter: ";",
			FirstRow: 2}},
		"no names": {rows, TextFormat{Delimiter: ";"}},
		"row names": {"age crea sex died\n" + strings.Repeat("\"1\" 70 1.2 F no\n", 9),
			TextFormat{Delimiter: " "}},
		"words below": {"a,b,c\nx,y,z\nu,v,w\n", TextFormat{}},
		"tabs, short rows": {"age\tcrea\tsex\tdied\n70\t1\n71\n72\t1\tF\tno\n",
			TextFormat{Delimiter: "\t"}},
		"names that count": {"0,1,2\n3,4,5\n", TextFormat{}},
		"all in backslashes": {"age,crea,note\n" + strings.Repeat("70,1,\"a \\\"b\\\", c\"\n", 9),
			TextFormat{}},
		"psql": {" age | crea | sex \n-----+------+-----\n  70 |    1 | F   \n  71 |    2 | M   \n",
			TextFormat{Delimiter: "|"}},
		"blank lines, notes": {"\n\nNote\n\nage,crea\n1,2\n3,4\n", TextFormat{FirstRow: 5}},
	} {
		in := strings.NewReader(c.text)
		got, _, err := ProposeTextFormat(in, in.Size(), Format{Kind: Text, Encoding: utf8Text},
			TextFormat{},
			[]string{"died", "age", "crea", "sex"})
		if err != nil || !equalWritten(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, c.want)
		}
	}
}

func TestProposeComment(t *testing.T) {
	for text, want := range map[string]string{
		"a,b,c\n1,2,3\n4,5,6\n(2 rows)\n":           "(",
		"a,b,c\n1,2,3\n4,5,6\nTotal: 2\n":           "Total:",
		"a,b,c\n---,---,---\n1,2,3\n4,5,6\n":        "--",
		"a,b,c\nP1,2,3\nP2,5,6\nP3\n":               "",
		"a,b,c\n1,2,3\n4,5,6\n7\n":                  "",
		"a,b,c\n1,2,3\n4,5,6\n":                     "",
		"a,b,c\n(1,2,3\n4,5,6\n(2 rows)\n":          "",
		"a,b\n1,2\n3,4\nnote\n":                     "",
		"a,b,c\n1,2,3\n4,5,6\nSource: the ward,,\n": "Source: the ward",
	} {
		_, _, lines := drafted(t, []byte(text), TextFormat{})
		if got, _ := ProposeComment(lines.Table); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestWorkbookNameSpaces: an extension's element of the same local name changes nothing. The file
// has dates counted from 1904 and x15:workbookPr; openpyxl reads 1950-03-13, 26:30 and 08:30.
func TestWorkbookNameSpaces(t *testing.T) {
	want := [][]string{{"born", "stay", "clock"}, {"1950-03-13", "1.10416666666667", "08:30:00"},
		{"2024-07-01 22:30:00", "0.0625", "00:00:00"}}
	b := testFile(t, "dates-1904.xlsx")
	_, rows, _, err := read(b, TextFormat{})
	if err != nil || !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("%q, %v, want %q", rows, err, want)
	}
	if _, _, lines := drafted(t, b, TextFormat{}); !slices.Equal(lines.Remarks,
		[]dataset.Remark{{Column: "stay", Problem: dataset.ProblemSpanOfDays, Count: 2}}) {
		t.Errorf("remarks %v", lines.Remarks)
	}
}

// TestArrowTypes: types that Parquet lacks, or has under another name, are read as pyarrow wrote
// them.
func TestArrowTypes(t *testing.T) {
	_, _, lines := drafted(t, testFile(t, "arrow-types.parquet"), TextFormat{})
	for column, want := range map[string][]string{
		"d_s": {"1", "-0.041666666666666664", ""}, "d_ms": {"1", "0.0625", ""}, "d_ns": {"1",
			"1.1574074074074074e-14", ""}, "f16": {"1.5", "-2", ""},
		"tz":    {"2024-07-02 00:30:00+02:00", "2024-01-02 00:00:00+01:00", ""},
		"tzoff": {"2024-07-02 04:00:00+05:30", "2024-01-02 04:30:00+05:30", ""},
		"utc":   {"2024-07-01 22:30:00Z", "2024-01-01 23:00:00Z", ""}, "naive": {"2024-07-01 " +
			"22:30:00", "2024-01-01 23:00:00", ""},
		"s.y.z": {"q", "r", ""}, "u8": {"200", "1", ""}, "u32": {"4294967295", "1", ""},
		"u64": {"18446744073709551615", "1", ""}, "i8": {"-5", "1", ""},
	} {
		var got []string
		for i := range lines.Table.Rows() {
			cell, _ := lines.Table.Cell(i, column)
			got = append(got, cell)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", column, got, want)
		}
	}
	var told []string
	for _, r := range lines.Remarks {
		told = append(told, r.String())
	}
	if got, want := strings.Join(told, "; "), "d_s: spans of time, read as days; d_ms: spans of "+
		"time, read as days; d_ns: spans of time, read as days; "+
		"l: a list or map, left out; m: a list or map, left out; bin: 1 cell no UTF-8 text, taken "+
		"for missing"; got != want {
		t.Errorf("told %s, want %s", got, want)
	}
	if _, rows, _, err := read(testFile(t, "empty-groups.parquet"), TextFormat{}); err != nil ||
		len(rows) != 7 || rows[6][1] != "z" {
		t.Errorf("row groups without rows: %q, %v", rows, err)
	}
}

// TestContradiction: a file is refused if its values contradict its own statistics.
func TestContradiction(t *testing.T) {
	whole := testFile(t, "arrow-types.parquet")
	footer := len(whole) - 8 - int(binary.LittleEndian.Uint32(whole[len(whole)-8:]))
	le := binary.LittleEndian
	for column, change := range map[string]struct{ from, to []byte }{
		"u64":   {le.AppendUint64(nil, math.MaxUint64), le.AppendUint64(nil, 7)},
		"u32":   {le.AppendUint32([]byte{4}, math.MaxUint32), le.AppendUint32([]byte{4}, 7)},
		"i8":    {le.AppendUint32([]byte{4}, 0xfffffffb), le.AppendUint32([]byte{4}, 0)},
		"d_ns":  {le.AppendUint64(nil, 86400000000000), le.AppendUint64(nil, 86400000000001)},
		"s.y.z": {[]byte("\x01r"), []byte("\x01q")},
	} {
		b := slices.Concat(whole[:footer], bytes.ReplaceAll(whole[footer:], change.from, change.to))
		if bytes.Equal(b, whole) {
			t.Fatalf("%s: the statistics are not in the footer", column)
		}
		if _, _, _, err := read(b, TextFormat{}); err == nil || !strings.Contains(err.Error(),
			"column "+column+" in row group 1 is not what the file's own smallest and largest "+
				"values say") {
			t.Errorf("%s: %v", column, err)
		}
	}
}

// TestContradictionOfEachGroup: a text is compared in each row group, also if an earlier one has
// it.
func TestContradictionOfEachGroup(t *testing.T) {
	type row struct {
		Sex string `parquet:"sex"`
	}
	var out bytes.Buffer
	w := parquet.NewGenericWriter[row](&out, parquet.MaxRowsPerRowGroup(4))
	if _, err := w.Write(slices.Repeat([]row{{"female"}, {"male"}}, 4)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	b := out.Bytes()
	copy(b[bytes.LastIndex(b, []byte("female")):], "gemale") // the last group's smallest value
	if _, _, _, err := read(b, TextFormat{}); err == nil ||
		!strings.Contains(err.Error(), "column sex in row group 2") {
		t.Errorf("a row group whose smallest text is not the file's is read: %v", err)
	}
}

// TestStatisticsAgree: no file of the library's own writer contradicts itself, whatever its values.
func TestStatisticsAgree(t *testing.T) {
	type row struct {
		A int64    `parquet:"a"`
		B uint32   `parquet:"b"`
		C *float64 `parquet:"c,optional"`
		D string   `parquet:"d,dict"`
		E float32  `parquet:"e"`
		F *string  `parquet:"f,optional"`
	}
	rapid.Check(t, func(t *rapid.T) {
		float := rapid.SampledFrom([]float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), -1.5,
			3})
		made := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) row {
			c, f := float.Draw(t, "c"), rapid.StringN(0, 9, 99).Draw(t, "f")
			r := row{A: rapid.Int64().Draw(t, "a"), B: rapid.Uint32().Draw(t, "b"), C: &c, D: f,
				E: float32(float.Draw(t, "e")), F: &f}
			if rapid.Bool().Draw(t, "null") {
				r.C, r.F = nil, nil
			}
			return r
		}), 0, 20).Draw(t, "rows")
		var out bytes.Buffer
		w := parquet.NewGenericWriter[row](&out, parquet.MaxRowsPerRowGroup(4))
		_, err := w.Write(made)
		if err == nil {
			err = w.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, rows, _, err := read(out.Bytes(), TextFormat{}); err != nil ||
			len(rows) != len(made)+1 {
			t.Fatalf("%d rows of %d, %v", len(rows)-1, len(made), err)
		}
	})
}

// TestBooleanRuns: booleans as run lengths, which the library reads wrongly, in pages of either
// version as pyarrow writes them: with nulls and without, and in runs that end within a byte.
func TestBooleanRuns(t *testing.T) {
	for _, name := range []string{"bool-v1", "bool-v2", "bool-v2-zstd"} {
		_, rows, _, err := read(testFile(t, name+".parquet"), TextFormat{})
		if err != nil {
			t.Fatal(name, err)
		}
		for i, row := range rows[1:] {
			alive := strconv.FormatBool(i < 90)
			died := strconv.FormatBool(i%100 < 13)
			if i%10 == 3 {
				died = ""
			}
			if want := []string{alive, died}; !slices.Equal(row, want) {
				t.Fatalf("%s, row %d: %v, want %v", name, i, row, want)
			}
		}
		if len(rows) != 301 {
			t.Errorf("%s: %d rows", name, len(rows)-1)
		}
	}
}

// TestLastHalfSecond: an Excel date falls on the day of its number's whole part, in both calendars.
// A number less than half a millisecond below a day is that day, because binary fractions are
// inexact.
func TestLastHalfSecond(t *testing.T) {
	for _, c := range []struct {
		serial float64
		want   string
	}{
		{45292 - 0.003/86400, "2023-12-31 23:59:59.997"},
		{45292 - 0.4/86400, "2023-12-31 23:59:59.6"},
		{45292 - 1e-9, "2024-01-01"},
		{45292 + 30600.0/86400, "2024-01-01 08:30:00"},
		{45292 + 30600.5/86400, "2024-01-01 08:30:00.5"},
	} {
		if got, ok := serialText(c.serial, false, false); !ok || got != c.want {
			t.Errorf("%.12f is %q, want %q", c.serial, got, c.want)
		}
		if got, ok := serialText(c.serial-1462, true, false); !ok || got != c.want {
			t.Errorf("%.12f from 1904 is %q, want %q", c.serial-1462, got, c.want)
		}
	}
}

// TestShiftedRow: a row with one delimiter too many is malformed, even if its last cell is empty,
// both for a person and in a study. If nearly all rows end with one delimiter more than the names,
// that one is dropped, and a row with a further one is malformed.
func TestShiftedRow(t *testing.T) {
	const names = "died,dose,crea,remark"
	rows := []string{"no,5,1.1,", `yes,"2",0.9,ok`, "no,2,5,1.0,", "no,5,1.2,", "no,7,5,1.3,"}
	for range 20 {
		rows = append(rows, "yes,5,1.1,")
	}
	for _, end := range []string{"", ",", ",,"} {
		text := names + "\n" + strings.Join(rows, end+"\n") + end + "\n"
		for name, open := range map[string]func(io.ReaderAt, int64, Format,
			TextFormat) (dataset.Rows,
			error){"open": Open, "for a person": OpenForPerson} {
			form, got, malformed, err := readBy(open, []byte(text), TextFormat{})
			if err != nil || malformed != 2 || len(got) != len(rows)-1 || form.Width != 4+len(end) {
				t.Fatalf("%s, end %q: %d malformed, %d rows, %+v: %v", name, end, malformed,
					len(got)-1, form, err)
			}
			for _, row := range got[1:] {
				if v, err := strconv.ParseFloat(row[2], 64); err != nil || v > 1.2 {
					t.Errorf("%s, end %q: %q is no row of the file", name, end, row)
				}
			}
		}
	}
	// A declaration of an earlier version has no width: what it reads stays.
	in := strings.NewReader(names + "\nno,5,1.1,,\n")
	lines, err := Open(in, in.Size(), Format{Kind: Text, Encoding: utf8Text}, TextFormat{})
	if err != nil {
		t.Fatal(err)
	}
	if cells, ok, err := lines.Next(); !ok || err != nil || cells[2] != "1.1" {
		t.Errorf("without a width: %q, %v, %v", cells, ok, err)
	}
}
