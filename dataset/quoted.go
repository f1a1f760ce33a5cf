package dataset

import (
	"errors"
	"io"
	"slices"
	"strings"
)

// Limits of a record of several lines. Even the text of a letter is shorter. After a quote that
// somebody forgot to close, the reader looks this far ahead at most.
const (
	maxQuotedLines = 1000
	maxQuoted      = 1 << 20 // bytes after the first line
)

// manyRows: a quoted cell with this many lines between its first and its last line, each a row of
// the table by itself, shows a wrong quote: few texts have as many lines that all have the table's
// number of delimiters. (Line 271 of UCI's Youtube04-Eminem.csv has such a quote.)
const manyRows = 3

// NewQuoted returns the rows of a file for a person's import. It reads as [NewLines] does, except
// that a quoted cell may hold line breaks, as in RFC 4180, which become newlines in its text.
//
// A quote that does not end on its line extends the record up to the line where it ends. In these
// cases it does not: the first line alone is a malformed record as for NewLines, and reading
// continues at the next line.
//   - there is no end within maxQuotedLines lines and maxQuoted bytes,
//   - anything but a delimiter or a line end follows a closing quote,
//   - the record would have another number of cells than the header, and one of the later lines
//     could be, or begin, a record that has that number,
//   - the lines between the first and the last are manyRows or more, and each is a row by itself.
//
// So each line is part of one record, or blank, or a comment, and a wrong quote swallows few
// records.
//
// Proof note. No bound covers NewQuoted, because one line is not one record. A line that opens a
// quote extends over later lines, and reading may continue inside a cell where it was outside
// before, so files that differ in one line may differ in all later records. Therefore no study
// reads with it. It reads a file once, while a person imports the file and sees the result. Studies
// read the imported table, and neighbours are tables that differ in one record.
func NewQuoted(r io.Reader, f Format) (Rows, error) {
	in := quotedReader{lineReader: newLineReader(r, f)}
	if err := in.open(f, in.next); err != nil {
		return nil, err
	}
	return &in, nil
}

type quotedReader struct {
	lineReader
	ahead  []lineAhead // lines read in search of the end of a quote
	place  int
	within total // of all lines read ahead so far
	taken  total // of those taken from ahead
	// lines of ahead up to the first that does not go on in a quoted cell; 0 if none does
	closed int
}

// lineAhead is a line that was read; whole is false if it was cut at maxLine.
type lineAhead struct {
	text  string
	whole bool
	upTo  total   // of the lines ahead, up to this one
	as    Problem // what the line is as the continuation of a quoted cell
}

// total sums up lines as continuations of a quoted cell: their bytes with the line ends, and the
// cells that they add.
type total struct{ bytes, cells int }

// Place returns the number of the last record's first line, from 1.
func (r *quotedReader) Place() int { return r.place }

func (r *quotedReader) Next() (cells []string, ok bool, err error) {
	cells, as, err := r.next()
	if err != nil {
		return nil, false, err
	}
	cells, ok = r.fit(cells, as, r.place)
	return cells, ok, nil
}

func (r *quotedReader) next() (cells []string, as Problem, err error) {
	for {
		line, whole, err := r.take()
		if err != nil {
			return nil, "", err
		}
		first, ok := r.holdsRecord(line)
		if !ok {
			continue
		}
		r.place = r.number
		cells, as := r.split(first)
		as = r.why(first, as, whole)
		if cells == nil || as != OpenQuote && as != Backslash {
			return cells, as, nil
		}
		later, err := r.upToQuote()
		if err != nil || later == nil || r.tookRows(later) {
			return nil, as, err
		}
		count := len(cells) + later[len(later)-1].upTo.cells - r.taken.cells
		if r.names != nil && count != len(r.names) && slices.ContainsFunc(later, r.mayBegin) {
			return nil, as, nil
		}
		text := []string{first}
		for _, line := range later {
			text = append(text, line.text)
		}
		cells, as = r.split(strings.Join(text, "\n"))
		r.drop(len(later))
		return cells, as, nil
	}
}

func (r *quotedReader) take() (line string, whole bool, err error) {
	if len(r.ahead) > 0 {
		first := &r.ahead[0]
		line, whole = first.text, first.whole
		r.drop(1)
		return line, whole, nil
	}
	if line, whole, err = r.read(); err == nil {
		r.number++
	}
	return line, whole, err
}

// drop removes the first lines from ahead.
func (r *quotedReader) drop(n int) {
	r.taken = r.ahead[n-1].upTo
	r.ahead, r.closed = r.ahead[n:], max(0, r.closed-n)
	r.number += n
}

// upToQuote returns the lines after a line with an open quote, up to the line that ends the record;
// nil if none does within the limits. The lines stay in ahead.
//
// The line that ends a quoted cell is the same for every line before it that opens one. So each
// line is looked at once, however many quotes are open, and the work is linear in the file.
func (r *quotedReader) upToQuote() (later []lineAhead, err error) {
	for r.closed == 0 {
		n := len(r.ahead)
		if n == maxQuotedLines || n > 0 && r.ahead[n-1].upTo.bytes-r.taken.bytes > maxQuoted {
			return nil, nil
		}
		var line lineAhead
		line.text, line.whole, err = r.read()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		cells, as := r.split(`"` + line.text)
		if line.as = as; !line.whole {
			line.as = LongLine
		}
		r.within.bytes += len(line.text) + 1
		r.within.cells += max(len(cells), 1) - 1
		line.upTo = r.within
		if r.ahead = append(r.ahead, line); line.as != OpenQuote {
			r.closed = len(r.ahead)
		}
	}
	end := r.ahead[r.closed-1]
	if end.as != "" || end.upTo.bytes-r.taken.bytes > maxQuoted || r.closed == maxQuotedLines {
		return nil, nil
	}
	return r.ahead[:r.closed], nil
}

// tookRows reports whether the lines up to a quote's end are records swallowed by a wrong quote.
func (r *quotedReader) tookRows(later []lineAhead) bool {
	between := later[:len(later)-1]
	return len(r.names) > 1 && len(between) >= manyRows && !slices.ContainsFunc(between,
		func(line lineAhead) bool {
			cells, as := r.split(line.text)
			return as != "" || len(cells) != len(r.names)
		})
}

// mayBegin reports whether a line alone is a row of the table, or the beginning of a row.
func (r *quotedReader) mayBegin(line lineAhead) bool {
	text, ok := r.holdsRecord(line.text)
	cells, as := r.split(text)
	return ok && (as == OpenQuote || as == "" && len(cells) == len(r.names))
}
