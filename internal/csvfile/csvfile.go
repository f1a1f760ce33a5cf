package csvfile

import (
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// separators part cells in some spreadsheet's settings, whatever separates them in the file.
const separators = ",;|\t\r\n"

// signs begin a formula: the ASCII signs and their full-width forms, which East Asian
// spreadsheets take for the same (OWASP, CSV Injection).
const signs = "=+-@＝＋－＠"

// HasFormula reports whether a spreadsheet would compute a cell or a part of it, whatever separator
// it expects: =1+1, and also a;=1+1. It computes no number, and no sign alone.
func HasFormula(cell string) bool { return computed(cell, 0) < len(cell) }

// IsFormula reports whether a cell as a whole is a formula to a spreadsheet: =1+1, not a;=1+1.
func IsFormula(cell string) bool {
	at := computed(cell, 0)
	return at < len(cell) && strings.TrimLeftFunc(cell[:at], padding) == ""
}

// computed returns where the next formula in a cell begins, from an index at which a piece begins;
// len(cell) if there is none.
func computed(cell string, from int) int {
	for from < len(cell) {
		end := len(cell)
		if i := strings.IndexAny(cell[from:], separators); i >= 0 {
			end = from + i
		}
		piece := strings.TrimLeftFunc(cell[from:end], padding)
		if sign, width := utf8.DecodeRuneInString(piece); strings.ContainsRune(signs, sign) {
			rest := strings.TrimRightFunc(piece, padding)
			if _, err := strconv.ParseFloat(rest, 64); err != nil && len(rest) > width {
				return end - len(piece)
			}
		}
		from = end + 1
	}
	return len(cell)
}

// padding reports what a spreadsheet may skip before a formula.
func padding(r rune) bool { return r == '"' || r == '\ufeff' || r == 0 || unicode.IsSpace(r) }

// marked writes an apostrophe before each formula of a cell, which makes it a text.
func marked(cell string) string {
	var out strings.Builder
	from, at := 0, computed(cell, 0)
	for at < len(cell) {
		out.WriteString(cell[from:at] + "'")
		from = at
		next := strings.IndexAny(cell[at:], separators)
		if next < 0 {
			break
		}
		at = computed(cell, at+next+1)
	}
	return out.String() + cell[from:]
}

// Writer writes rows. Rows are buffered: Close writes them and returns the first error.
type Writer struct {
	// EscapedCells counts the cells that were marked.
	EscapedCells int
	out          *csv.Writer
	guard        func(*Writer, []string) error
	rows         int
}

// New returns a writer for programs. It writes cells as they are.
func New(to io.Writer) *Writer { return &Writer{out: csv.NewWriter(to)} }

// NewRefusing returns a writer of public tables. A row with a cell that a spreadsheet would compute
// is an error that names the cell's column, because the first row is taken for the header.
func NewRefusing(to io.Writer) *Writer {
	var header []string
	return &Writer{out: csv.NewWriter(to), guard: func(w *Writer, row []string) error {
		if header == nil {
			header = append([]string{}, row...)
		}
		for i, cell := range row {
			if HasFormula(cell) {
				return fmt.Errorf("row %d, column %q: a spreadsheet that opens the file would "+
					"compute %q as a formula: rename it in the schema and the table", w.rows,
					header[min(i, len(header)-1)], cell)
			}
		}
		return nil
	}}
}

// NewEscaping returns a writer of records. An apostrophe before a formula makes it a text, as in a
// spreadsheet.
func NewEscaping(to io.Writer) *Writer {
	return &Writer{out: csv.NewWriter(to), guard: func(w *Writer, row []string) error {
		for i, cell := range row {
			if HasFormula(cell) {
				row[i] = marked(cell)
				w.EscapedCells++
			}
		}
		return nil
	}}
}

// Write writes a row. A Marked writer marks the row's cells in place.
func (w *Writer) Write(row []string) error {
	w.rows++
	if w.guard != nil {
		if err := w.guard(w, row); err != nil {
			return err
		}
	}
	return w.out.Write(row)
}

// Close writes what is buffered. It does not close the file.
func (w *Writer) Close() error {
	w.out.Flush()
	return w.out.Error()
}
