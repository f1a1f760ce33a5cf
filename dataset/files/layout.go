package files

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"caucus/dataset"
)

// layoutRows bounds the rows from which a layout is proposed.
const layoutRows = 100

// ProposeTextFormat fills in where the table of a file seems to stand, as far as w leaves it open:
// delimiter, sheet, and the row with the names of the columns. It judges by the first rows alone:
// the widths of rows, what is no number, and wanted, the names that a schema asks for. notes say
// what was proposed and what else may be meant. They show texts of the file. ProposeTextFormat is
// for a draft or an advice, which a person checks.
func ProposeTextFormat(r io.ReaderAt, size int64, f Format, w TextFormat,
	wanted []string) (proposed TextFormat,
	notes []string, err error) {
	return proposeWithin(r, size, f, w, wanted, budgetOf(size))
}

func proposeWithin(
	r io.ReaderAt, size int64, f Format, w TextFormat, wanted []string, most budget,
) (proposed TextFormat, notes []string, err error) {
	switch f.Kind {
	case Text:
		return proposeText(r, size, f, w, wanted, most)
	case Workbook:
		return proposeSheet(r, size, w, wanted, most)
	}
	return w, nil, nil
}

// layout is where a table seems to stand in the first rows of a file.
type layout struct {
	names   []string // of its columns; none if there seems to be no table
	row     int      // in which they stand, from 1
	first   int      // the first row that is not empty
	matches int      // wanted names among them
	cells   int      // of all rows, in columns with a name
}

// layoutOf finds the row with the names. It has at least as many cells with a value as half of the
// rows (the first column's name may lack: it numbers rows), and holds no number; the first row may
// hold numbers, and be narrower if it has a wanted name. Of several such rows it is the one with
// the most wanted names, and the first of these. A row below another that is as wide must have a
// wanted name.
func layoutOf(rows [][]string, wanted []string) (best layout) {
	var widths []int
	for i, row := range rows {
		rows[i] = slices.Clone(row)
		for len(rows[i]) > 0 && rows[i][len(rows[i])-1] == "" {
			rows[i] = rows[i][:len(rows[i])-1]
		}
		if n := filled(rows[i]); n > 0 {
			widths = append(widths, n)
		}
	}
	if len(widths) == 0 {
		return best
	}
	slices.Sort(widths)
	usual := widths[len(widths)/2]
	first := slices.IndexFunc(rows, func(row []string) bool { return len(row) > 0 })
	matches := func(row []string) (n int) {
		for _, name := range wanted {
			if slices.ContainsFunc(row, func(cell string) bool {
				return strings.EqualFold(cell,
					name)
			}) {
				n++
			}
		}
		return n
	}
	above := false // a row as wide stands above
	for i, row := range rows {
		if len(row) == 0 || filled(row) < usual && (row[0] != "" || filled(row) < usual-1) &&
			(i > first || matches(row) == 0) {
			continue
		}
		n := matches(row)
		if (i == first || !slices.ContainsFunc(row, isNumber)) && n >= matches(rows[first]) &&
			(best.names == nil && !above || n > best.matches) {
			if names, err := dataset.HeaderNames(row); err == nil {
				best = layout{names: names, row: i + 1, first: first + 1, matches: n}
			}
		}
		above = true
	}
	for i := best.row; i < len(rows) && best.names != nil; i++ {
		best.cells += min(len(rows[i]), len(best.names))
	}
	best.cells += len(best.names)
	return best
}

func filled(row []string) (n int) {
	for _, cell := range row {
		if cell != "" {
			n++
		}
	}
	return n
}

// standsAt takes the row of the names from a layout, and notes it if other rows stand above.
func (t *TextFormat) standsAt(l layout, notes []string) []string {
	if t.FirstRow == 0 && len(t.Header) == 0 && l.row > l.first {
		t.FirstRow = l.row
		notes = append(notes, fmt.Sprintf("the columns are taken to have their names in row %d: %s",
			l.row, strings.Join(l.names, ", ")))
	}
	return notes
}

// proposeText tries each usual delimiter, and takes the one by which the most cells are in the
// table.
func proposeText(
	r io.ReaderAt, size int64, f Format, w TextFormat, wanted []string, most budget,
) (TextFormat, []string, error) {
	tried := dataset.Delimiters()
	if w.Delimiter != "" {
		tried = []rune{w.format().Delimiter}
	}
	var best layout
	delimiter := ""
	for i, d := range tried {
		plain, err := decode(io.NewSectionReader(r, 0, size), f, most)
		if err != nil {
			return w, nil, err
		}
		format := w.format()
		format.Delimiter = d
		rows, err := dataset.PreviewCells(plain, format, layoutRows)
		if err != nil {
			return w, nil, err
		}
		if len(rows) > 0 && len(rows[0]) > 0 && strings.HasPrefix(strings.ToLower(rows[0][0]),
			"sep=") {
			rows[0] = []string{"sep="} // Excel's word for the delimiter, on a line of its own
		}
		l := layoutOf(rows, wanted)
		if d == ' ' && len(best.names) > 1 { // texts have spaces
			continue
		}
		if i == 0 || l.matches > best.matches || l.matches == best.matches && l.cells > best.cells {
			best, delimiter = l, string(d)
		}
	}
	if w.Delimiter == "" && delimiter != "," && len(best.names) > 1 {
		w.Delimiter = delimiter
	}
	notes := w.standsAt(best, nil)
	return w, notes, nil
}

