package dataset

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

const byteOrderMark = "\ufeff"

// maxLine bounds the bytes of a line. 100,000 columns of forty characters are shorter.
const maxLine = 4 << 20

// maxCells bounds the cells of a line. A table and a mapping keep some hundred bytes of each
// column.
const maxCells = 100_000

// NewLines returns the rows of a site's records, one per line: cells between delimiters, with
// spaces around them removed. A line ends with a newline, a carriage return, or both. A cell that
// begins with a quote ends with a quote; between them, delimiters are text and a doubled quote is
// one quote; text behind it belongs to the cell. No record is an error. A line is read as far as it
// goes: cells that it lacks are empty, and empty cells after the last named column are dropped. A
// malformed line (a quote that does not end, a text after the last named column, more than f.Width
// or maxCells cells, another delimiter, more than maxLine bytes) becomes a row of empty cells, and
// a cell that is not text (not UTF-8, or with a NUL) becomes empty. Blank lines and comment lines
// hold no record. A header is the first other line, or line f.FirstRow.
//
// Proof note. Claim: one line of a file is one record, so files that differ in one line are
// neighbours in records.
//   - The file is cut at each newline and each carriage return, and nowhere else; the blank line
//     between the two is nothing. With a header, everything up to it is the same in both
//     neighbours. So are the lines before f.FirstRow, whose number does not change.
//   - Each line ℓ after the header gives row(ℓ), a row of cells or nothing. row is a function of ℓ,
//     the format and the number of names alone, wherever in the file ℓ is: the reader keeps no
//     state between lines (its counts of repaired lines are never read by it), a quote ends with
//     its line, a byte order mark is skipped at the beginning of every line, and the format is
//     never guessed from content (gzip is undone before, if the site says so).
//   - The rows of a file are row(ℓ₁), row(ℓ₂), …. So replacing a line by any bytes without a
//     newline or carriage return replaces one row, removes one or adds one, and leaves all others
//     as they were. FuzzReadLines checks this for any two lines.
//   - Replacing a label by any text, written as a cell (in quotes where needed), replaces one cell,
//     even if its bytes are not text.
//   - The claim does not cover time. Reading a line takes as long as the line, so callers must
//     allow for the longest lines that they expect.
//
// An error is about the file, never about a record: it cannot be read to its end, or lacks a
// required header.
func NewLines(r io.Reader, f Format) (Rows, error) {
	in := newLineReader(r, f)
	if err := in.open(f, in.next); err != nil {
		return nil, err
	}
	return &in, nil
}

// PreviewCells returns the cells of a file's first lines, at most most and some megabytes, as many
// as each line has, and nil for a line that is blank, a comment, or no line of cells. It is for
// drafts that a person checks.
func PreviewCells(r io.Reader, f Format, most int) (lines [][]string, err error) {
	if err := f.Validate(); err != nil {
		return nil, err
	}
	in := newLineReader(r, f)
	for len(lines) < most && in.bytes < maxLine {
		line, _, err := in.read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		var cells []string
		if line, ok := in.holdsRecord(line); ok {
			if split, as := in.split(line); as == "" {
				cells = slices.Clone(split)
			}
		}
		lines = append(lines, cells)
	}
	return lines, nil
}

type lineReader struct {
	in        *bufio.Reader
	ends      *lineEnds
	format    Format
	delimiter string
	spaced    bool // the delimiter is itself a space
	bytes     int64
	lines     int // lines read
	returned  int // the first line that ends with a lone carriage return, from 1
	number    int // the last line that next has returned, from 1
	line      []byte
	cells     []string
	names     []string
	odd       RowRemarks
	held      int  // cells of the last record
	skipped   bool // a line was a comment
}

func newLineReader(r io.Reader, f Format) lineReader {
	ends := &lineEnds{in: bufio.NewReader(r)}
	return lineReader{
		in: bufio.NewReaderSize(ends, 1<<16), ends: ends, format: f,
		delimiter: string(f.delimiter()), spaced: unicode.IsSpace(f.delimiter()),
	}
}

// lineEnds turns each carriage return that no newline follows into a newline.
type lineEnds struct {
	in    *bufio.Reader
	bytes int64
	lone  int   // carriage returns turned
	first int64 // the first one's place, in bytes
}

