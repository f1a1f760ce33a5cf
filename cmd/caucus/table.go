package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"caucus/internal/textpage"
)

// table prints rows under a header, with two spaces between columns.
type table struct{ w *tabwriter.Writer }

func newTable(w io.Writer, header ...string) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.add(header...)
	rules := make([]string, len(header))
	for i, name := range header {
		rules[i] = strings.Repeat("─", utf8.RuneCountInString(name))
	}
	t.add(rules...)
	return t
}

// add adds a row. Cells may contain text from anybody, so add escapes them.
func (t table) add(cells ...string) {
	for i, c := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t")
		}
		fmt.Fprint(t.w, textpage.Printable(c))
	}
	fmt.Fprintln(t.w)
}

func (t table) render() { t.w.Flush() }

// counted formats a number of things, for example "2 parties" or "1 party".
func counted(n int, things string) string {
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