// proposeSheet takes the sheet with the most wanted names, or else the first one that has a table
// of several columns.
func proposeSheet(
	r io.ReaderAt, size int64, w TextFormat, wanted []string, most budget,
) (TextFormat, []string, error) {
	s, err := openSheet(r, size, w, most)
	if err != nil {
		return w, nil, err
	}
	sheets := s.sheets
	if w.Sheet != "" {
		sheets = []string{w.Sheet}
	}
	var best layout
	at := -1
	var alike []string // sheets with the same columns
	s.first = 0
	for i, name := range sheets {
		rows, err := s.firstRows(name)
		if err != nil { // a sheet of charts
			continue
		}
		l := layoutOf(rows, wanted)
		switch {
		case at >= 0 && len(l.names) > 1 && slices.Equal(l.names, best.names):
			alike = append(alike, name)
		case len(l.names) > 1 && (at < 0 || l.matches > best.matches):
			best, at, alike = l, i, nil
		}
	}
	if at < 0 {
		return w, nil, nil
	}
	var notes []string
	if len(alike) > 0 {
		notes = append(notes, fmt.Sprintf("only the sheet %q is read; the same columns are in %s: "+
			"put all records on one sheet", sheets[at], quoted(alike)))
	}
	if w.Sheet == "" && len(alike) > 0 {
		w.Sheet = sheets[at]
	} else if w.Sheet == "" && at > 0 {
		w.Sheet = sheets[at]
		notes = append(notes, fmt.Sprintf("of the sheets %s, %q is taken: no earlier one has the "+
			"schema's columns", quoted(sheets), w.Sheet))
	}
	notes = w.standsAt(best, notes)
	return w, notes, nil
}

// firstRows returns the first rows of a sheet, each at its own place.
func (s *sheet) firstRows(name string) (rows [][]string, err error) {
	err = s.turnTo(name)
	for err == nil && len(rows) < layoutRows {
		var cells []string
		if cells, err = s.row(); err == nil {
			for len(rows) < min(s.place, layoutRows)-1 {
				rows = append(rows, nil)
			}
			rows = append(rows, slices.Clone(cells))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return rows, err
}

// ProposeComment returns the beginning of rows that seem to be no records, although they were read
// as such: a line of dashes or of units under the names, and lines of one text behind the last
// record, such as "(200 rows)". It is empty if there are none, or if a record or the line of names
// begins in the same way; row then shows a line of units nevertheless.
func ProposeComment(t *dataset.Table) (comment, row string) {
	names, n := t.Columns(), t.Rows()
	if len(names) < 3 || n < 2 {
		return "", ""
	}
	cells := func(i int) (all []string) {
		for _, name := range names {
			text, _ := t.Cell(i, name)
			all = append(all, text)
		}
		return all
	}
	if top := strings.Join(cells(0), ""); len(top) > 2 && strings.Trim(top, "-=+") == "" {
		comment, row = top[:2], top
	} else if unitRow(t, cells(0)) {
		comment, row = cells(0)[0], cells(0)[0]
		if row == "" || strings.HasPrefix(names[0], comment) {
			return "", strings.Join(cells(0), ", ")
		}
	} else if last := cells(n - 1); strings.Join(last[1:], "") == "" {
		row = last[0]
		comment = strings.TrimSpace(row[:strings.IndexAny(row+"0", "0123456789")])
	}
	if comment == "" {
		return "", ""
	}
	for cell := range t.Distinct(names[0]) {
		if cell != row && strings.HasPrefix(cell, comment) && strings.Trim(cell, "-=+") != "" {
			return "", ""
		}
	}
	return comment, row
}

// unitRow reports whether a table's first row holds units: it has no number, each of its texts
// stands once in its column, and at least two of these columns hold numbers otherwise.
func unitRow(t *dataset.Table, row []string) bool {
	counted := 0
	for i, name := range t.Columns() {
		if row[i] == "" {
			continue
		}
		if isNumber(row[i]) || slices.Contains(dataset.MissingTexts(), row[i]) {
			return false
		}
		texts := t.Distinct(name)
		if texts[row[i]] > 1 {
			return false
		}
		numbers := 0
		for text, n := range texts {
			if isNumber(text) {
				numbers += n
			}
		}
		if 2*numbers > t.Rows() {
			counted++
		}
	}
	return counted >= 2
}
