package dataset

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Format describes a delimited text file. The zero value is comma-separated with a header.
type Format struct {
	// Delimiter separates cells; zero means a comma.
	Delimiter rune
	// Columns names the columns of a file without a header. Nil means that the first line is a
	// header.
	Columns []string
	// Comment starts lines to skip; empty means none.
	Comment string
	// FirstRow is the line, from 1, in which the names stand, or with Columns the first record.
	// Earlier lines are skipped. 0 means the first line that is not blank. [NewCSV] refuses others.
	FirstRow int
	// Width, if not 0, is the most cells of a row: further ones may be empty, after the last named
	// column, up to it. A row with more cells is malformed, even if they are empty, because a
	// delimiter in a text without quotes has shifted it. NewCSV ignores it.
	Width int
	// Escape, if not 0, is an ASCII character that makes text of the quote, the delimiter or the
	// escape after it. NewCSV refuses it.
	Escape byte
}

// Validate refuses delimiters, comments and escapes that could not be told from the text of a cell,
// and a negative first row.
func (f Format) Validate() error {
	switch f.Delimiter {
	case '"', '\r', '\n', utf8.RuneError:
		return fmt.Errorf("format: delimiter %q cannot separate cells; use one like , ; | or a tab", f.Delimiter)
	}
	if f.Comment != "" {
		r, _ := utf8.DecodeRuneInString(f.Comment)
		if r == '"' || r == f.delimiter() || strings.ContainsAny(f.Comment, "\r\n\uFFFD") {
			return fmt.Errorf("format: comment %q must begin with a character that is neither a "+
				"quote nor the delimiter", f.Comment)
		}
	}
	if e := f.Escape; e == '"' || e >= utf8.RuneSelf || e != 0 && rune(e) == f.delimiter() {
		return fmt.Errorf("format: escape %q must be an ASCII character that is neither a quote "+
			"nor the delimiter, such as \\", f.Escape)
	}
	if f.FirstRow < 0 {
		return fmt.Errorf("format: first_row %d must be at least 1", f.FirstRow)
	}
	return nil
}

func (f Format) delimiter() rune {
	if f.Delimiter == 0 {
		return ','
	}
	return f.Delimiter
}

// ReadCSV reads delimited text: quoted cells as in RFC 4180, spaces around cells removed, blank
// lines skipped, a byte order mark ignored. Gzip is recognised by its first bytes and unpacked.
//
// Errors name the wrong line and never show a record. These are errors: a row with another number
// of cells than the header, a broken quote, numbers in place of a header, a file without its header
// line. A file with Format.Columns may be empty, because a party may have no records.
func ReadCSV(r io.Reader, f Format) (*Table, error) {
	plain, _, err := Gunzip(r)
	if err != nil {
		return nil, fmt.Errorf("read table: %w", err)
	}
	rows, err := NewCSV(plain, f)
	if err != nil {
		return nil, err
	}
	b, err := NewTableBuilder(rows.Columns())
	if err != nil {
		return nil, err
	}
	for {
		row, _, err := rows.Next()
		if errors.Is(err, io.EOF) {
			return b.Table(), nil
		}
		if err != nil {
			return nil, err
		}
		b.Add(row)
	}
}

type csvRows struct {
	in    *csv.Reader
	names []string
	line  int
}

// NewCSV returns the rows of delimited text, read as [ReadCSV] reads it, without gzip. A malformed
// line is an error. Use NewCSV for public data, [NewLines] for a site's records, and
// [NewMultilineCSV] for a person's import.
func NewCSV(r io.Reader, f Format) (Rows, error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	plain := bufio.NewReaderSize(r, 1<<16)
	if mark, _ := plain.Peek(3); string(mark) == "\xef\xbb\xbf" {
		_, _ = plain.Discard(3) // cannot fail, because Peek has read these bytes already
	}
	in := csv.NewReader(plain)
	in.Comma = f.delimiter()
	in.ReuseRecord = true
	in.FieldsPerRecord = -1
	in.TrimLeadingSpace = in.Comma != ' ' && in.Comma != '\t'
	if f.Comment != "" {
		in.Comment, _ = utf8.DecodeRuneInString(f.Comment)
	}
	if f.FirstRow > 1 || f.Escape != 0 || utf8.RuneCountInString(f.Comment) > 1 {
		return nil, errors.New("read table: first_row, escape and a comment of several " +
			"characters are for a site's own file")
	}
	names := f.Columns
	if names == nil {
		var err error
		if names, err = readHeader(in); err != nil {
			return nil, fmt.Errorf("read table: %w", err)
		}
	}
	return &csvRows{in: in, names: names}, nil
}

