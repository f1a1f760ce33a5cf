package files

import (
	"bytes"
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
	maxText  = 16 << 30 // unpacked text or sheets: a hundred million records of 160 characters
	small    = 64 << 20 // a workbook's parts without cells, Parquet's footer
	maxToken = 4 << 20  // between two tags
)

// part reads a part of a workbook as the elements of one name space, that of its first element.
// Elements of other name spaces are extensions, and are skipped with all that is in them:
// x15:workbookPr is another element than workbookPr, whose date1904 it lacks.
type part struct {
	in    *xml.Decoder
	begun bool
	space string
	bare  bool // the element that texts has read has a formula, and no value
}

// token returns the next tag or text of the part's own name space.
func (p *part) token() (xml.Token, error) {
	for {
		t, err := p.in.Token()
		if errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		if err != nil {
			return nil, damaged(err)
		}
		start, ok := t.(xml.StartElement)
		if ok && !p.begun {
			p.begun, p.space = true, start.Name.Space
		}
		if !ok || start.Name.Space == p.space {
			return t, nil
		}
		if err := p.in.Skip(); err != nil {
			return nil, damaged(err)
		}
	}
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
	if errors.Is(err, errToken) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("the workbook is damaged: %w: save it anew", err)
	}
	var long *tooLong
	if errors.As(err, &long) {
		return long
	}
	return errors.New("the workbook is damaged: save it anew")
}

// partReader reads a part of an archive. It fails if the part unpacks to too much, or if more bytes
// lie between two tags than any cell has, because an XML decoder would hold them in memory.
type partReader struct {
	in    io.Reader
	left  int64
	most  int64
	token int
}

var errToken = fmt.Errorf("more than %d MiB lie between two of its tags", maxToken>>20)

type tooLong struct{ most int64 }

func (t *tooLong) Error() string {
	return fmt.Sprintf("a part of the workbook unpacks to more than %d MiB: split it, or save it "+
		"as CSV", t.most>>20)
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
