package dataset

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
)

const byteOrderMark = "\ufeff"

// maxLine bounds the bytes of a line. 100,000 columns of forty characters are shorter.
const maxLine = 4 << 20

// NewLines returns the rows of a site's records, one per line: cells between delimiters, with spaces around them
// removed. A cell that begins with a quote ends with a quote; between them, delimiters are text and a doubled quote is one
// quote. No record is an error. A malformed line (a quote that does not end, another number of cells, more than
// maxLine bytes) becomes a row of empty cells, and a cell that is not text (not UTF-8, or with a NUL) becomes
// empty. Blank lines and comment lines hold no record. A header is the first other line.
//
// Proof note. Claim: one line of a file is one record, so files that differ in one line are neighbours in
// records.
//   - The file is cut at each newline byte and nowhere else. With a header, everything up to it is the same in
//     both neighbours.
//   - Each line ℓ after the header gives row(ℓ), a row of cells or nothing. row is a function of ℓ and the
//     format alone, wherever in the file ℓ is: the reader keeps no state between lines, a quote ends with its
//     line, a byte order mark is skipped at the beginning of every line, and the format is never guessed from
//     content (gzip is undone before, if the site says so).
//   - The rows of a file are row(ℓ₁), row(ℓ₂), …. So replacing a line by any bytes without a newline replaces
//     one row, removes one or adds one, and leaves all others as they were. FuzzReadLines checks this for any
//     two lines.
//   - Replacing a label by any text, written as a cell (in quotes where needed), replaces one cell, even if its
//     bytes are not text.
//   - The claim does not cover time. Reading a line takes as long as the line, so callers must allow for the
//     longest lines that they expect.
//
// An error is about the file, never about a record: it cannot be read to its end, or lacks a required header.
func NewLines(r io.Reader, f Format) (Rows, error) {
	in := newLineReader(r, f)
	if err := in.open(f, in.next); err != nil {
		return nil, err
	}
	return &in, nil
}

type lineReader struct {
	in        *bufio.Reader
	comment   string
	delimiter string
	spaced    bool // the delimiter is itself a space
	number    int
	line      []byte
	cells     []string
	names     []string
}

func newLineReader(r io.Reader, f Format) lineReader {
	return lineReader{
		in: bufio.NewReaderSize(r, 1<<16), comment: f.Comment, delimiter: string(f.delimiter()), spaced: unicode.IsSpace(f.delimiter()),
	}
}

// open takes the columns' names from the format, or else from the header that next returns.
func (r *lineReader) open(f Format, next func() ([]string, bool, error)) error {
	fail := func(err error) error { return fmt.Errorf("read lines: %w", err) }
	if err := f.Validate(); err != nil {
		return fail(err)
	}
	if r.names = f.Columns; r.names != nil {
		return nil
	}
	cells, ok, err := next()
	if errors.Is(err, io.EOF) {
		err = errNoHeader
	} else if err == nil && !ok {
		err = errors.New("the header, which is the first line, is no line of cells: check its quotes and the delimiter")
	} else if err == nil {
		r.names, err = HeaderNames(cells)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// Columns returns the names of the header, or of the format.
func (r *lineReader) Columns() []string { return r.names }

// Place returns the number of the last line, from 1.
func (r *lineReader) Place() int { return r.number }

// Next returns the next line that holds a record.
func (r *lineReader) Next() (cells []string, ok bool, err error) {
	cells, ok, err = r.next()
	return cells, ok && len(cells) == len(r.names), err
}

// next returns the next line that is neither blank nor a comment, cut into cells. ok is false if the line
// is too long or its quotes are wrong. The cells are valid until the next call.
func (r *lineReader) next() (cells []string, ok bool, err error) {
	for {
		line, whole, err := r.read()
		if err != nil {
			return nil, false, err
		}
		r.number++
		if line, ok = r.holdsRecord(line); ok {
			cells, as := r.split(line)
			return cells, as == aRow && whole, nil
		}
	}
}

// read returns one line without its end, or the beginning of a line longer than maxLine.
func (r *lineReader) read() (line string, whole bool, err error) {
	r.line, whole = r.line[:0], true
	for {
		part, err := r.in.ReadSlice('\n')
		if room := maxLine - len(r.line); len(part) > room {
			part, whole = part[:room], false
		}
		r.line = append(r.line, part...)
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(r.line) > 0: // the last line may have no newline
			return strings.TrimSuffix(strings.TrimSuffix(string(r.line), "\n"), "\r"), whole, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", false, err
		}
	}
}

// holdsRecord returns a line without its byte order mark; ok is false for a blank line or a comment.
func (r *lineReader) holdsRecord(line string) (text string, ok bool) {
	line = strings.TrimPrefix(line, byteOrderMark) // on every line, because the result must not depend on the line's place
	return line, strings.TrimSpace(line) != "" && (r.comment == "" || !strings.HasPrefix(line, r.comment))
}

// lineForm is split's verdict on a line.
type lineForm int

const (
	aRow      lineForm = iota // a row of cells
	openQuote                 // the last cell's quote does not end
	noRow                     // text follows a closing quote
)

func (r *lineReader) split(line string) ([]string, lineForm) {
	r.cells = r.cells[:0]
	for more := true; more; {
		var cell string
		start := line
		if !r.spaced {
			start = strings.TrimLeftFunc(line, unicode.IsSpace)
		}
		if quoted, ok := strings.CutPrefix(start, `"`); ok {
			end := closingQuote(quoted)
			if end < 0 {
				return nil, openQuote
			}
			var behind string
			behind, line, more = strings.Cut(quoted[end+1:], r.delimiter)
			if strings.TrimSpace(behind) != "" {
				return nil, noRow
			}
			cell = strings.ReplaceAll(quoted[:end], `""`, `"`)
		} else {
			cell, line, more = strings.Cut(line, r.delimiter)
		}
		r.cells = append(r.cells, strings.TrimSpace(cell))
	}
	return r.cells, aRow
}

// closingQuote returns the index of the quote that ends a quoted cell, or -1. Doubled quotes do not end it.
func closingQuote(quoted string) int {
	for i := 0; i < len(quoted); i++ {
		if quoted[i] != '"' {
			continue
		}
		if i+1 == len(quoted) || quoted[i+1] != '"' {
			return i
		}
		i++
	}
	return -1
}
