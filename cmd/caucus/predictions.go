package main

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/parquet-go/parquet-go"
	"gonum.org/v1/gonum/mat"

	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/dataset"
	"caucus/dataset/mapping"
	"caucus/internal/csvfile"
	"caucus/study/classifier"
)

// answering reads records and writes predictions part by part. doc has the values only for --json.
type answering struct {
	*predicting
	file         *input.RecordFile
	schema       dataset.Schema
	predict      func(*dataset.Records) ([]int, *mat.Dense, error)
	doc          prediction
	right, known int
	notes        []string
	marked       int   // cells of CSV that a spreadsheet would compute
	unread       error // an error of reading the file
}

func (a *answering) failed(err error) error {
	a.unread = input.PrefixFileName(a.data, err)
	return a.unread
}

// readable reads the file to its end, only to find errors.
func (a *answering) readable() error {
	rows, err := a.file.Rows()
	for err == nil {
		_, _, err = rows.Next()
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return a.failed(fmt.Errorf("read records: %w", err))
}

// read predicts the whole file from its beginning. It writes the predictions, unless to is nil.
func (a *answering) read(to io.Writer) error {
	var sample dataset.CollectedRows // the first records, for mapping.Advice
	rows, _, err := a.file.Mapped(a.schema)
	if err == nil {
		sample, err = dataset.CollectRows(dataset.FirstRows(rows, mapping.AdviceRecords))
	}
	if err != nil {
		return a.failed(err)
	}
	rows, bound, err := a.file.Mapped(a.schema)
	if err != nil {
		return a.failed(err)
	}
	keep := a.ids
	if a.keep {
		keep = rows.Columns()
	}
	for _, name := range keep {
		if !slices.Contains(rows.Columns(), name) {
			return console.Usagef("--id %s: the file has no such column; it has %s", name,
				strings.Join(rows.Columns(), ", "))
		}
	}
	doc := &a.doc
	doc.Rows, doc.Counts, doc.Labels, doc.Values, doc.Kept = 0, map[string]int{}, []string{},
		[][]float64{}, nil
	if a.right, a.known = 0, 0; len(keep) > 0 {
		doc.Kept = map[string][]string{}
	}
	out, err := a.answer(to, keep)
	if err != nil {
		return console.Usagef("%w", err)
	}
	var failed error // an error of predicting or writing a part, not of reading the file
	remarks, err := a.schema.ReadInParts(rows, keep,
		func(r *dataset.Records, kept [][]string) error {
			p := part{first: doc.Rows, kept: kept}
			if p.labels, p.values, failed = a.predict(r); failed != nil {
				return failed
			}
			right, known := classifier.CountCorrect(p.labels, r.Y)
			a.right, a.known, doc.Rows = a.right+right, a.known+known, doc.Rows+len(p.labels)
			for i, k := range p.labels {
				doc.Counts[doc.Classes[k]]++
				if a.JSON {
					doc.Labels, doc.Values = append(doc.Labels, doc.Classes[k]), append(doc.Values,
						p.values.RawRowView(i))
				}
			}
			for i, name := range keep {
				if a.JSON {
					doc.Kept[name] = append(doc.Kept[name], kept[i]...)
				}
			}
			failed = out.part(p)
			return failed
		})
	if err != nil && failed == nil {
		return a.failed(err)
	}
	a.notes = slices.Concat(bound.Notes, mapping.Advice(sample.Table, a.schema))
	for _, r := range append(bound.Remarks(), remarks...) {
		a.notes = append(a.notes, r.String())
	}
	if err = cmp.Or(err, out.end()); a.marked > 0 {
		a.notes = append(a.notes, fmt.Sprintf("%s that a spreadsheet would compute as formulas, "+
			"and that have an apostrophe before them in the file: Parquet has them without",
			console.Counted(a.marked, "cells")))
	}
	return err
}

// part holds the predictions of consecutive records: a class and a row of values for each, and the
// kept columns.
type part struct {
	first  int // index of the first record
	labels []int
	values *mat.Dense
	kept   [][]string // by column
}

// answers writes parts as a table.
type answers struct {
	part func(part) error
	end  func() error
}

// answer begins a table of the kept columns and the predictions: Parquet if the output's name ends
// in .parquet, else CSV. If to is nil, nothing is written.
func (a *answering) answer(to io.Writer, keep []string) (answers, error) {
	names := append(append([]string{"row"}, keep...), "predicted")
	for _, class := range a.doc.Classes {
		names = append(names, string(a.doc.Output)+"_"+class)
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			return answers{}, fmt.Errorf("the answer would have two columns %q: rename the file's column, or keep other columns with --id", name)
		}
	}
	switch {
	case to == nil:
		return answers{func(part) error { return nil }, func() error { return nil }}, nil
	case strings.EqualFold(filepath.Ext(a.out), ".parquet"):
		return inParquet(to, names, len(keep), a.doc.Classes), nil
	}
	return a.inCSV(to, names), nil
}

