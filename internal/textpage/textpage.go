package textpage

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Page is text for a person: names on the left, their texts on the right.
type Page []Line

// Line is a line of a page. Without a name it continues the line before.
type Line struct{ Name, Text string }

// Add appends a line. name may be empty, for a line that continues the one before.
func (p *Page) Add(name, format string, args ...any) {
	*p = append(*p, Line{name, Printable(fmt.Sprintf(format, args...))})
}

// WriteText writes each line's name, padded to 12 columns, and text in one call to w. Add has made
// texts safe for a terminal; names are the caller's own.
func (p Page) WriteText(w io.Writer) error {
	var text strings.Builder
	for _, l := range p {
		fmt.Fprintf(&text, "%-12s %s\n", l.Name, l.Text)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Printable makes any text safe for a terminal: it spells out everything except visible characters
// and plain spaces (line breaks, escapes, marks that change the direction of writing).
func Printable(text string) string {
	var out strings.Builder
	for i, r := range text {
		_, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case unicode.IsGraphic(r):
			out.WriteRune(r)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}

// Count returns "1 record" or "2 records".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// List joins names with commas; "none" for an empty list.
func List[T ~string](list []T) string {
	if len(list) == 0 {
		return "none"
	}
	words := string(list[0])
	for _, name := range list[1:] {
		words += ", " + string(name)
	}
	return words
}

// PlainWriter drops control characters and marks that change the direction of writing, with which a
// text could falsify the lines around it on a terminal. It keeps line breaks.
type PlainWriter struct{ io.Writer }

// Write reports len(b) as written although it may pass on less, and returns w's error. A b that
// ends inside a character shows replacement characters in its place.
func (p PlainWriter) Write(b []byte) (int, error) {
	_, err := p.Writer.Write(bytes.Map(func(r rune) rune {
		if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
			return -1
		}
		return r
	}, b))
	return len(b), err
}
