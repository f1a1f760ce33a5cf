package console

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"caucus/internal/textpage"
)

// Table prints rows under a header, with two spaces between columns.
type Table struct{ w *tabwriter.Writer }

// NewTable returns a table with this header, to which rows are added before it is rendered.
func NewTable(w io.Writer, header ...string) Table {
	t := Table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.Add(header...)
	rules := make([]string, len(header))
	for i, name := range header {
		rules[i] = strings.Repeat("─", utf8.RuneCountInString(name))
	}
	t.Add(rules...)
	return t
}

// Add adds a row. Cells may contain text from anybody, so Add escapes them.
func (t Table) Add(cells ...string) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t")
		}
		fmt.Fprint(t.w, textpage.Printable(c))
	}
	fmt.Fprintln(t.w)
}

// Render writes header and rows with aligned columns. Nothing is written before.
func (t Table) Render() { t.w.Flush() }

// Counted formats a number of things, for example "2 parties" or "1 party".
func Counted(n int, things string) string {
	if n != 1 {
		return fmt.Sprintf("%d %s", n, things)
	}
	if stem, ok := strings.CutSuffix(things, "ies"); ok {
		return "1 " + stem + "y"
	}
	if stem, ok := strings.CutSuffix(things, "sses"); ok {
		return "1 " + stem + "ss"
	}
	return "1 " + strings.TrimSuffix(things, "s")
}
