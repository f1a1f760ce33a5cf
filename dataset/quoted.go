package dataset

import (
	"errors"
	"io"
	"slices"
	"strings"
)

// Limits of a record of several lines. Even the text of a letter is shorter. After a quote that somebody forgot
// to close, the reader looks this far ahead at most.
const (
	maxQuotedLines = 1000
	maxQuoted      = 1 << 20 // bytes after the first line
)

// manyRows: a quoted cell with this many lines between its first and its last line, each a row of the
// table by itself, shows a wrong quote: few texts have as many lines that all have the table's number of
// delimiters. (Line 271 of UCI's Youtube04-Eminem.csv has such a quote.)
const manyRows = 3

// NewQuoted returns the rows of a file for a person's import. It reads as [NewLines] does, except that a quoted
// cell may hold line breaks, as in RFC 4180, which become newlines in its text.
//
// A quote that does not end on its line extends the record up to the line where it ends. In these cases it does
// not: the first line alone is a malformed record as for NewLines, and reading continues at the next line.
//   - there is no end within maxQuotedLines lines and maxQuoted bytes,
//   - anything but a delimiter or a line end follows a closing quote,
//   - the record would have another number of cells than the header, and one of the later lines could be, or
//     begin, a record that has that number,
//   - the lines between the first and the last are manyRows or more, and each is a row by itself.
//
// So each line is part of one record, or blank, or a comment, and a wrong quote swallows few records.
//
// Proof note. No bound covers NewQuoted, because one line is not one record. A line that opens a quote extends
// over later lines, and reading may continue inside a cell where it was outside before, so files that differ in
// one line may differ in all later records. Therefore no study reads with it. It reads a file once, while a
// person imports the file and sees the result. Studies read the imported table, and neighbours are tables that
// differ in one record.
func NewQuoted(r io.Reader, f Format) (Rows, error) {
	in := quotedReader{lineReader: newLineReader(r, f)}
	if err := in.open(f, in.next); err != nil {
		return nil, err
	}
	return &in, nil
}

type quotedReader struct {
	lineReader
	ahead []lineAhead
	place int
}

// lineAhead is a line read in search of the end of a quote; whole is false if it was cut at maxLine.
type lineAhead struct {
	text  string
	whole bool
}

// Place returns the number of the last record's first line, from 1.
func (r *quotedReader) Place() int { return r.place }

func (r *quotedReader) Next() (cells []string, ok bool, err error) {
	cells, ok, err = r.next()
	return cells, ok && len(cells) == len(r.names), err
}

func (r *quotedReader) next() (cells []string, ok bool, err error) {
	for {
		line, err := r.take()
		if err != nil {
			return nil, false, err
		}
		first, ok := r.holdsRecord(line.text)
		if !ok {
			continue
		}
		r.place = r.number
		cells, as := r.split(first)
		if as != openQuote || !line.whole {
			return cells, as == aRow && line.whole, nil
		}
		later, err := r.upToQuote()
		if err != nil || later == nil {
			return nil, false, err
		}
		if r.tookRows(later) {
			return nil, false, nil
		}
		cells, _ = r.split(first + "\n" + strings.Join(later, "\n"))
		if r.names != nil && len(cells) != len(r.names) && slices.ContainsFunc(later, r.mayBegin) {
			return nil, false, nil
		}
		r.ahead = r.ahead[len(later):]
		r.number += len(later)
		return cells, true, nil
	}
}

func (r *quotedReader) take() (lineAhead, error) {
	var line lineAhead
	var err error
	if len(r.ahead) > 0 {
		line, r.ahead = r.ahead[0], r.ahead[1:]
	} else if line.text, line.whole, err = r.read(); err != nil {
		return line, err
	}
	r.number++
	return line, nil
}

// upToQuote returns the lines after a line with an open quote, up to the line that ends the record; nil
// if none does within the limits. The lines stay in ahead.
func (r *quotedReader) upToQuote() (later []string, err error) {
	size := 0
	for as := openQuote; as == openQuote; {
		if len(r.ahead) == len(later) {
			var line lineAhead
			line.text, line.whole, err = r.read()
			if errors.Is(err, io.EOF) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			r.ahead = append(r.ahead, line)
		}
		line := r.ahead[len(later)]
		later = append(later, line.text)
		if size += len(line.text) + 1; size > maxQuoted || len(later) == maxQuotedLines || !line.whole {
			return nil, nil
		}
		if _, as = r.split(`"` + line.text); as == noRow { // the line goes on in the quoted cell
			return nil, nil
		}
	}
	return later, nil
}

// tookRows reports whether the lines up to a quote's end are records swallowed by a wrong quote.
func (r *quotedReader) tookRows(later []string) bool {
	between := later[:len(later)-1]
	return len(r.names) > 1 && len(between) >= manyRows && !slices.ContainsFunc(between, func(line string) bool {
		cells, as := r.split(line)
		return as != aRow || len(cells) != len(r.names)
	})
}

// mayBegin reports whether a line alone is a row of the table, or the beginning of a row.
func (r *quotedReader) mayBegin(line string) bool {
	line, ok := r.holdsRecord(line)
	cells, as := r.split(line)
	return ok && (as == openQuote || as == aRow && len(cells) == len(r.names))
}
