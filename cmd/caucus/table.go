package main

import (
	"io"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// table prints rows under a header.
type table struct{ w *tablewriter.Table }

func newTable(w io.Writer, header ...string) table {
	t := tablewriter.NewTable(w, tablewriter.WithHeaderAutoFormat(tw.Off))
	t.Header(header)
	return table{t}
}

func (t table) add(cells ...string) { t.w.Append(cells) }

func (t table) render() error { return t.w.Render() }