func (l *lineEnds) Read(p []byte) (int, error) {
	n, err := l.in.Read(p)
	for at := 0; at < n; at++ {
		i := bytes.IndexByte(p[at:n], '\r')
		if i < 0 {
			break
		}
		at += i
		next := p[at+1 : n]
		if len(next) == 0 {
			next, _ = l.in.Peek(1) // empty at the end of the file
		}
		if len(next) > 0 && next[0] != '\n' {
			if p[at] = '\n'; l.lone == 0 {
				l.first = l.bytes + int64(at)
			}
			l.lone++
		}
	}
	l.bytes += int64(n)
	return n, err
}

// open takes the columns' names from the format, or else from the header that next returns.
func (l *lineReader) open(f Format, next func() ([]string, Problem, error)) error {
	fail := func(err error) error { return fmt.Errorf("read lines: %w", err) }
	if err := f.Validate(); err != nil {
		return fail(err)
	}
	for l.lines < f.FirstRow-1 {
		if _, _, err := l.read(); err != nil {
			return fail(fmt.Errorf("first_row %d: there are fewer lines: %w", f.FirstRow, err))
		}
	}
	l.number = l.lines
	if l.names = f.Columns; l.names != nil {
		return nil
	}
	cells, as, err := next()
	if errors.Is(err, io.EOF) {
		err = errNoHeader
	} else if err == nil && as != "" {
		err = errors.New("the header, which is the first line, is no line of cells: check its quotes and the delimiter")
	} else if err == nil {
		l.names, err = HeaderNames(cells)
	}
	if err != nil {
		return fail(err)
	}
	return nil
}

// Columns returns the names of the header, or of the format.
func (l *lineReader) Columns() []string { return l.names }

// Place returns the number of the last line, from 1.
func (l *lineReader) Place() int { return l.number }

// Held returns how many cells the last record had in the file.
func (l *lineReader) Held() int { return l.held }

// Skipped reports whether a line was a comment so far.
func (l *lineReader) Skipped() bool { return l.skipped }

// Remarks counts the rows that were repaired, and those read as empty records, by cause.
func (l *lineReader) Remarks() []Remark {
	odd := slices.Clone(l.odd)
	if l.ends.lone > 0 && l.returned > 0 {
		odd = append(odd, Remark{Problem: ProblemLoneReturn, Count: l.ends.lone, First: l.returned})
	}
	return odd
}

// Next returns the next line that holds a record.
func (l *lineReader) Next() (cells []string, ok bool, err error) {
	cells, as, err := l.next()
	if err != nil {
		return nil, false, err
	}
	cells, ok = l.fit(cells, as, l.number)
	return cells, ok, nil
}

// fit makes a line's cells the cells of a record, one for each name, and counts what it repairs.
// ok is false if the line is none.
func (l *lineReader) fit(cells []string, as Problem, place int) ([]string, bool) {
	n, held := len(l.names), len(cells)
	l.held = held
	wide := l.format.Width > 0 && held > l.format.Width
	for as == "" && !wide && len(cells) > n && cells[len(cells)-1] == "" {
		cells = cells[:len(cells)-1]
	}
	switch {
	case as == ProblemTextBehind && held == n:
		l.odd.Add(ProblemTextAfter, place)
		return cells, true
	case as != "":
	case len(cells) > n:
		as = ProblemLongRow
	case n > 1 && len(cells) == 1 && otherDelimiter(cells[0], n-1):
		as = ProblemOtherDelimiter
	case held > n:
		l.odd.Add(ProblemEmptyCells, place)
	case held < n:
		l.odd.Add(ProblemShortRow, place)
		for len(cells) < n {
			cells = append(cells, "")
		}
	}
	if as != "" {
		l.odd.Add(as, place)
		return nil, false
	}
	return cells, true
}

// otherDelimiter reports whether a line that is one cell has another delimiter, at least n times.
func otherDelimiter(cell string, n int) bool {
	return slices.ContainsFunc(delimiters, func(d rune) bool {
		return d != ' ' && strings.Count(cell, string(d)) >= n
	})
}

// next returns the next line that is neither blank nor a comment, cut into cells. as says why the
// line is no row, if not "". The cells are valid until the next call.
func (l *lineReader) next() (cells []string, as Problem, err error) {
	for {
		line, whole, err := l.read()
		if err != nil {
			return nil, "", err
		}
		l.number++
		if line, ok := l.holdsRecord(line); ok {
			cells, as := l.split(line)
			return cells, l.why(line, as, whole), nil
		}
	}
}

// why names the cause for which a line that was split is no row, "" if it is one.
func (l *lineReader) why(line string, as Problem, whole bool) Problem {
	switch {
	case !whole:
		return ProblemLongLine
	case as != "" && l.format.Escape == 0 && strings.Contains(line, `\"`):
		return ProblemBackslash
	}
	return as
}

