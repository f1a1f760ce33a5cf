package source

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/xuri/excelize/v2"

	"caucus/dataset"
	"caucus/study"
)

const wardSchema = `
label: {column: ill, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: sex, kind: categorical, levels: [f, m]}
`

// ward is a site with one source of this name, not declared yet.
type ward struct {
	Sources
	t *testing.T
}

func newWard(t *testing.T) ward {
	t.Helper()
	dir := t.TempDir()
	w := ward{Sources{Dir: dir, Imports: filepath.Join(dir, "imports"), Key: []byte("key"),
		ByName: map[string]Source{"ward": {File: filepath.Join(dir, "ward.csv"),
			Schema: filepath.Join(dir, "ward.yaml")}}, Now: time.Now}, t}
	if err := os.WriteFile(w.ByName["ward"].Schema, []byte(wardSchema), 0o600); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w ward) put(text string) {
	w.t.Helper()
	if err := os.WriteFile(w.ByName["ward"].File, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

func (w ward) say(change func(*Source)) {
	s := w.ByName["ward"]
	change(&s)
	w.ByName["ward"] = s
}

func (w ward) declare() error {
	_, err := w.Declare(context.Background(), "ward", DeclareOptions{}, func(d *Declaration) error {
		d.By = "tester"
		return nil
	})
	return err
}

func (w ward) declared() Declaration {
	w.t.Helper()
	if err := w.declare(); err != nil {
		w.t.Fatal(err)
	}
	d, err := w.declaration("ward")
	if err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w ward) records() string {
	w.t.Helper()
	d, err := w.declaration("ward")
	if err != nil {
		w.t.Fatal(err)
	}
	all, err := w.AllRecords(study.Plan{SourceName: "ward", Schema: d.Schema})
	if err != nil {
		w.t.Fatal(err)
	}
	var out strings.Builder
	for i := range all.Len() {
		fmt.Fprintln(&out, all.X.RawRowView(i), all.Y[i])
	}
	return out.String()
}

type patientRow struct {
	Age *int64 `parquet:"age,optional"`
	Sex string `parquet:"sex"`
	Ill string `parquet:"ill"`
}

func containers(t *testing.T, table *dataset.Table) map[string][]byte {
	t.Helper()
	var text, gzipped, book, columns bytes.Buffer
	if err := table.WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	g := gzip.NewWriter(&gzipped)
	_, err := g.Write(text.Bytes())
	if err := errors.Join(err, g.Close()); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	x := excelize.NewFile()
	rows := make([]patientRow, table.Rows())
	for j, name := range table.Columns() {
		x.SetCellStr("Sheet1", fmt.Sprintf("%c1", 'A'+j), name)
		for i := range rows {
			cell, _ := table.Cell(i, name)
			if err := x.SetCellDefault("Sheet1", fmt.Sprintf("%c%d", 'A'+j, i+2),
				cell); err != nil {
				t.Fatal(err)
			}
			switch name {
			case "sex":
				rows[i].Sex = cell
			case "ill":
				rows[i].Ill = cell
			case "age":
				var age int64
				if _, err := fmt.Sscan(cell, &age); err == nil {
					rows[i].Age = &age
				}
			}
		}
	}
	w := parquet.NewGenericWriter[patientRow](&columns)
	_, err = w.Write(rows)
	if err := errors.Join(err, w.Close(), x.Write(&book), x.Close()); err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{
		"text": text.Bytes(), "gzip": gzipped.Bytes(), "zstd": z.EncodeAll(text.Bytes(), nil),
		"xlsx": book.Bytes(), "parquet": columns.Bytes(),
	}
}
