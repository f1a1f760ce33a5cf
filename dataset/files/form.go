package files

import (
	"archive/zip"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/klauspost/compress/zstd"

	"caucus/dataset"
)

// FileType is a kind of file. Detect finds it by the first bytes, and Open takes it as given.
type FileType string

// The kinds have the names that declarations and messages contain. Text has lines and a delimiter;
// the others are containers.
const (
	Text     FileType = "text"
	Workbook FileType = "xlsx"
	Parquet  FileType = "parquet"
)

// Compression is a compression around the whole file. Workbooks and Parquet pack their own parts,
// and have none here.
type Compression string

// The packings have the names that declarations contain; none is the empty one.
const (
	Uncompressed Compression = ""
	Gzip         Compression = "gzip"
	Zstd         Compression = "zstd"
)

// Format is the result of Detect.
type Format struct {
	Kind        FileType    `json:"kind"`
	Compression Compression `json:"packing,omitempty"`
	// Encoding of text, as one of the names that TextFormat accepts.
	Encoding string `json:"encoding,omitempty"`
	// Width is the number of cells of a row of text: of the names, or more if nearly all of the
	// first rows end in as many empty cells after them. 0 in declarations of earlier versions: any
	// empty cells are dropped.
	Width int `json:"width,omitempty"`
}

// IsContainer reports whether a file is read as a whole, so that one damaged byte may lose all its
// records.
func (f Format) IsContainer() bool { return f.Kind != Text }

// String describes the format to a person, as in "text, latin1, packed with gzip".
func (f Format) String() string {
	switch f.Kind {
	case Workbook:
		return "an Excel workbook"
	case Parquet:
		return "Parquet"
	}
	words := "text"
	if f.Encoding != "" {
		words += ", " + f.Encoding
	}
	if f.Compression != Uncompressed {
		words += ", packed with " + string(f.Compression)
	}
	return words
}

// Cells estimates the time to read one cell of this format, in cells of plain text. Callers limit a
// file's time by it (agent/TestCellsBoundTime). XML is scanned with its tags, and numbers are
// rewritten.
func (f Format) Cells() float64 {
	switch {
	case f.Kind == Workbook:
		return 16
	case f.Kind == Parquet:
		return 3
	case f.Compression != Uncompressed || f.Encoding != utf8Text:
		return 2
	}
	return 1
}

// maxWindow bounds zstd's window, which the zstd tool exceeds only with --ultra.
const maxWindow = 64 << 20

const head = 1 << 16

// Detect recognises a file by its first bytes. Its errors are for the person who declares the file,
// and name the detected format and the next step.
func Detect(r io.ReaderAt, size int64, w TextFormat) (Format, error) {
	if err := w.Validate(); err != nil {
		return Format{}, err
	}
	f := Format{Kind: Text}
	start, err := firstBytes(io.NewSectionReader(r, 0, size))
	if err != nil {
		return Format{}, err
	}
	switch {
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		f.Compression = Gzip
	case bytes.HasPrefix(start, []byte("\x28\xb5\x2f\xfd")):
		f.Compression = Zstd
	}
	if f.Compression != Uncompressed {
		plain, err := unpacked(io.NewSectionReader(r, 0, size), f.Compression, budgetOf(size))
		if err == nil {
			start, err = firstBytes(plain)
		}
		if err != nil {
			return Format{}, fmt.Errorf("it begins as %s does and cannot be unpacked: %w",
				f.Compression, err)
		}
	}
	switch {
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		f.Kind = Workbook
	case bytes.HasPrefix(start, []byte("PAR1")):
		f.Kind = Parquet
	default:
		if err = knownOther(start); err == nil {
			f.Encoding, err = w.detectEncoding(start)
		}
		if err == nil {
			f.Width, err = w.width(start, f.Encoding)
		}
		return f, err
	}
	if f.Compression != Uncompressed {
		return Format{}, fmt.Errorf("it is %s, packed with %s: unpack it first", f, f.Compression)
	}
	if f.Kind == Workbook {
		return f, checkWorkbook(r, size)
	}
	return f, nil
}

// width returns Format.Width of a text by its beginning, 0 if there is no line of names.
func (t TextFormat) width(start []byte, encoding string) (int, error) {
	plain, err := decoded(bytes.NewReader(start), encoding)
	if err != nil {
		return 0, err
	}
	lines, err := dataset.PreviewCells(plain, t.format(), head)
	if len(start) == head && len(lines) > 1 {
		lines = lines[:len(lines)-1] // it may be cut
	}
	lines = lines[min(max(0, t.FirstRow-1), len(lines)):]
	lines = slices.DeleteFunc(lines, func(cells []string) bool { return cells == nil })
	names := len(t.format().Columns)
	if names == 0 && len(lines) > 0 {
		names, lines = len(lines[0]), lines[1:]
	}
	widths, rows := map[int]int{}, 0
	for _, cells := range lines {
		if len(cells) < names {
			continue
		}
		rows++
		if strings.Join(cells[names:], "") == "" {
			widths[len(cells)]++
		}
	}
	for n, of := range widths {
		if 10*of >= 9*rows {
			return n, err
		}
	}
	return names, err
}

