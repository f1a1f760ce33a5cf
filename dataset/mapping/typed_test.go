package mapping

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/xuri/excelize/v2"

	"caucus/dataset"
	"caucus/dataset/files"
)

// TestTypedNumbers: a decimal comma is for texts. Numbers of a workbook and of Parquet stay, also
// where they look like thousands, in a column's rule, in an expression and beside texts; a draft
// for them asks nothing.
func TestTypedNumbers(t *testing.T) {
	book := excelize.NewFile()
	type row struct {
		Ferritin float64 `parquet:"ferritin"`
		Text     string  `parquet:"text"`
	}
	var rows []row
	for i, name := range []string{"ferritin", "text", "mixed"} {
		cell, _ := excelize.CoordinatesToCellName(i+1, 1)
		if err := book.SetCellValue("Sheet1", cell, name); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 20 {
		v := 4.201 + float64(i)/1000
		text := strconv.Itoa(70+i) + ",5"
		rows = append(rows, row{v, text})
		var mixed any = v
		if i%4 == 0 {
			mixed = "4,25"
		}
		at := strconv.Itoa(i + 2)
		if err := book.SetSheetRow("Sheet1", "A"+at, &[]any{v, text, mixed}); err != nil {
			t.Fatal(err)
		}
	}
	var sheet, packed bytes.Buffer
	if err := book.Write(&sheet); err != nil {
		t.Fatal(err)
	}
	if err := parquet.Write(&packed, rows); err != nil {
		t.Fatal(err)
	}
	wide := func(name string) dataset.Feature {
		return dataset.Feature{Column: name, Kind: dataset.Numeric, Max: 10_000}
	}
	s := dataset.Schema{Features: []dataset.Feature{wide("ferritin"), wide("twice")}}
	for name, b := range map[string][]byte{"xlsx": sheet.Bytes(), "parquet": packed.Bytes()} {
		m := parse(t, `{decimal: ",", columns: {twice: {expression: 2 * ferritin}}}`)
		if name == "xlsx" {
			s.Features = append(s.Features, wide("mixed"))
		}
		open := func() dataset.Rows {
			in := bytes.NewReader(b)
			form, err := files.Detect(in, in.Size(), m.TextFormat)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := files.OpenForPerson(in, in.Size(), form, m.TextFormat)
			if err != nil {
				t.Fatal(err)
			}
			return rows
		}
		rows := open()
		bound, err := m.Bind(rows.Columns(), s)
		if err != nil {
			t.Fatal(err)
		}
		lines, err := dataset.CollectRows(bound.Rows(rows))
		if err != nil {
			t.Fatal(err)
		}
		mean := func(column string) (sum float64) {
			for text, n := range lines.Table.Distinct(column) {
				v, _ := strconv.ParseFloat(text, 64)
				sum += v * float64(n) / 20
			}
			return sum
		}
		want := map[string]float64{"ferritin": 4.2105, "twice": 8.421}
		if name == "xlsx" {
			want["mixed"] = 4.22075
		}
		for column, v := range want {
			if got := mean(column); math.Abs(got-v) > 1e-3 {
				t.Errorf("%s: the mean of %s is %g, want %g", name, column, got, v)
			}
		}
		if remarks := bound.Remarks(); len(remarks) > 0 {
			t.Errorf("%s: %v", name, remarks)
		}
		watched := WatchNumbers(open())
		texts, err := dataset.CollectRows(watched)
		if err != nil {
			t.Fatal(err)
		}
		of := s
		of.Features = slices.Delete(slices.Clone(s.Features), 1, 2)
		draft := Suggest(texts.Table, of, Mapping{}, watched.NumberColumns()...)
		if d := draft.Mapping; len(d.Columns) > 0 || d.Decimal != "," {
			t.Errorf("%s: the draft is %+v: %v", name, d, draft.Notes)
		}
	}
}
