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

// NewMultilineCSV returns the rows of a file for a person's import. It reads as [NewLines] does,
// except that a quoted cell may hold line breaks, as in RFC 4180, which become newlines in its
// text.
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
// Proof note. No bound covers NewMultilineCSV, because one line is not one record. A line that
// opens a quote extends over later lines, and reading may continue inside a cell where it was
// outside before, so files that differ in one line may differ in all later records. Therefore no
// study reads with it. It reads a file once, while a person imports the file and sees the result.
// Studies read the imported table, and neighbours are tables that differ in one record.
func NewMultilineCSV(r io.Reader, f Format) (Rows, error) {
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
func (q *quotedReader) Place() int { return q.place }

func (q *quotedReader) Next() (cells []string, ok bool, err error) {
	cells, as, err := q.next()
	if err != nil {
		return nil, false, err
	}
	cells, ok = q.fit(cells, as, q.place)
	return cells, ok, nil
}

func (q *quotedReader) next() (cells []string, as Problem, err error) {
	for {
		line, whole, err := q.take()
		if err != nil {
			return nil, "", err
		}
		first, ok := q.holdsRecord(line)
		if !ok {
			continue
		}
		q.place = q.number
		cells, as := q.split(first)
		as = q.why(first, as, whole)
		if cells == nil || as != ProblemOpenQuote && as != ProblemBackslash {
			return cells, as, nil
		}
		later, err := q.upToQuote()
		if err != nil || later == nil || q.tookRows(later) {
			return nil, as, err
		}
		count := len(cells) + later[len(later)-1].upTo.cells - q.taken.cells
		if q.names != nil && count != len(q.names) && slices.ContainsFunc(later, q.mayBegin) {
			return nil, as, nil
		}
		text := []string{first}
		for _, line := range later {
			text = append(text, line.text)
		}
		cells, as = q.split(strings.Join(text, "\n"))
		q.drop(len(later))
		return cells, as, nil
	}
}

func (q *quotedReader) take() (line string, whole bool, err error) {
	if len(q.ahead) > 0 {
		first := &q.ahead[0]
		line, whole = first.text, first.whole
		q.drop(1)
		return line, whole, nil
	}
	if line, whole, err = q.read(); err == nil {
		q.number++
	}
	return line, whole, err
}

// drop removes the first lines from ahead.
func (q *quotedReader) drop(n int) {
	q.taken = q.ahead[n-1].upTo
	q.ahead, q.closed = q.ahead[n:], max(0, q.closed-n)
	q.number += n
}

// upToQuote returns the lines after a line with an open quote, up to the line that ends the record;
// nil if none does within the limits. The lines stay in ahead.
//
// The line that ends a quoted cell is the same for every line before it that opens one. So each
// line is looked at once, however many quotes are open, and the work is linear in the file.
func (q *quotedReader) upToQuote() (later []lineAhead, err error) {
	for q.closed == 0 {
		n := len(q.ahead)
		if n == maxQuotedLines || n > 0 && q.ahead[n-1].upTo.bytes-q.taken.bytes > maxQuoted {
			return nil, nil
		}
		var line lineAhead
		line.text, line.whole, err = q.read()
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		cells, as := q.split(`"` + line.text)
		if line.as = as; !line.whole {
			line.as = ProblemLongLine
		}
		q.within.bytes += len(line.text) + 1
		q.within.cells += max(len(cells), 1) - 1
		line.upTo = q.within
		if q.ahead = append(q.ahead, line); line.as != ProblemOpenQuote {
			q.closed = len(q.ahead)
		}
	}
	end := q.ahead[q.closed-1]
	if end.as != "" || end.upTo.bytes-q.taken.bytes > maxQuoted || q.closed == maxQuotedLines {
		return nil, nil
	}
	return q.ahead[:q.closed], nil
}

// tookRows reports whether the lines up to a quote's end are records swallowed by a wrong quote.
func (q *quotedReader) tookRows(later []lineAhead) bool {
	between := later[:len(later)-1]
	return len(q.names) > 1 && len(between) >= manyRows && !slices.ContainsFunc(between,
		func(line lineAhead) bool {
			cells, as := q.split(line.text)
			return as != "" || len(cells) != len(q.names)
		})
}

// mayBegin reports whether a line alone is a row of the table, or the beginning of a row.
func (q *quotedReader) mayBegin(line lineAhead) bool {
	text, ok := q.holdsRecord(line.text)
	cells, as := q.split(text)
	return ok && (as == ProblemOpenQuote || as == "" && len(cells) == len(q.names))
}
