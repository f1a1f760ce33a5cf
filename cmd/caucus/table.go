package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// table prints rows under a header, in columns two spaces apart.
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

// add keeps an error for render.
func (t table) add(cells ...string) { fmt.Fprintln(t.w, strings.Join(cells, "\t")) }

func (t table) render() error { return t.w.Flush() }