func (a *answering) inCSV(to io.Writer, names []string) answers {
	out := csvfile.NewEscaping(bufio.NewWriterSize(to, 1<<16))
	row := slices.Clone(names)
	begun := out.Write(row)
	return answers{func(p part) error {
		err := begun
		for i := 0; i < len(p.labels) && err == nil; i++ {
			row = append(row[:0], strconv.Itoa(p.first+i+1))
			for _, column := range p.kept {
				row = append(row, column[i])
			}
			row = append(row, a.doc.Classes[p.labels[i]])
			for _, v := range p.values.RawRowView(i) {
				row = append(row, strconv.FormatFloat(v, 'g', -1, 64))
			}
			err = out.Write(row)
		}
		return err
	}, func() error { a.marked = out.EscapedCells; return out.Close() }}
}

// inOrder is a group of Parquet columns in the given order; a plain group sorts them by name.
type inOrder struct {
	parquet.Group
	names []string
}

func (i inOrder) Fields() []parquet.Field {
	all := i.Group.Fields()
	slices.SortFunc(all, func(a, b parquet.Field) int {
		return slices.Index(i.names, a.Name()) - slices.Index(i.names, b.Name())
	})
	return all
}

// groupRows bounds the rows of a row group, which the library holds in memory.
const groupRows = 1 << 17

func inParquet(to io.Writer, names []string, kept int, classes []string) answers {
	group := inOrder{parquet.Group{}, names}
	for i, name := range names {
		switch {
		case i == 0:
			group.Group[name] = parquet.Int(64)
		case i <= kept+1:
			group.Group[name] = parquet.String()
		default:
			group.Group[name] = parquet.Leaf(parquet.DoubleType)
		}
	}
	out := parquet.NewWriter(to, parquet.NewSchema("predictions", group),
		parquet.MaxRowsPerRowGroup(groupRows))
	wrapped := func(err error) error {
		if err != nil {
			return fmt.Errorf("write Parquet: %w", err)
		}
		return nil
	}
	rows := make([]parquet.Row, 1)
	return answers{func(p part) error {
		for i, label := range p.labels {
			row := append(rows[0][:0], parquet.Int64Value(int64(p.first+i+1)))
			for _, column := range p.kept {
				row = append(row, parquet.ByteArrayValue([]byte(column[i])))
			}
			row = append(row, parquet.ByteArrayValue([]byte(classes[label])))
			for _, v := range p.values.RawRowView(i) {
				row = append(row, parquet.DoubleValue(v))
			}
			for j := range row {
				row[j] = row[j].Level(0, 0, j)
			}
			rows[0] = row
			if _, err := out.WriteRows(rows); err != nil {
				return wrapped(err)
			}
		}
		return nil
	}, func() error { return wrapped(out.Close()) }}
}
