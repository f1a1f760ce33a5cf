package files

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"caucus/dataset"
)

// maxSheetColumns is Excel's limit; it has 32,767 characters per cell and a million rows.
const maxSheetColumns = 16_384

// sheet streams the rows of a workbook's sheet (ECMA-376, SpreadsheetML). A formula gives its
// stored value, a merged cell its first cell. Empty rows hold no record, like blank lines. Texts
// right of the last named column, such as a note, are dropped and counted.
type sheet struct {
	book
	in      *part
	shared  []string
	shows   []numberStyle // of each cell style
	first   int           // the row with the names, from 1; earlier ones are skipped
	comment string
	names   []string
	place   int
	skipped bool // a row was a comment
	others  bool // there are other sheets, and nobody has named this one
	cells   []string
	numbers []bool // the cells of the row that are numbers, not texts
	odd     dataset.RowRemarks
	spans   map[int]int // cells that are spans of time, by column
}

func openWorkbook(r io.ReaderAt, size int64, w TextFormat, most budget) (dataset.Rows, error) {
	s, err := openSheet(r, size, w, most)
	if err == nil {
		err = s.header(w)
		s.others = w.Sheet == "" && len(s.sheets) > 1
	}
	if err != nil {
		return nil, fmt.Errorf("open workbook: %w", err)
	}
	return s, nil
}

// openSheet opens the sheet that w names, or the first that is not hidden, before its first row.
func openSheet(r io.ReaderAt, size int64, w TextFormat, most budget) (*sheet, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, err
	}
	s := &sheet{book: book{z: z, unpacks: most, holds: most, parts: map[string]string{}},
		first: w.FirstRow, comment: w.Comment}
	if err = s.contents(); err == nil {
		s.shared, err = s.sharedTexts()
	}
	if err == nil {
		s.shows, err = s.styles()
	}
	if err == nil {
		err = s.turnTo(w.Sheet)
	}
	return s, err
}

// turnTo goes to the beginning of a sheet, the first if it has no name.
func (s *sheet) turnTo(name string) (err error) {
	if name == "" && len(s.sheets) > 0 {
		name = s.sheets[0]
	}
	at, ok := s.parts[name]
	if !ok {
		return fmt.Errorf("sheet: there is no sheet %q; it has %s", name, strings.Join(s.sheets,
			", "))
	}
	s.place, s.odd, s.spans = 0, nil, map[int]int{}
	s.in, err = s.open(at, maxText)
	return err
}

// header reads the names of the columns, if w does not give them.
func (s *sheet) header(w TextFormat) (err error) {
	if s.names, err = dataset.ExpandNames(w.Header); err != nil {
		return err
	}
	if len(s.names) > 0 {
		return nil
	}
	cells, err := s.row()
	if errors.Is(err, io.EOF) {
		return errors.New("the sheet is empty, or ends before first_row; expected a row with the " +
			"names of the columns")
	}
	if err == nil {
		s.names, err = dataset.HeaderNames(cells)
	}
	return err
}

// IsNumber reports whether a cell of the last record is a number, and not a text.
func (s *sheet) IsNumber(column int) bool {
	return column < len(s.numbers) && s.numbers[column]
}

func (s *sheet) Columns() []string { return s.names }
func (s *sheet) Place() int        { return s.place }

// Skipped reports whether a row was a comment so far.
func (s *sheet) Skipped() bool { return s.skipped }

func (s *sheet) Remarks() []dataset.Remark {
	odd := slices.Clone(s.odd)
	if s.others {
		odd = append(odd, dataset.Remark{Column: "sheets", Problem: dataset.Problem(fmt.Sprintf(
			"only %q is read, of %s: name the right one by sheet", s.sheets[0], quoted(s.sheets)))})
	}
	for i, name := range s.names {
		if n := s.spans[i]; n > 0 {
			odd = append(odd, dataset.Remark{Column: name, Problem: dataset.ProblemSpanOfDays,
				Count: n})
		}
	}
	return odd
}

func (s *sheet) Next() (cells []string, ok bool, err error) {
	for blank(cells) { // a note alone is no record
		if cells, err = s.row(); err != nil {
			return nil, false, err
		}
		if len(cells) > len(s.names) {
			s.odd.Add(dataset.ProblemNoteBeside, s.place)
			cells = cells[:len(s.names)]
		}
	}
	for len(cells) < len(s.names) { // empty cells at the end are not stored
		cells = append(cells, "")
	}
	s.cells = cells
	return cells, true, nil
}