// read returns one line without its end, or the beginning of a line longer than maxLine.
func (l *lineReader) read() (line string, whole bool, err error) {
	l.line, whole = l.line[:0], true
	for {
		part, err := l.in.ReadSlice('\n')
		l.bytes += int64(len(part))
		if room := maxLine - len(l.line); len(part) > room {
			part, whole = part[:room], false
		}
		l.line = append(l.line, part...)
		switch {
		// the last line may have no newline
		case err == nil, errors.Is(err, io.EOF) && len(l.line) > 0:
			if l.lines++; l.returned == 0 && l.ends.lone > 0 && l.bytes > l.ends.first {
				l.returned = l.lines
			}
			return strings.TrimSuffix(strings.TrimSuffix(string(l.line), "\n"), "\r"), whole, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", false, err
		}
	}
}

// holdsRecord returns a line without its byte order mark; ok is false for a blank line or a
// comment.
func (l *lineReader) holdsRecord(line string) (text string, ok bool) {
	// on every line, because the result must not depend on the line's place
	line = strings.TrimPrefix(line, byteOrderMark)
	comment := l.format.Comment
	if comment != "" && strings.HasPrefix(line, comment) {
		l.skipped = true
		return line, false
	}
	return line, strings.TrimSpace(line) != ""
}

// split cuts a line into cells. If the last cell's quote does not end, as is ProblemOpenQuote, and
// the cells are those before and this one. If text follows a closing quote, as is
// ProblemTextBehind, and the text belongs to the cell.
func (l *lineReader) split(line string) (cells []string, as Problem) {
	var odd Problem
	l.cells = l.cells[:0]
	for more := true; more; {
		var cell string
		start := line
		if !l.spaced && line != "" && (line[0] <= ' ' || line[0] >= utf8.RuneSelf) {
			start = strings.TrimLeftFunc(line, unicode.IsSpace)
		}
		if quoted, ok := strings.CutPrefix(start, `"`); ok {
			end := l.closingQuote(quoted)
			if end < 0 {
				if odd != "" {
					return nil, odd
				}
				return append(l.cells, quoted), ProblemOpenQuote
			}
			var behind string
			behind, line, more = l.cut(quoted[end+1:])
			if strings.TrimSpace(behind) != "" {
				odd = ProblemTextBehind
			}
			cell = strings.ReplaceAll(quoted[:end], `""`, `"`) + behind
			if l.format.Escape != 0 {
				cell = l.unescaped(cell)
			}
		} else if l.format.Escape != 0 {
			cell, line, more = l.cutUnescaped(line)
		} else {
			cell, line, more = l.cut(line)
		}
		if len(l.cells) == maxCells {
			return nil, ProblemLongRow
		}
		l.cells = append(l.cells, strings.TrimSpace(cell))
	}
	return l.cells, odd
}

// cut returns what stands before and after the first delimiter, as strings.Cut does.
func (l *lineReader) cut(line string) (cell, rest string, more bool) {
	i := strings.IndexByte(line, l.delimiter[0])
	if len(l.delimiter) > 1 {
		i = strings.Index(line, l.delimiter)
	}
	if i < 0 {
		return line, "", false
	}
	return line[:i], line[i+len(l.delimiter):], true
}

// cutUnescaped cuts at the first delimiter that no escape stands before.
func (l *lineReader) cutUnescaped(line string) (cell, rest string, more bool) {
	end := 0
	for end < len(line) && !strings.HasPrefix(line[end:], l.delimiter) {
		if end++; line[end-1] == l.format.Escape {
			end++
		}
	}
	end = min(end, len(line))
	rest, more = strings.CutPrefix(line[end:], l.delimiter)
	return l.unescaped(line[:end]), rest, more
}

// unescaped removes the escape before a quote, a delimiter and another escape.
func (l *lineReader) unescaped(cell string) string {
	escape := string(l.format.Escape)
	if !strings.Contains(cell, escape) {
		return cell
	}
	return strings.NewReplacer(escape+`"`, `"`, escape+escape, escape, escape+l.delimiter,
		l.delimiter).Replace(cell)
}

// closingQuote returns the index of the quote that ends a quoted cell, or -1. Doubled quotes do not
// end it, nor does one after an escape.
func (l *lineReader) closingQuote(quoted string) int {
	escape := l.format.Escape
	for i := 0; i < len(quoted); i++ {
		switch {
		case escape != 0 && quoted[i] == escape:
			i++
		case quoted[i] != '"':
		case i+1 == len(quoted) || quoted[i+1] != '"':
			return i
		default:
			i++
		}
	}
	return -1
}
