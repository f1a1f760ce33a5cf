package files

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"caucus/dataset"
	"caucus/dataset/public"
)

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := z.Write(b)
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func zstded(t testing.TB, b []byte) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return z.EncodeAll(b, nil)
}

// workbook writes cells with the library excelize.
func workbook(t testing.TB, sheet string, fill func(*excelize.File)) []byte {
	t.Helper()
	f := excelize.NewFile()
	if err := f.SetSheetName("Sheet1", sheet); err != nil {
		t.Fatal(err)
	}
	fill(f)
	var out bytes.Buffer
	if err := errors.Join(f.Write(&out), f.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// read detects and reads a file.
func read(b []byte, w TextFormat) (Format, [][]string, int, error) { return readBy(Open, b, w) }

func readBy(open func(io.ReaderAt, int64, Format, TextFormat) (dataset.Rows, error), b []byte,
	w TextFormat) (Format, [][]string, int, error) {
	in := bytes.NewReader(b)
	form, err := Detect(in, in.Size(), w)
	if err != nil {
		return form, nil, 0, err
	}
	rows, err := open(in, in.Size(), form, w)
	if err != nil {
		return form, nil, 0, err
	}
	out := [][]string{rows.Columns()}
	malformed := 0
	for {
		cells, ok, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return form, out, malformed, nil
		}
		if err != nil {
			return form, out, malformed, err
		}
		if !ok {
			malformed++
			continue
		}
		out = append(out, slices.Clone(cells))
	}
}

// TestText: text is read in every packing and encoding.
func TestText(t *testing.T) {
	const text = "größe;ort\n1,7;Köln\n1,8;\n"
	want := [][]string{{"größe", "ort"}, {"1,7", "Köln"}, {"1,8", ""}}
	encoded := func(e interface{ String(string) (string, error) }, text string) []byte {
		s, err := e.String(text)
		if err != nil {
			t.Fatal(err)
		}
		return []byte(s)
	}
	latin := encoded(charmap.ISO8859_1.NewEncoder(), text)
	little := encoded(unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder(), text)
	big := encoded(unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder(), text)
	for name, c := range map[string]struct {
		b        []byte
		encoding string
		form     Format
	}{
		"plain":        {[]byte(text), "", Format{Text, Uncompressed, "utf-8", 2}},
		"marked":       {[]byte("\xef\xbb\xbf" + text), "", Format{Text, Uncompressed, "utf-8", 2}},
		"gzip":         {gzipped(t, []byte(text)), "", Format{Text, Gzip, "utf-8", 2}},
		"zstd":         {zstded(t, []byte(text)), "", Format{Text, Zstd, "utf-8", 2}},
		"latin1":       {latin, "Latin-1", Format{Text, Uncompressed, "latin1", 2}},
		"latin1, gzip": {gzipped(t, latin), "iso-8859-1", Format{Text, Gzip, "latin1", 2}},
		"windows":      {latin, "cp1252", Format{Text, Uncompressed, "windows-1252", 2}},
		"utf-16":       {little, "UTF-16", Format{Text, Uncompressed, "utf-16le", 2}},
		"utf-16 big":   {big, "utf16", Format{Text, Uncompressed, "utf-16be", 2}},
		"utf-16 bare":  {little[2:], "utf-16le", Format{Text, Uncompressed, "utf-16le", 2}},
		"utf-16, zstd": {zstded(t, big), "utf-16", Format{Text, Zstd, "utf-16be", 2}},
	} {
		form, rows, malformed, err := read(c.b, TextFormat{Encoding: c.encoding, Delimiter: ";"})
		if err != nil || form != c.form || malformed > 0 ||
			!slices.EqualFunc(rows, want, slices.Equal) {
			t.Errorf("%s: %+v, %q, %d malformed, %v", name, form, rows, malformed, err)
		}
	}
	for name, c := range map[string]struct {
		b       []byte
		written TextFormat
		want    string
	}{
		"latin1 unnamed":   {latin, TextFormat{}, "encoding: latin1"},
		"utf-16 unnamed":   {little, TextFormat{}, "encoding: utf-16"},
		"utf-16 unmarked":  {little[2:], TextFormat{}, "encoding: utf-16le"},
		"which utf-16":     {little[2:], TextFormat{Encoding: "utf-16"}, "utf-16le"},
		"old workbook":     {[]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), TextFormat{}, "save it as .xlsx"},
		"Stata 10":         {[]byte("\x72\x02\x01\x00\x00\x00"), TextFormat{}, "Stata"},
		"Stata 14":         {[]byte("<stata_dta><header>"), TextFormat{}, "Stata"},
		"Arrow":            {[]byte("ARROW1\x00\x00"), TextFormat{}, "Arrow"},
		"ORC":              {[]byte("ORC\x11\x00"), TextFormat{}, "ORC"},
		"XML":              {[]byte("<?xml version=\"1.0\"?><a/>"), TextFormat{}, "XML"},
		"JSON":             {[]byte("[\n {\"age\": 50}]"), TextFormat{}, "JSON"},
		"JSON lines":       {[]byte("{\"age\": 50}\n"), TextFormat{}, "JSON"},
		"bzip2":            {[]byte("BZh91AY"), TextFormat{}, "bzip2"},
		"zip":              {zipped(t, "a.csv", "a,b\n"), TextFormat{}, "unpack it"},
		"opendocument":     {zipped(t, "content.xml", "<x/>"), TextFormat{}, "OpenDocument"},
		"zip cut off":      {zipped(t, "xl/workbook.xml", "<x/>")[:40], TextFormat{}, "damaged"},
		"gzip cut off":     {gzipped(t, []byte(text))[:6], TextFormat{}, "cannot be unpacked"},
		"workbook in gzip": {gzipped(t, zipped(t, "xl/workbook.xml", "<x/>")), TextFormat{}, "unpack it first"},
		"parquet cut off":  {[]byte("PAR1PAR1"), TextFormat{}, "open Parquet"},
		"unknown encoding": {[]byte(text), TextFormat{Encoding: "ebcdic"}, "use one of"},
		"nothing":          {nil, TextFormat{}, "empty"},
		"no sheet":         {workbook(t, "A", func(*excelize.File) {}), TextFormat{Sheet: "B"}, "it has A"},
		"empty sheet":      {workbook(t, "A", func(*excelize.File) {}), TextFormat{}, "the sheet is empty"},
		"workbook of junk": {zipped(t, "xl/workbook.xml", "<x"), TextFormat{}, "damaged"},
	} {
		if _, _, _, err := read(c.b, c.written); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
	}
}