func blank(cells []string) bool {
	return !slices.ContainsFunc(cells, func(cell string) bool { return cell != "" })
}

// row returns the next row with a value, up to its last value.
func (s *sheet) row() ([]string, error) {
	for {
		if err := s.nextRow(); err != nil {
			return nil, err
		}
		if err := s.readCells(); err != nil {
			return nil, err
		}
		for len(s.cells) > 0 && s.cells[len(s.cells)-1] == "" {
			s.cells = s.cells[:len(s.cells)-1]
		}
		if len(s.cells) == 0 || s.place < s.first {
			continue
		}
		first := slices.IndexFunc(s.cells, func(cell string) bool { return cell != "" })
		if s.comment == "" || !strings.HasPrefix(s.cells[first], s.comment) {
			return s.cells, nil
		}
		s.skipped = true
	}
}

// nextRow goes to the next row's first cell.
func (s *sheet) nextRow() error {
	start, err := s.in.element("row", "")
	if err != nil {
		return err
	}
	s.place++
	if n, err := strconv.Atoi(attribute(start, "r")); err == nil && n > s.place {
		s.place = n
	}
	return nil
}

// noStoredValue is a cell whose value the program that wrote it has not computed.
const noStoredValue dataset.Problem = "formulas without a stored value, taken for missing: open " +
	"the file in Excel and save it"

// readCells reads the cells of a row to its end.
func (s *sheet) readCells() error {
	s.cells, s.numbers = s.cells[:0], s.numbers[:0]
	next, bytes := 0, 0
	for {
		start, err := s.in.element("c", "row")
		if errors.Is(err, errEnd) {
			return nil
		}
		if err != nil {
			return whole(err)
		}
		at := next
		if i, ok := columnOf(attribute(start, "r")); ok {
			at = i
		}
		value, text, err := s.in.texts()
		if err != nil {
			return err
		}
		if bytes += len(value) + len(text); bytes > maxRow {
			return damaged(errRow)
		}
		if s.in.bare {
			s.odd.Add(noStoredValue, s.place)
		}
		if next = at + 1; at >= maxSheetColumns {
			continue
		}
		for len(s.cells) <= at {
			s.cells, s.numbers = append(s.cells, ""), append(s.numbers, false)
		}
		s.cells[at] = strings.TrimSpace(s.text(start, at, value, text))
	}
}

// text returns a cell's text by its type, from its value or its text in place.
func (s *sheet) text(start xml.StartElement, at int, value, inline string) string {
	switch attribute(start, "t") {
	case "s":
		if i, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && i >= 0 &&
			i < len(s.shared) {
			return s.shared[i]
		}
		return ""
	case "inlineStr":
		return unescapedXML(inline)
	case "b":
		if strings.TrimSpace(value) == "1" {
			return "TRUE"
		}
		return "FALSE"
	case "str", "e":
		return unescapedXML(value)
	case "d": // ISO 8601
		return strings.TrimSuffix(strings.Replace(value, "T00:00:00", "", 1), "Z")
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return value
	}
	s.numbers[at] = true
	style, err := strconv.Atoi(attribute(start, "s"))
	if err != nil || style < 0 || style >= len(s.shows) {
		return fifteenDigits(v)
	}
	switch s.shows[style] {
	case aDate, aClock:
		if text, ok := serialText(v, s.from1904, s.shows[style] == aClock); ok {
			return text
		}
	case aSpan: // Excel counts it in days
		s.spans[at]++
	}
	return fifteenDigits(v)
}

// fifteenDigits writes 15 digits in plain decimals, as Excel shows them. The file often has 17.
func fifteenDigits(v float64) string {
	short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	if err != nil {
		return ""
	}
	return dataset.NumberText(short, 64)
}

// columnOf returns the column of a cell reference, from 0: B3 → 1.
func columnOf(reference string) (int, bool) {
	n := 0
	for i := 0; i < len(reference); i++ {
		c := reference[i] &^ 0x20
		if c < 'A' || c > 'Z' {
			break
		}
		if n = n*26 + int(c-'A') + 1; n > maxSheetColumns {
			return n, true
		}
	}
	return n - 1, n > 0
}
