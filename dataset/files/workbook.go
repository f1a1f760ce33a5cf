package files

import (
	"archive/zip"
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"

	"caucus/dataset"
)

// Limits of a workbook. Excel has 16,384 columns, 32,767 characters per cell and a million rows.
const (
	maxSheetColumns = 16_384
	maxShared       = 1 << 30 // bytes of shared texts, which are kept in memory
	maxToken        = 4 << 20 // bytes between two tags
)

// sheet streams the rows of a workbook's sheet (ECMA-376, SpreadsheetML). A formula gives its stored
// value, a merged cell its first cell. Empty rows hold no record, like blank lines.
type sheet struct {
	in     *xml.Decoder
	shared []string
	dates  []dateStyle // for each cell style, whether its cells show dates
	year04 bool        // days are counted from 1904
	names  []string
	place  int
	cells  []string
}

func openWorkbook(r io.ReaderAt, size int64, w Written) (dataset.Rows, error) {
	fail := func(err error) (dataset.Rows, error) { return nil, fmt.Errorf("open workbook: %w", err) }
	z, err := zip.NewReader(r, size)
	if err != nil {
		return fail(err)
	}
	b := book{z}
	name, s, err := b.find(w.Sheet)
	if err != nil {
		return fail(err)
	}
	if s.shared, err = b.sharedTexts(); err != nil {
		return fail(err)
	}
	if s.dates, err = b.styles(); err != nil {
		return fail(err)
	}
	if s.in, err = b.open(name, maxText); err != nil {
		return fail(err)
	}
	if s.names, err = dataset.ExpandNames(w.Header); err != nil {
		return fail(err)
	}
	if len(s.names) == 0 {
		cells, err := s.row()
		if errors.Is(err, io.EOF) {
			err = errors.New("the sheet is empty; expected a row with the names of the columns")
		}
		if err == nil {
			s.names, err = dataset.HeaderNames(cells)
		}
		if err != nil {
			return fail(err)
		}
	}
	return s, nil
}

func (s *sheet) Columns() []string { return s.names }
func (s *sheet) Place() int        { return s.place }

func (s *sheet) Next() (cells []string, ok bool, err error) {
	if cells, err = s.row(); err != nil {
		return nil, false, err
	}
	if len(cells) > len(s.names) {
		return nil, false, nil
	}
	for len(cells) < len(s.names) { // empty cells at the end are not stored
		cells = append(cells, "")
	}
	s.cells = cells
	return cells, true, nil
}

// row returns the next row with a value, up to its last value.
func (s *sheet) row() ([]string, error) {
	for {
		t, err := s.in.Token()
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		if err != nil {
			return nil, damaged(err)
		}
		start, ok := t.(xml.StartElement)
		if !ok || start.Name.Local != "row" {
			continue
		}
		s.place++
		if n, err := strconv.Atoi(attribute(start, "r")); err == nil && n > s.place {
			s.place = n
		}
		if err := s.readCells(); err != nil {
			return nil, err
		}
		for len(s.cells) > 0 && s.cells[len(s.cells)-1] == "" {
			s.cells = s.cells[:len(s.cells)-1]
		}
		if len(s.cells) > 0 {
			return s.cells, nil
		}
	}
}

func (s *sheet) readCells() error {
	s.cells = s.cells[:0]
	next := 0
	for {
		t, err := s.in.Token()
		if err != nil {
			return damaged(err)
		}
		if end, ok := t.(xml.EndElement); ok && end.Name.Local == "row" {
			return nil
		}
		start, ok := t.(xml.StartElement)
		if !ok || start.Name.Local != "c" {
			continue
		}
		at := next
		if i, ok := columnOf(attribute(start, "r")); ok {
			at = i
		}
		text, err := s.cell(start)
		if err != nil {
			return err
		}
		if next = at + 1; at >= maxSheetColumns {
			continue
		}
		for len(s.cells) <= at {
			s.cells = append(s.cells, "")
		}
		s.cells[at] = text
	}
}