func firstBytes(r io.Reader) ([]byte, error) {
	b, err := bufio.NewReaderSize(r, head).Peek(head)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return b, nil
}

var markup = regexp.MustCompile(`^(?i:\s*<(!doctype html|html|head|meta|table|div|style))\b`)

// stata begins files of Stata 8 and later: their version, the order of bytes and a 1, or a tag.
var stata = regexp.MustCompile(`^(?:[\x71-\x73][\x01\x02]\x01|<stata_dta>)`)

// jsonText begins a list of objects, or objects on lines of their own.
var jsonText = regexp.MustCompile(`^\s*(?:\[\s*)?\{\s*"[^"]*"\s*:`)

func knownOther(start []byte) error {
	// many programs name such a file .xls
	if markup.Match(bytes.TrimPrefix(start, []byte("\ufeff"))) {
		return errors.New("it is an HTML page: save it as .xlsx or CSV")
	}
	if stata.Match(start) {
		return errors.New("it is a Stata file: export it as CSV")
	}
	if jsonText.Match(start) {
		return errors.New("it is JSON: export the table as CSV")
	}
	for _, other := range []struct{ magic, words string }{
		{"\xd0\xcf\x11\xe0", "an old Excel workbook (.xls), or one with a password: save it as .xlsx without one, or as CSV"},
		{"SQLite format 3\x00", "an SQLite database: export the table as CSV"},
		{"$FL2", "an SPSS file: export it as CSV"},
		{"$FL3", "an SPSS file: export it as CSV"},
		{"<?xml", "XML: save it as .xlsx or CSV"},
		{"FEA1", "a Feather file: write it as Parquet or CSV"},
		{"ARROW1", "an Arrow (Feather) file: write it as Parquet or CSV"},
		{"ORC", "an ORC file: write it as Parquet or CSV"},
		{"%PDF", "a PDF: export the table as CSV"},
		{"7z\xbc\xaf", "a 7z archive: unpack it first"},
		{"BZh", "packed with bzip2: unpack it, or pack it with gzip or zstd"},
		{"\xfd7zXZ", "packed with xz: unpack it, or pack it with gzip or zstd"},
		{"\x89HDF", "an HDF5 file: export the table as CSV"},
	} {
		if bytes.HasPrefix(start, []byte(other.magic)) {
			return fmt.Errorf("it is %s", other.words)
		}
	}
	return nil
}

func checkWorkbook(r io.ReaderAt, size int64) error {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return fmt.Errorf("it begins as an Excel workbook does and is damaged: %w: save it anew", err)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == name })
	}
	switch {
	case has("xl/workbook.xml"):
		return nil
	case has("xl/workbook.bin"):
		return errors.New("it is a binary Excel workbook (.xlsb): save it as .xlsx, or as CSV")
	case has("content.xml"):
		return errors.New("it is an OpenDocument file: save it as .xlsx, or as CSV")
	}
	return errors.New("it is a zip archive and no Excel workbook: unpack it, and name the file in it")
}

// EncodingError reports text that is not in the given encoding, or not in UTF-8 by default.
type EncodingError struct {
	LikelyEncoding string // the probable encoding, a name that TextFormat accepts
	words          string
}

// Error says what is wrong with the text and which encoding to name. It quotes no cell.
func (e *EncodingError) Error() string { return e.words }

func notNamed(probably, words string) error { return &EncodingError{probably, words} }

func (t TextFormat) detectEncoding(start []byte) (string, error) {
	mark := ""
	switch {
	case bytes.HasPrefix(start, []byte("\xff\xfe")):
		mark = utf16LE
	case bytes.HasPrefix(start, []byte("\xfe\xff")):
		mark = utf16BE
	}
	named := canonicalEncoding(t.Encoding)
	switch {
	case named == utf16Any && mark == "":
		return "", errors.New("encoding: utf-16: the file has no mark that says which one: write utf-16le (as Windows does), or utf-16be")
	case named == utf16Any:
		return mark, nil
	case named != "":
		return named, nil
	case mark != "":
		return "", notNamed(utf16Any, "it is UTF-16, as Excel's \"Unicode text\" is: write encoding: utf-16 in the mapping (and delimiter: \"\\t\", if it is from Excel)")
	}
	line, _, _ := bytes.Cut(start, []byte("\n"))
	if n := bytes.Count(line, []byte("\x00")); n > 0 && n >= len(line)/3 {
		return "", notNamed(utf16LE, "it looks like UTF-16 without a mark: write encoding: utf-16le in the mapping, or utf-16be")
	}
	if !utf8.Valid(line) && len(line) < len(start) {
		return "", notNamed("windows-1252", "its first line is no UTF-8: name its encoding, by --encoding or in the mapping: encoding: latin1 is usual in western Europe, windows-1252 on Windows")
	}
	return utf8Text, nil
}

