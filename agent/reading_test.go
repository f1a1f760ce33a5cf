package agent

import (
	"bytes"
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
	"golang.org/x/text/encoding/charmap"

	"caucus/dataset"
	"caucus/dataset/mapping"
	"caucus/study"
)

// wardMapping maps a German export to pageYAML.
const wardMapping = `
encoding: latin1
delimiter: ;
missing: ["-9", NULL]
dates: DD.MM.YYYY
columns:
  age: {from: Geburtsdatum, years_until: 2024-12-31}
  sex: {from: Größe & Geschlecht, levels: {weiblich: f, männlich: m}}
  ill: {expression: 'Befund == "krank" ? "yes" : "no"'}
`

func mapped(t *testing.T, text string) mapping.Mapping {
	t.Helper()
	m, err := mapping.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// mapWard gives the ward a mapping.
func (r *rig) mapWard(m MappingSource) {
	s := r.config.Data["ward"]
	s.Mapping = m
	r.config.Data["ward"] = s
}

// german is the rig's file as a German hospital would export it.
func german(t *testing.T, clean string) string {
	t.Helper()
	var out strings.Builder
	out.WriteString("Fall;Geburtsdatum;Größe & Geschlecht;Befund\n")
	for i, line := range strings.Split(strings.TrimSpace(clean), "\n")[1:] {
		cells := strings.Split(line, ",")
		var age int
		born := "-9"
		if _, err := fmt.Sscan(cells[0], &age); err == nil {
			born = fmt.Sprintf("01.%02d.%d", 1+i%12, 2024-age)
		}
		fmt.Fprintf(&out, "%d;%s;%s;%s\n", i, born, map[string]string{"f": "weiblich", "m": "männlich"}[cells[1]], map[string]string{"yes": "krank", "no": "gesund"}[cells[2]])
	}
	latin, err := charmap.ISO8859_1.NewEncoder().String(out.String())
	if err != nil {
		t.Fatal(err)
	}
	return latin
}

// TestMappedSource: a site's own export, under a mapping, gives the records that
// a clean file gives, and is declared with what it is.
func TestMappedSource(t *testing.T) {
	clean := "age,sex,ill\n" + strings.Repeat("30,f,no\n71,m,yes\n,f,yes\n", 20)
	r := newRig(t, nil)
	r.put(t, clean)
	if err := r.declare(); err != nil {
		t.Fatal(err)
	}
	want := records(t, r)

	file := filepath.Join(t.TempDir(), "map.yaml")
	if err := os.WriteFile(file, []byte(wardMapping), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]MappingSource{"inline": {Inline: mapped(t, wardMapping)}, "file": {File: file}} {
		r.put(t, clean)
		r.mapWard(MappingSource{})
		if err := r.declare(); err != nil {
			t.Fatal(err)
		}
		r.put(t, german(t, clean))
		r.mapWard(m)
		if _, err := r.agent(t).state.declaration("ward"); !errors.Is(err, ErrUndeclared) {
			t.Errorf("%s: under another mapping: %v, want that a person has to declare it", name, err)
		}
		if err := r.declare(); err != nil {
			t.Fatal(err)
		}
		if got := records(t, r); got != want {
			t.Errorf("%s: records\n%s\nwant\n%s", name, got, want)
		}
		a := r.agent(t)
		d, err := a.state.declaration("ward")
		if err != nil || d.Form.Encoding != "latin1" || d.cells() <= 8 {
			t.Errorf("%s: %+v, %v, %g cells", name, d.Form, err, d.cells())
		}
		r.mapWard(MappingSource{})
		if _, err := r.agent(t).state.declaration("ward"); err == nil {
			t.Errorf("%s: the declaration holds without the mapping", name)
		}
	}
	r.mapWard(MappingSource{File: file})
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := r.agent(t).state.declaration("ward"); !errors.Is(err, ErrUndeclared) {
		t.Errorf("without the mapping's file: %v", err)
	}
}

// records are the ward's encoded records, as text.
func records(t *testing.T, r *rig) string {
	t.Helper()
	d, err := r.agent(t).state.declaration("ward")
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := d.encoded(study.Plan{Schema: d.Schema})
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for i := range all.Len() {
		fmt.Fprintln(&out, all.X.RawRowView(i), all.Y[i])
	}
	return out.String()
}

// patientRow is a row of Parquet.
type patientRow struct {
	Age *int64 `parquet:"age,optional"`
	Sex string `parquet:"sex"`
	Ill string `parquet:"ill"`
}

// containers are a table as other files.
func containers(t *testing.T, table *dataset.Table) map[string][]byte {
	t.Helper()
	var text, book, columns bytes.Buffer
	if err := table.WriteCSV(&text); err != nil {
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
			if err := x.SetCellDefault("Sheet1", fmt.Sprintf("%c%d", 'A'+j, i+2), cell); err != nil {
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
		"text": text.Bytes(), "gzip": []byte(gzipped(t, text.String())), "zstd": z.EncodeAll(text.Bytes(), nil),
		"xlsx": book.Bytes(), "parquet": columns.Bytes(),
	}
}

// TestFilesAsTheyAre: the same records, whatever kind of file they are in, under
// a name that says otherwise. A container that changed gives empty records in
// the same number, which the site is told; text is read as it is then.
func TestFilesAsTheyAre(t *testing.T) {
	var rows [][]string
	for i := range 90 {
		rows = append(rows, [][]string{{"30", "f", "no"}, {"71", "m", "yes"}, {"", "f", "yes"}}[i%3])
	}
	table, err := dataset.NewTable([]string{"age", "sex", "ill"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	all := containers(t, table)
	want := ""
	for _, name := range []string{"text", "gzip", "zstd", "xlsx", "parquet"} {
		r := newRig(t, nil)
		r.put(t, string(all[name]))
		if err := r.declare(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := records(t, r)
		if name == "text" {
			want = got
		}
		if got != want || got == "" {
			t.Errorf("%s: other records than those of text", name)
		}
		a := r.agent(t)
		d, err := a.state.declaration("ward")
		if err != nil {
			t.Fatal(err)
		}
		// The same table, but for one row, as another file.
		other, err := dataset.NewTable(table.Columns(), append([][]string{{"99", "m", "yes"}}, rows[1:]...))
		if err != nil {
			t.Fatal(err)
		}
		r.put(t, string(containers(t, other)[name]))
		_, _, err = d.encoded(study.Plan{Schema: d.Schema})
		if changed := errors.Is(err, errChanged); changed != d.Form.Container() || err != nil && !changed {
			t.Errorf("%s that changed: %v", name, err)
		}
		round(t, a)
		if len(r.bodies) != 1 {
			t.Errorf("%s that changed: %d uploads", name, len(r.bodies))
		}
		if told := strings.Contains(r.log.String(), "gets empty records"); told != d.Form.Container() {
			t.Errorf("%s that changed: the site is told %v", name, told)
		}
		review, _, err := a.Preview(context.Background(), "illness")
		if err != nil || (len(review.Problems) > 0) != d.Form.Container() {
			t.Errorf("%s that changed: problems %q, %v", name, review.Problems, err)
		}
	}
}

// TestExpressionsBoundTime: the costliest expressions that are allowed, on the
// costliest cells, take less than the steps that are counted for them.
func TestExpressionsBoundTime(t *testing.T) {
	for name, expression := range map[string]string{
		"copies":       strings.Repeat("sex + ", 90) + "sex",
		"copies right": strings.Repeat("sex + (", 60) + "sex" + strings.Repeat(")", 60),
		"functions":    strings.Repeat("lower(upper(trim(", 30) + "sex" + strings.Repeat(")))", 30),
		"pattern":      `sex matches "^(a?){20}(a|aa)*b$"`,
		"pattern 2":    `sex matches "(.*a.*a.*a.*){3}c"`,
		"no value":     strings.Repeat(" ", 1900) + "sex + 1",
		"no value 2":   strings.Repeat("(", 90) + "-sex" + strings.Repeat(")", 90),
		"constant":     "1",
		"list":         `sex in ["` + strings.Repeat(`a","`, 150) + `b"]`,
		"arithmetic":   strings.Repeat("age * ", 95) + "age",
	} {
		m := mapping.Mapping{Columns: map[string]mapping.Rule{"sex": {Expression: expression}}}
		schema, err := dataset.ParseSchema(strings.NewReader(pageYAML))
		if err != nil {
			t.Fatal(err)
		}
		const records = 300
		text := "age,sex,ill\n" + strings.Repeat("30,"+strings.Repeat("aÄ", 85)+",no\n", records)
		least, cells, given, step := time.Hour, 0.0, time.Duration(0), stepTime()
		for tries := 0; tries < 5 || least > given && tries < 200; tries++ { // other work on the machine only adds
			start := time.Now()
			rows, err := dataset.NewLines(strings.NewReader(text), dataset.Format{})
			if err != nil {
				t.Fatal(err)
			}
			_, bound, err := m.Read(rows, schema)
			if err != nil {
				t.Fatal(name, err)
			}
			least, cells = min(least, time.Since(start)), 3+bound.Cells()
			given = time.Duration(study.CellSteps * cells * records * float64(step) / stepsCounted)
		}
		t.Logf("%s: %v, given %v", name, least, given)
		if least > given {
			t.Errorf("%s: %d records take %v, %v are counted", name, records, least, given)
		}
	}
}

// TestCellsBoundTime: reading takes less than the steps that a window counts for
// it, which are then given several times. The least of some tries, so that other
// work on the machine does not count.
func TestCellsBoundTime(t *testing.T) {
	var rows [][]string
	for i := range 4000 {
		rows = append(rows, []string{fmt.Sprint(20 + i%70), []string{"f", "m"}[i%2], []string{"yes", "no"}[i/7%2]})
	}
	table, err := dataset.NewTable([]string{"age", "sex", "ill"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	step := stepTime()
	for name, b := range containers(t, table) {
		r := newRig(t, nil)
		r.put(t, string(b))
		r.mapWard(MappingSource{Inline: mapped(t, "columns: {sex: {expression: 'sex matches \"^f+$\" ? \"f\" : lower(upper(sex))'}}")})
		if err := r.declare(); err != nil {
			t.Fatal(err)
		}
		d, err := r.agent(t).state.declaration("ward")
		if err != nil {
			t.Fatal(err)
		}
		steps := study.CellSteps * d.cells() * float64(d.Records)
		given := time.Duration(steps * float64(step) / stepsCounted)
		least := time.Hour
		for tries := 0; tries < 5 || least > given && tries < 200; tries++ { // other work on the machine only adds
			start := time.Now()
			if _, err := d.read(); err != nil {
				t.Fatal(err)
			}
			least = min(least, time.Since(start))
		}
		t.Logf("%s: %v, given %v", name, least, given)
		if least > given {
			t.Errorf("%s: reading %d records takes %v, %v are counted", name, d.Records, least, given)
		}
	}
}