func (s *sheet) cell(start xml.StartElement) (string, error) {
	var value, inline strings.Builder
	var within []string
	for {
		t, err := s.in.Token()
		if err != nil {
			return "", damaged(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			within = append(within, t.Name.Local)
		case xml.EndElement:
			if len(within) == 0 {
				return strings.TrimSpace(s.text(start, value.String(), inline.String())), nil
			}
			within = within[:len(within)-1]
		case xml.CharData:
			if n := len(within); n > 0 && within[n-1] == "v" {
				value.Write(t)
			} else if n > 0 && within[n-1] == "t" && within[0] == "is" && !spoken(within) {
				inline.Write(t)
			}
		}
	}
}

// spoken reports whether a text within these XML elements is the pronunciation of another text.
func spoken(within []string) bool {
	for _, name := range within {
		if name == "rPh" {
			return true
		}
	}
	return false
}

func (s *sheet) text(start xml.StartElement, value, inline string) string {
	switch attribute(start, "t") {
	case "s":
		if i, err := strconv.Atoi(strings.TrimSpace(value)); err == nil && i >= 0 && i < len(s.shared) {
			return s.shared[i]
		}
		return ""
	case "inlineStr":
		return inline
	case "b":
		if strings.TrimSpace(value) == "1" {
			return "TRUE"
		}
		return "FALSE"
	case "str", "e":
		return value
	case "d": // ISO 8601
		return strings.TrimSuffix(strings.Replace(value, "T00:00:00", "", 1), "Z")
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if err != nil {
		return value
	}
	style, err := strconv.Atoi(attribute(start, "s"))
	if err == nil && style >= 0 && style < len(s.dates) && s.dates[style] != noDate {
		if text, ok := serialText(v, s.year04); ok {
			return text
		}
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

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
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

// damaged makes the error for broken XML, without quoting the XML.
func damaged(err error) error {
	if errors.Is(err, errToken) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the workbook is damaged: %w: save it anew", err)
	}
	var long *tooLong
	if errors.As(err, &long) {
		return long
	}
	return errors.New("the workbook is damaged: save it anew")
}

type book struct{ z *zip.Reader }

// open opens a part of the archive as XML that unpacks to at most most bytes.
func (b book) open(name string, most int64) (*xml.Decoder, error) {
	f, err := b.z.Open(name)
	if err != nil {
		return nil, fmt.Errorf("it has no %s: save it anew", name)
	}
	d := xml.NewDecoder(&partReader{in: f, left: most, most: most})
	d.CharsetReader = func(string, io.Reader) (io.Reader, error) {
		return nil, errors.New("it is not in UTF-8")
	}
	return d, nil
}

func (b book) each(name string, most int64, do func(*xml.Decoder, xml.StartElement) error) error {
	d, err := b.open(name, most)
	if err != nil {
		return err
	}
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return damaged(err)
		}
		if start, ok := t.(xml.StartElement); ok {
			if err := do(d, start); err != nil {
				return err
			}
		}
	}
}

// small bounds the bytes of a workbook's parts without cells.
const small = 64 << 20

func (b book) find(wanted string) (part string, s *sheet, err error) {
	s = &sheet{}
	var names []string
	id := ""
	err = b.each("xl/workbook.xml", small, func(_ *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			s.year04 = attribute(e, "date1904") == "1" || attribute(e, "date1904") == "true"
		case "sheet":
			name := attribute(e, "name")
			names = append(names, name)
			if id == "" && (wanted == "" || wanted == name) {
				for _, a := range e.Attr {
					if a.Name.Local == "id" { // r:id, in either of two name spaces
						id = a.Value
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	if id == "" {
		return "", nil, fmt.Errorf("sheet: there is no sheet %q; it has %s", wanted, strings.Join(names, ", "))
	}
	err = b.each("xl/_rels/workbook.xml.rels", small, func(_ *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local == "Relationship" && attribute(e, "Id") == id {
			part = attribute(e, "Target")
		}
		return nil
	})
	if err == nil && part == "" {
		err = errors.New("the workbook is damaged: a sheet is nowhere: save it anew")
	}
	if rooted, ok := strings.CutPrefix(part, "/"); ok {
		return rooted, s, err
	}
	return path.Join("xl", part), s, err
}

func (b book) has(name string) bool {
	_, err := b.z.Open(name)
	return err == nil
}

func (b book) sharedTexts() ([]string, error) {
	const part = "xl/sharedStrings.xml"
	if !b.has(part) {
		return nil, nil
	}
	var all []string
	err := b.each(part, maxShared, func(d *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		var text strings.Builder
		var within []string
		for {
			t, err := d.Token()
			if err != nil {
				return damaged(err)
			}
			switch t := t.(type) {
			case xml.StartElement:
				within = append(within, t.Name.Local)
			case xml.EndElement:
				if len(within) == 0 {
					all = append(all, text.String())
					return nil
				}
				within = within[:len(within)-1]
			case xml.CharData:
				if n := len(within); n > 0 && within[n-1] == "t" && !spoken(within) {
					text.Write(t)
				}
			}
		}
	})
	return all, err
}

// partReader reads a part of an archive. It fails if the part unpacks to too much, or if more bytes lie
// between two tags than any cell has, because an XML decoder would hold them in memory.
type partReader struct {
	in    io.Reader
	left  int64
	most  int64
	token int
}

var errToken = fmt.Errorf("more than %d MiB lie between two of its tags", maxToken>>20)

type tooLong struct{ most int64 }

func (t *tooLong) Error() string {
	return fmt.Sprintf("a part of the workbook unpacks to more than %d MiB: split it, or save it as CSV", t.most>>20)
}

func (p *partReader) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	if p.left -= int64(n); p.left < 0 {
		return 0, &tooLong{p.most}
	}
	if last := bytes.LastIndexByte(b[:n], '<'); last >= 0 {
		p.token = n - last
	} else {
		p.token += n
	}
	if p.token > maxToken {
		return 0, errToken
	}
	return n, err
}