func unpacked(r io.Reader, p Compression, most budget) (io.Reader, error) {
	switch p {
	case Gzip:
		z, err := gzip.NewReader(bufio.NewReaderSize(r, 1<<16))
		if err != nil {
			return nil, err
		}
		return &limited{z, most}, nil
	case Zstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
		return &limited{z, most}, nil // needs no Close, because z runs without goroutines
	}
	return r, nil
}

type limited struct {
	in io.Reader
	budget
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	if over := l.take(int64(n)); over != nil {
		return 0, over
	}
	return n, err
}

// Open returns the records of a file whose format is known. It fails if the file has another
// format, or lacks a required header.
func Open(r io.ReaderAt, size int64, f Format, w TextFormat) (dataset.Rows, error) {
	return open(r, size, f, w, false, budgetOf(size))
}

// OpenForPerson opens a file like Open, for an import that a person checks. Quoted cells may
// contain line breaks. No study uses OpenForPerson ([dataset.NewMultilineCSV] gives the reason).
func OpenForPerson(r io.ReaderAt, size int64, f Format, w TextFormat) (dataset.Rows, error) {
	return open(r, size, f, w, true, budgetOf(size))
}

func open(
	r io.ReaderAt, size int64, f Format, w TextFormat, person bool, most budget,
) (rows dataset.Rows, err error) {
	if err := w.Validate(); err != nil {
		return nil, err
	}
	switch f.Kind {
	case Workbook:
		rows, err = openWorkbook(r, size, w, most)
	case Parquet:
		if rows, err = openParquet(r, size, most); err != nil {
			return nil, err
		}
		return typedRows{&within{rows, most}, rows.(typed)}, nil
	default:
		unpacks := most
		if !person {
			unpacks = budget{maxText, maxText}
		}
		var plain io.Reader
		if plain, err = decode(io.NewSectionReader(r, 0, size), f, unpacks); err != nil {
			return nil, err
		}
		text := dataset.NewLines
		if person {
			text = dataset.NewMultilineCSV
		}
		format := w.format()
		format.Width = f.Width
		rows, err = text(plain, format)
	}
	if err != nil {
		return nil, err
	}
	text, _ := rows.(interface{ Held() int })
	cells, isSheet := rows.(typed)
	rows = &around{Rows: rows, text: text, w: w, person: person,
		like: make([]string, len(rows.Columns()))}
	if person {
		rows = &within{rows, most}
	}
	if isSheet {
		rows = typedRows{rows, cells}
	}
	return rows, nil
}

// typed tells of each cell of the last record whether it is a number, and not a text. Rows of
// workbooks and Parquet do: package mapping applies decimal signs to texts alone.
type typed interface{ IsNumber(column int) bool }

type typedRows struct {
	dataset.Rows
	typed
}

// decode returns the text of a file, unpacked to at most most bytes and as UTF-8.
func decode(r io.Reader, f Format, most budget) (io.Reader, error) {
	plain, err := unpacked(r, f.Compression, most)
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", f.Compression, err)
	}
	return decoded(plain, f.Encoding)
}

// OpenStrict is OpenForPerson, except that a malformed record is an error with its place.
func OpenStrict(r io.ReaderAt, size int64, f Format, w TextFormat) (dataset.Rows, error) {
	rows, err := OpenForPerson(r, size, f, w)
	if err != nil {
		return nil, err
	}
	if cells, ok := rows.(typed); ok {
		return typedRows{strict{rows}, cells}, nil
	}
	return strict{rows}, nil
}

type strict struct{ dataset.Rows }

func (s strict) Next() ([]string, bool, error) {
	cells, ok, err := s.Rows.Next()
	if err != nil || ok {
		return cells, ok, err
	}
	names := s.Columns()
	hint := "its quotes and delimiters"
	if d, ok := dataset.LikelyDelimiter(names); ok {
		hint = fmt.Sprintf("the delimiter, which looks like %q", d)
	}
	return nil, false, fmt.Errorf("line %d is no row of %d cells: check %s", s.Place(), len(names),
		hint)
}