func zipped(t testing.TB, name, text string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create(name)
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestWorkbook: cells become the documented text, independent of Excel's display.
func TestWorkbook(t *testing.T) {
	b := workbook(t, "Patienten", func(f *excelize.File) {
		set := func(cell string, value any, format string) {
			if err := f.SetCellValue("Patienten", cell, value); err != nil {
				t.Fatal(err)
			}
			if format == "" {
				return
			}
			style, err := f.NewStyle(&excelize.Style{CustomNumFmt: &format})
			if err == nil {
				err = f.SetCellStyle("Patienten", cell, cell, style)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		for i, name := range []string{"Geburt", "Wert", "Ort", "ja", ""} {
			if name != "" {
				set(fmt.Sprintf("%c2", 'A'+i), name, "") // the first row is empty
			}
		}
		set("A3", 18335, "dd.mm.yyyy")
		set("B3", 0.1+0.2, "0.0")
		set("C3", " Köln <&> \"x\" ", "")
		set("D3", true, "")
		set("A5", 45000.354166666664, "yyyy-mm-dd hh:mm")
		set("B5", 1234567.0, "#,##0 \"days\"")
		set("C5", "1,5", "")
		set("D5", false, "")
		set("A6", 60, "d/m/yy")
		set("B6", 1e-7, "")
		set("A7", 0.5, "h:mm")
		set("B7", -0.5, "[Red]0.0;[Blue]-0.0")
		set("A8", -1, "dd.mm.yyyy")
		set("B8", 1e300, "")
		set("F8", "beside", "")
		set("F9", "beyond the header", "")
	})
	form, rows, malformed, err := read(b, TextFormat{})
	want := [][]string{
		{"Geburt", "Wert", "Ort", "ja"},
		{"1950-03-13", "0.3", `Köln <&> "x"`, "TRUE"},
		{"2023-03-15 08:30:00", "1234567", "1,5", "FALSE"},
		{"1900-02-29", "1e-07", "", ""},
		{"12:00:00", "-0.5", "", ""},
		{"-1", "1e+300", "", ""},
	}
	if err != nil || form != (Format{Kind: Workbook}) || malformed != 0 || !slices.EqualFunc(rows,
		want, slices.Equal) {
		t.Errorf("%+v, %d malformed, %v\n%q, want\n%q", form, malformed, err, rows, want)
	}
	if !form.IsContainer() || (Format{Kind: Text}).IsContainer() {
		t.Error("a workbook is a container, text is none")
	}
	_, rows, _, err = read(b, TextFormat{Header: []string{"a..z"}, Sheet: "Patienten"})
	if err != nil || rows[0][0] != "a..z" {
		t.Errorf("%q, %v", rows, err)
	}
	_, rows, _, err = read(b, TextFormat{FirstRow: 5, Header: []string{"a", "b"}})
	if err != nil || len(rows) != 5 || !slices.Equal(rows[1], want[2][:2]) {
		t.Errorf("from row 5: %q, %v", rows, err)
	}
	_, rows, _, err = read(b, TextFormat{FirstRow: 4, Comment: "19"})
	if err != nil || rows[0][0] != "2023-03-15 08:30:00" || len(rows) != 3 {
		t.Errorf("from row 4, which is empty: %q, %v", rows, err)
	}
	_, rows, _, err = read(b, TextFormat{Header: []string{"c1..c6"}})
	if err != nil || len(rows) != 8 || rows[1][0] != "Geburt" || rows[7][5] != "beyond the header" {
		t.Errorf("without a header: %q, %v", rows, err)
	}
}

// TestWorkbookAgrees compares texts and numbers with excelize.
func TestWorkbookAgrees(t *testing.T) {
	table, _ := public.Hospitals(public.HospitalConfig{Sites: 2, Records: 200, Seed: 3,
		SizeSkew:       1,
		ReturningShare: .25, Missing: .1})
	b := workbook(t, "S", func(f *excelize.File) {
		for j, name := range table.Columns() {
			for i := -1; i < table.Rows(); i++ {
				cell, _ := excelize.CoordinatesToCellName(j+1, i+2)
				text := name
				if i >= 0 {
					text, _ = table.Cell(i, name)
				}
				// numbers are stored as numbers
				if err := f.SetCellDefault("S", cell, text); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
	f, err := excelize.OpenReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	want, err := f.GetRows("S")
	if err != nil {
		t.Fatal(err)
	}
	_, got, malformed, err := read(b, TextFormat{})
	if err != nil || malformed > 0 || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%d rows (%v), want %d", len(got), err, len(want))
	}
}

// visit is a row of Parquet with every kind of column.
type visit struct {
	Name    string   `parquet:"name"`
	Age     int32    `parquet:"age"`
	Crea    *float64 `parquet:"crea,optional"`
	Short   float32  `parquet:"short"`
	Born    int32    `parquet:"born,date"`
	Came    int64    `parquet:"came,timestamp(millisecond)"`
	Price   int64    `parquet:"price,decimal(2:10)"`
	Alive   bool     `parquet:"alive"`
	Big     uint64   `parquet:"big"`
	Codes   []string `parquet:"codes,list"`
	Address struct {
		Town string `parquet:"town,dict,zstd"`
	} `parquet:"address"`
}

func visits(t testing.TB, rows []visit) []byte {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[visit](&out, parquet.MaxRowsPerRowGroup(3))
	_, err := w.Write(rows)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestParquetTimes: moments and times of day keep all digits, and a Z if they are in UTC. A moment
// at midnight is a date.
func TestParquetTimes(t *testing.T) {
	type times struct {
		Local  int64            `parquet:"local,timestamp(microsecond:local)"`
		Fine   int64            `parquet:"fine,timestamp(nanosecond:utc)"`
		Old    deprecated.Int96 `parquet:"old"`
		Clock  int64            `parquet:"clock,time(microsecond:local)"`
		Coarse int32            `parquet:"coarse,time(millisecond:utc)"`
	}
	const day = 86400 * 1000000
	var out bytes.Buffer
	w := parquet.NewGenericWriter[times](&out)
	_, err := w.Write([]times{
		{Local: day + 1, Fine: 1, Old: deprecated.Int96{1, 0, 2440589}, Clock: 11045120000, Coarse: 86399999},
		{Local: -1, Fine: -1, Old: deprecated.Int96{0, 0, 2440588}, Clock: day, Coarse: -1},
		{Local: day, Fine: 1e9, Old: deprecated.Int96{0, 1 << 31, 2440588}},
	})
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	_, got, _, err := read(out.Bytes(), TextFormat{})
	want := [][]string{
		{"local", "fine", "old", "clock", "coarse"},
		{"1970-01-02 00:00:00.000001", "1970-01-01 00:00:00.000000001Z", "1970-01-02 00:00:00.000000001", "03:04:05.12", "23:59:59.999Z"},
		{"1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999999Z", "1970-01-01", unreadable,
			unreadable},
		{"1970-01-02", "1970-01-01 00:00:01Z", unreadable, "00:00:00", "00:00:00Z"},
	}
	if err != nil || !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

// TestParquetOldTimes: a moment in INT96 has the zone that pandas or Arrow wrote beside it. If
// there is none, a remark says so, and the moment is in the site's own zone.
func TestParquetOldTimes(t *testing.T) {
	type row struct {
		Old deprecated.Int96 `parquet:"old"`
	}
	for zone, want := range map[string]string{
		`{"timezone": "UTC"}`:           "1970-01-02 23:30:00.5+00:00",
		`{"timezone": "Europe/Berlin"}`: "1970-01-03 00:30:00.5+01:00",
		`null`:                          "1970-01-02 23:30:00.5", "": "1970-01-02 23:30:00.5",
	} {
		var out bytes.Buffer
		w := parquet.NewGenericWriter[row](&out)
		if zone != "" {
			w.SetKeyValueMetadata("pandas", `{"columns": [{"field_name": "old", "pandas_type": `+
				`"datetimetz", "numpy_type": "datetime64[ns]", "metadata": `+zone+`}]}`)
		}
		const rest = 84600500000000 // nanoseconds until 23:30:00.5
		_, err := w.Write([]row{{deprecated.Int96{rest & (1<<32 - 1), rest >> 32, 2440589}}})
		if err := errors.Join(err, w.Close()); err != nil {
			t.Fatal(err)
		}
		_, got, lines := drafted(t, out.Bytes(), TextFormat{})
		if cells := lines.Table.Distinct("old"); cells[want] != 1 {
			t.Errorf("%s: %q, want %q", zone, got, want)
		}
		if told := len(lines.Remarks) == 1 && lines.Remarks[0].Problem == noZone; told !=
			(zone == "") {
			t.Errorf("%s: remarks %v", zone, lines.Remarks)
		}
	}
}

func TestParquet(t *testing.T) {
	crea := 0.30000000000000004
	one := visit{Name: " Ann", Age: -3, Crea: &crea, Short: 0.1, Born: -7234, Came: 1678869000123,
		Price: -5, Alive: true, Big: 1 << 63, Codes: []string{"x", "y"}}
	one.Address.Town = "Köln"
	rows := []visit{one, {Born: 1 << 30, Came: -1, Price: 12345}, {}, {}, {Age: 7}}
	form, got, _, err := read(visits(t, rows), TextFormat{})
	if err != nil || form.Kind != Parquet {
		t.Fatalf("%+v, %v", form, err)
	}
	column := func(name string) (cells []string) {
		i := slices.Index(got[0], name)
		if i < 0 {
			t.Fatalf("no column %q in %q", name, got[0])
		}
		for _, row := range got[1:] {
			cells = append(cells, row[i])
		}
		return cells
	}
	for name, want := range map[string][]string{
		"name": {"Ann", "", "", "", ""}, "age": {"-3", "0", "0", "0", "7"}, "crea": {"0.30000000000000004", "", "", "", ""}, "short": {"0.1", "0", "0", "0", "0"},
		"born": {"1950-03-13", unreadable, "1970-01-01", "1970-01-01", "1970-01-01"},
		"came": {"2023-03-15 08:30:00.123Z", "1969-12-31 23:59:59.999Z", "1970-01-01 00:00:00Z",
			"1970-01-01 00:00:00Z", "1970-01-01 00:00:00Z"},
		"price": {"-0.05", "123.45", "0.00", "0.00", "0.00"}, "alive": {"true", "false", "false", "false", "false"}, "big": {"9223372036854775808", "0", "0", "0", "0"},
		"address.town": {"Köln", "", "", "", ""},
	} {
		if cells := column(name); !slices.Equal(cells, want) {
			t.Errorf("%s: %q, want %q", name, cells, want)
		}
	}
	if len(got[0]) != 10 {
		t.Errorf("columns %q: the list has no place there", got[0])
	}
}

// bookOf returns a workbook of one sheet.
func bookOf(t *testing.T, body string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, text := range map[string]string{
		"xl/workbook.xml":            `<workbook xmlns:r="r"><sheets><sheet name="A" r:id="i"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="i" Target="/xl/s.xml"/></Relationships>`,
		"xl/s.xml":                   body,
	} {
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestUnstoredFormulas: a remark counts formula cells without a stored value. Formulas whose value
// is an empty text are not counted.
func TestUnstoredFormulas(t *testing.T) {
	text := func(s string) string { return `<c t="inlineStr"><is><t>` + s + `</t></is></c>` }
	_, rows, lines := drafted(t, bookOf(t, `<worksheet><sheetData><row>`+text("age")+text("died")+
		`</row><row><c><f>1+1</f></c>`+text("no")+`</row><row><c><f>1+1</f><v>2</v></c>`+text("no")+
		`</row><row><c t="str"><f>""</f><v></v></c>`+text("no")+`</row><row><c><f>A2</f></c>`+
		text("no")+`</row></sheetData></worksheet>`), TextFormat{})
	want := []dataset.Remark{{Problem: noStoredValue, Count: 2, First: 2}}
	if !slices.Equal(lines.Remarks, want) {
		t.Errorf("%q, remarks %v, want %v", rows, lines.Remarks, want)
	}
	if got := lines.Table.Distinct("age"); got[""] != 3 || got["2"] != 1 {
		t.Errorf("ages %v", got)
	}
}

// TestHTML: a page of HTML, as many programs save under the name .xls, is named.
func TestHTML(t *testing.T) {
	for text, want := range map[string]bool{
		"<html><table><tr><td>age</td></tr></table>": true, "\ufeff\r\n<!DOCTYPE HTML>\n": true,
		"<TABLE border=1>": true, "<meta charset=utf-8>": true, "<5,age\n": false,
		"<headers>,age\n1,2\n": false,
	} {
		in := strings.NewReader(text)
		_, err := Detect(in, in.Size(), TextFormat{})
		if said := err != nil && strings.Contains(err.Error(), "HTML"); said != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestBombs: a file that unpacks to more than allowed is an error, and takes no memory.
func TestBombs(t *testing.T) {
	const start = `<worksheet><sheetData><row><c t="str"><v>a</v></c></row><row><c t="str"><v>`
	for name, c := range map[string]struct {
		body, want string
	}{
		"one cell":    {start + strings.Repeat("x", 2*maxToken), "tags or cells has more than 4 MiB"},
		"torn":        {start + "x", "damaged"},
		"far column":  {`<worksheet><row><c t="str"><v>a</v></c></row><row><c r="ZZZZZZZZZZZZ1" t="str"><v>b</v></c><c r="A1" t="str"><v>1</v></c></row></worksheet>`, ""},
		"odd indexes": {`<worksheet><row><c t="str"><v>a</v></c></row><row><c t="s"><v>99999999999</v></c><c s="-1"><v>x</v></c></row></worksheet>`, ""},
	} {
		_, _, _, err := read(bookOf(t, c.body), TextFormat{})
		if c.want == "" && err != nil || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	l := &limited{strings.NewReader("12345"), budget{4, 4}}
	if _, err := io.ReadAll(l); err == nil || !strings.Contains(err.Error(), "becomes more") {
		t.Errorf("five bytes pass for four: %v", err)
	}
}

// TestForPerson: an import reads line breaks in quoted cells, in any packing and encoding, and
// files that are not text as Open does. OpenStrict reports a wrong line as an error.
func TestForPerson(t *testing.T) {
	const text = "größe;ort\r\n1,7;\"Köln\r\nam Rhein\"\r\n1,8\r\n1,9;Ulm\r\n"
	latin, err := charmap.ISO8859_1.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"größe", "ort"}, {"1,7", "Köln\nam Rhein"}, {"1,9", "Ulm"}}
	for name, c := range map[string]struct {
		b        []byte
		encoding string
	}{"plain": {[]byte(text), ""}, "zstd, latin1": {zstded(t, []byte(latin)), "latin1"},
		"gzip, utf-16": {gzipped(t, []byte(wide)), "utf-16"}} {
		w := TextFormat{Encoding: c.encoding, Delimiter: ";"}
		if _, rows, malformed, err := readBy(OpenForPerson, c.b, w); err != nil || malformed != 1 ||
			!slices.EqualFunc(rows, want, slices.Equal) {
			t.Errorf("%s: %q, %d malformed, %v", name, rows, malformed, err)
		}
		if _, _, _, err := readBy(OpenStrict, c.b, w); err == nil || !strings.Contains(err.Error(), "line 4 is no row of 2 cells: check its quotes and delimiters") {
			t.Errorf("%s, strictly: %v", name, err)
		}
	}
	if _, _, _, err := readBy(OpenStrict, []byte("a;b\n1,5;2\n"), TextFormat{}); err == nil ||
		!strings.Contains(err.Error(), "the delimiter, which looks like ';'") {
		t.Errorf("another delimiter: %v", err)
	}
	for name, b := range map[string][]byte{
		"workbook": workbook(t, "A", func(x *excelize.File) { x.SetCellValue("A", "A1", "x"); x.SetCellValue("A", "A2", "1\n2") }),
		"parquet":  visits(t, []visit{{}, {Name: "x"}}),
	} {
		_, want, _, errWant := read(b, TextFormat{})
		if _, rows, _, err := readBy(OpenForPerson, b, TextFormat{}); err != nil ||
			errWant != nil ||
			len(rows) < 2 || !slices.EqualFunc(rows, want, slices.Equal) {
			t.Errorf("%s: %q, %v, want %q, %v", name, rows, err, want, errWant)
		}
	}
}

// TestDamagedParquet: a file cut off anywhere, or with wrong last bytes, is an error, not a panic.
func TestDamagedParquet(t *testing.T) {
	whole := visits(t, []visit{{}, {Name: "x"}})
	for n := range len(whole) {
		if _, rows, _, err := read(whole[:n], TextFormat{Header: []string{"a"}}); err == nil &&
			n >= 4 {
			t.Fatalf("the first %d of %d bytes have %d rows", n, len(whole), len(rows))
		}
	}
	for _, length := range []string{"\xff\xff\xff\xff", "\x00\x00\x00\x00", "\xff\xff\x00\x00"} {
		lying := slices.Concat(whole[:len(whole)-8], []byte(length), []byte("PAR1"))
		if _, _, _, err := read(lying, TextFormat{}); err == nil {
			t.Errorf("a footer of %x bytes is read", length)
		}
	}
}

// FuzzRead: no bytes make the readers panic. Parquet is left to the test above, because its library
// trusts a page's size, up to 2 GiB, which would slow down ten thousand attempts.
func FuzzRead(f *testing.F) {
	f.Add([]byte("a,b\n1,2"))
	f.Add(gzipped(f, []byte("a,b\n1,2")))
	f.Add(zstded(f, []byte("a,b\n1,2")))
	f.Add(workbook(f, "A", func(x *excelize.File) {
		x.SetCellValue("A", "A1", "x")
		x.SetCellValue("A", "A2", 7)
	}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !bytes.HasPrefix(b, []byte("PAR1")) {
			_, _, _, _ = read(b, TextFormat{})
			_, _, _, _ = readBy(OpenForPerson, b, TextFormat{})
		}
	})
}
