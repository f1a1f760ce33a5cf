package files

import (
	"archive/zip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
)

// sharedText is the memory that a shared text takes beside its bytes: measured, with the copies
// that are made while the list of them grows.
const sharedText = 64

// maxSheets bounds the sheets, each of which a draft looks at.
const maxSheets = 4096

// book is the archive of a workbook.
type book struct {
	z        *zip.Reader
	unpacks  budget            // the bytes of all parts
	holds    budget            // memory
	from1904 bool              // days are counted from 1904
	sheets   []string          // their names, in order; hidden ones come last
	parts    map[string]string // the part of the archive that holds each
}

// open opens a part of the archive, which unpacks to at most most bytes.
func (b *book) open(name string, most int64) (*part, error) {
	f, err := b.z.Open(name)
	if err != nil {
		return nil, fmt.Errorf("it has no %s: save it anew", name)
	}
	in := &partReader{in: f, part: budget{most, most}, all: &b.unpacks}
	d := xml.NewDecoder(in)
	d.CharsetReader = func(string, io.Reader) (io.Reader, error) {
		return nil, errors.New("it is not in UTF-8")
	}
	return &part{in: d, bytes: in}, nil
}

// each passes every element of a part to do, and none if the archive lacks the part.
func (b *book) each(name string, most int64, do func(*part, xml.StartElement) error) error {
	if _, err := b.z.Open(name); err != nil {
		return nil
	}
	p, err := b.open(name, most)
	for err == nil {
		var start xml.StartElement
		if start, err = p.element("", ""); err == nil {
			err = do(p, start)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// contents finds the sheets, in order, and the part of the archive that holds each.
func (b *book) contents() error {
	ids, visible := map[string]string{}, 0
	err := b.each("xl/workbook.xml", small, func(_ *part, e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			b.from1904 = attribute(e, "date1904") == "1" || attribute(e, "date1904") == "true"
		case "sheet":
			if len(b.sheets) == maxSheets {
				return fmt.Errorf("it has more than %d sheets: save the one with the table as a "+
					"workbook of its own", maxSheets)
			}
			name := attribute(e, "name")
			if state := attribute(e, "state"); state == "" || state == "visible" {
				b.sheets = slices.Insert(b.sheets, visible, name)
				visible++
			} else {
				b.sheets = append(b.sheets, name)
			}
			for _, a := range e.Attr {
				if a.Name.Local == "id" { // r:id, in either of two name spaces
					ids[a.Value] = name
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	err = b.each("xl/_rels/workbook.xml.rels", small, func(_ *part, e xml.StartElement) error {
		name, known := ids[attribute(e, "Id")]
		target := attribute(e, "Target")
		if rooted, ok := strings.CutPrefix(target, "/"); ok {
			target = rooted
		} else {
			target = path.Join("xl", target)
		}
		if known {
			b.parts[name] = target
		}
		return nil
	})
	if err == nil && len(b.parts) < len(b.sheets) {
		err = errors.New("the workbook is damaged: a sheet is nowhere: save it anew")
	}
	return err
}

// sharedTexts returns the texts that cells of any sheet refer to by number.
func (b *book) sharedTexts() (all []string, err error) {
	err = b.each("xl/sharedStrings.xml", maxText, func(p *part, e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		_, text, err := p.texts()
		if err == nil {
			err = b.holds.take(int64(sharedText + len(text)))
		}
		all = append(all, unescapedXML(text))
		return err
	})
	return all, err
}

// styles lists what each cell style shows (ECMA-376-1, 18.8.30: numFmts; the first 164 are built
// in).
func (b *book) styles() (all []numberStyle, err error) {
	custom := map[int]numberStyle{}
	inCells := false
	err = b.each("xl/styles.xml", small, func(_ *part, e xml.StartElement) error {
		number, err := strconv.Atoi(attribute(e, "numFmtId"))
		switch e.Name.Local {
		case "numFmt":
			custom[number] = styleOf(attribute(e, "formatCode"))
		case "cellXfs":
			inCells = true
		case "cellStyles", "dxfs", "tableStyles":
			inCells = false
		case "xf":
			if !inCells {
				return nil
			}
			style, own := custom[number]
			if !own && err == nil {
				style = builtIn(number)
			}
			all = append(all, style)
		}
		return nil
	})
	return all, err
}

func quoted(names []string) string {
	var out []string
	for _, name := range names {
		out = append(out, strconv.Quote(name))
	}
	return strings.Join(out, ", ")
}
