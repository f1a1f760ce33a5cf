package agent

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// page is text for a person: names at the left, what is said of them at the
// right.
type page []pageLine

// pageLine is a line of it; without a name it goes on with the one before.
type pageLine struct{ Name, Text string }

func (p *page) line(name, format string, args ...any) {
	*p = append(*p, pageLine{name, Printable(fmt.Sprintf(format, args...))})
}

func (p page) writeTo(w io.Writer) error {
	var text strings.Builder
	for _, l := range p {
		fmt.Fprintf(&text, "%-12s %s\n", l.Name, l.Text)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

// Printable is a text as it may stand on a terminal, whoever wrote it: what is
// no visible character or plain space (line breaks, escapes, marks that turn
// the direction of writing) is spelled out.
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