func (c *csvRows) Columns() []string { return c.names }
func (c *csvRows) Place() int        { return c.line }
func (c *csvRows) Remarks() []Remark { return nil }

func (c *csvRows) Next() (row []string, ok bool, err error) {
	for {
		row, err := c.in.Read()
		if errors.Is(err, io.EOF) {
			return nil, false, err
		}
		if err != nil {
			return nil, false, fmt.Errorf("read table: %w", err)
		}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		c.line, _ = c.in.FieldPos(0)
		if len(row) == len(c.names) {
			return row, true, nil
		}
		if len(row) == 1 && row[0] == "" {
			continue
		}
		return nil, false, fmt.Errorf("read table: line %d has %d cells, expected %d (%s)%s",
			c.line, len(row), len(c.names), NamesOrCount(c.names), delimiterHint(row, c.names))
	}
}

// Gunzip undoes gzip, recognised by the first two bytes, and reports whether it did.
func Gunzip(r io.Reader) (plain *bufio.Reader, packed bool, err error) {
	plain = bufio.NewReaderSize(r, 1<<16)
	if magic, _ := plain.Peek(2); string(magic) != "\x1f\x8b" {
		return plain, false, nil
	}
	z, err := gzip.NewReader(plain)
	if err != nil {
		return nil, true, fmt.Errorf("unpack gzip: %w", err)
	}
	return bufio.NewReaderSize(z, 1<<16), true, nil
}

func readHeader(in *csv.Reader) ([]string, error) {
	row, err := in.Read()
	if errors.Is(err, io.EOF) {
		return nil, errNoHeader
	}
	if err != nil {
		return nil, err
	}
	return HeaderNames(row)
}

var errNoHeader = errors.New("the file is empty; expected a header line with the names of the columns")

// HeaderNames returns the column names of a header; an empty cell becomes "column" and its number.
// Names that occur several times become different ones, as [UniqueNames] makes them. A header of
// numbers, which is probably a record, is refused.
func HeaderNames(row []string) ([]string, error) {
	names := make([]string, len(row))
	numbers, counting := 0, true
	for i, cell := range row {
		cell = strings.TrimSpace(cell)
		if isNumber(cell) {
			numbers++
		}
		counting = counting && cell == strconv.Itoa(i)
		if cell == "" { // the index column that many programs write first
			cell = fmt.Sprintf("column%d", i+1)
		}
		names[i] = strings.Clone(cell)
	}
	// The numbers 0, 1, 2, ... in order are names. Other numbers are a record.
	if numbers == len(row) && !counting {
		return nil, errors.New("the first line holds numbers, not names; if the file has no header, list its names under columns")
	}
	return UniqueNames(names), nil
}

// UniqueNames gives every column whose name occurs several times a name with its number, the first
// one too: "age (column 3)". So nobody gets one of them who asks for the name that they share.
func UniqueNames(names []string) []string {
	count := map[string]int{}
	for _, name := range names {
		count[name]++
	}
	for i, name := range names {
		if count[name] > 1 {
			names[i] = fmt.Sprintf("%s (column %d)", name, i+1)
		}
	}
	return names
}

// SharedNamesNote says what [UniqueNames] called the columns that share one of the given names, as
// the end of an error for somebody who asks for that name; empty if no column does.
func SharedNamesNote(names, columns []string) string {
	for _, name := range names {
		var shared []string
		for _, column := range columns {
			if strings.HasPrefix(column, name+" (column ") {
				shared = append(shared, strconv.Quote(column))
			}
		}
		if len(shared) > 1 {
			return fmt.Sprintf("; several columns have the name %q: ask for %s", name,
				strings.Join(shared, " or "))
		}
	}
	return ""
}

// delimiterHint suggests a delimiter if row or header is a single cell.
func delimiterHint(row, names []string) string {
	var line string
	switch {
	case len(names) == 1:
		line = names[0]
	case len(row) == 1:
		line = row[0]
	}
	if d, ok := likelyDelimiter(line); ok {
		return fmt.Sprintf("; the delimiter looks like %q, set delimiter", d)
	}
	return ""
}

// LikelyDelimiter guesses the delimiter of a file that was read as a single column.
func LikelyDelimiter(columns []string) (rune, bool) {
	if len(columns) != 1 {
		return 0, false
	}
	return likelyDelimiter(columns[0])
}

var delimiters = []rune{',', ';', '\t', '|', ' '}

func likelyDelimiter(line string) (rune, bool) {
	best, most := rune(0), 0
	for _, d := range delimiters {
		if n := strings.Count(line, string(d)); n > most {
			best, most = d, n
		}
	}
	return best, most > 0
}

// Delimiters returns the usual delimiters of text, the most usual one first.
func Delimiters() []rune { return slices.Clone(delimiters) }
