package files

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// Limits in bytes.
const (
	small    = 64 << 20 // a workbook's parts without cells, Parquet's footer
	maxToken = 4 << 20  // a tag, a text between two, a cell; Excel's cells have 32,767 characters
	maxRow   = 64 << 20 // the texts that a row of a sheet holds itself
)

// maxDepth bounds the elements within each other, which the decoder holds. Worksheets have eight,
// their extensions some twenty.
const maxDepth = 64

// part reads a part of a workbook as the elements of one name space, that of its first element.
// Elements of other name spaces are extensions, and are skipped with all that is in them:
// x15:workbookPr is another element than workbookPr, whose date1904 it lacks.
type part struct {
	in    *xml.Decoder
	bytes *partReader
	depth int // elements that have begun and not ended
	begun bool
	space string
	bare  bool // the element that texts has read has a formula, and no value
}

// token returns the next tag or text of the part's own name space.
func (p *part) token() (xml.Token, error) {
	for {
		t, err := p.next()
		if err != nil {
			return nil, err
		}
		start, ok := t.(xml.StartElement)
		if ok && !p.begun {
			p.begun, p.space = true, start.Name.Space
		}
		if !ok || start.Name.Space == p.space {
			return t, nil
		}
		for outer := p.depth - 1; p.depth > outer; {
			if _, err := p.next(); err != nil {
				return nil, whole(err)
			}
		}
	}
}

// next returns the next tag or text of any name space.
func (p *part) next() (xml.Token, error) {
	t, err := p.in.Token()
	if errors.Is(err, io.EOF) {
		return nil, io.EOF
	}
	if err != nil {
		return nil, damaged(err)
	}
	p.bytes.token = 0
	switch t.(type) {
	case xml.StartElement:
		if p.depth++; p.depth > maxDepth {
			return nil, damaged(errDepth)
		}
	case xml.EndElement:
		p.depth--
	}
	return t, nil
}

var errEnd = errors.New("the element ends")

// element goes to the next element of this name, any if it is empty. If an element within ends
// before, the error is errEnd; at the end of the part it is io.EOF.
func (p *part) element(name, within string) (xml.StartElement, error) {
	for {
		t, err := p.token()
		if err != nil {
			return xml.StartElement{}, err
		}
		switch t := t.(type) {
		case xml.StartElement:
			if name == "" || t.Name.Local == name {
				return t, nil
			}
		case xml.EndElement:
			if within != "" && t.Name.Local == within {
				return xml.StartElement{}, errEnd
			}
		}
	}
}

// texts reads the element that has begun to its end. It returns what its elements v and t hold,
// without the pronunciation of a text, which is in elements rPh. A value follows its formula.
func (p *part) texts() (value, text string, err error) {
	var v, t strings.Builder
	var within []string
	spoken := 0
	p.bare = false
	for {
		token, err := p.token()
		if err != nil {
			return "", "", whole(err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			within = append(within, token.Name.Local)
			switch token.Name.Local {
			case "rPh":
				spoken++
			case "f":
				p.bare = true
			case "v":
				p.bare = false
			}
		case xml.EndElement:
			if len(within) == 0 {
				return v.String(), t.String(), nil
			}
			if within = within[:len(within)-1]; token.Name.Local == "rPh" {
				spoken--
			}
		case xml.CharData:
			if v.Len()+t.Len()+len(token) > maxToken {
				return "", "", damaged(errToken)
			}
			switch n := len(within); {
			case n == 0 || spoken > 0:
			case within[n-1] == "v":
				v.Write(token)
			case within[n-1] == "t":
				t.Write(token)
			}
		}
	}
}

var escapedXML = regexp.MustCompile(`_x[0-9A-Fa-f]{4}_`)

// unescapedXML writes the characters that XML cannot hold, such as _x000D_ for a carriage return
// (ECMA-376-1, 22.9.2.19: ST_Xstring). An underscore before such a text is written _x005F_.
func unescapedXML(text string) string {
	if !strings.Contains(text, "_x") {
		return text
	}
	return escapedXML.ReplaceAllStringFunc(text, func(code string) string {
		n, _ := strconv.ParseUint(code[2:6], 16, 16) // no error: these are four digits
		return string(rune(n))
	})
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// whole makes the end of a part within an element an error about damage.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return damaged(io.ErrUnexpectedEOF)
	}
	return err
}

// damaged makes the error for broken XML, without quoting the XML.
func damaged(err error) error {
	for _, known := range []error{errToken, errRow, errDepth, io.ErrUnexpectedEOF} {
		if errors.Is(err, known) {
			return fmt.Errorf("the workbook is damaged: %w: save it anew", known)
		}
	}
	var much *tooMuch
	if errors.As(err, &much) {
		return much
	}
	return errors.New("the workbook is damaged: save it anew")
}

// partReader reads a part of an archive. It fails if the part or all parts unpack to too much, or
// if the decoder has read more bytes for one tag or text than any has, because it holds them in
// memory.
type partReader struct {
	in    io.Reader
	part  budget
	all   *budget
	token int // bytes since the last tag or text
}

var (
	errToken = fmt.Errorf("one of its tags or cells has more than %d MiB", maxToken>>20)
	errRow   = fmt.Errorf("one of its rows has more than %d MiB", maxRow>>20)
	errDepth = fmt.Errorf("more than %d of its elements lie within each other", maxDepth)
)

func (p *partReader) Read(b []byte) (int, error) {
	n, err := p.in.Read(b)
	if over := cmp.Or(p.part.take(int64(n)), p.all.take(int64(n))); over != nil {
		return 0, over
	}
	if p.token += n; p.token > maxToken {
		return 0, errToken
	}
	return n, err
}
