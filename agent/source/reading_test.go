package source

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"

	"caucus/dataset"
	"caucus/dataset/mapping"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
)

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

// export is a clean file in the form that a German hospital would export.
func export(t *testing.T, clean string) string {
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
		fmt.Fprintf(&out, "%d;%s;%s;%s\n", i, born,
			map[string]string{"f": "weiblich",
				"m": "männlich"}[cells[1]], map[string]string{"yes": "krank",
				"no": "gesund"}[cells[2]])
	}
	latin, err := charmap.ISO8859_1.NewEncoder().String(out.String())
	if err != nil {
		t.Fatal(err)
	}
	return latin
}

// TestMappedSource: a site's own export, under a mapping, gives the records of a clean file, and
// the declaration says so.
func TestMappedSource(t *testing.T) {
	clean := "age,sex,ill\n" + strings.Repeat("30,f,no\n71,m,yes\n,f,yes\n", 20)
	w := newWard(t)
	w.put(clean)
	if err := w.declare(); err != nil {
		t.Fatal(err)
	}
	want := w.records()

	german, err := mapping.Parse(strings.NewReader(wardMapping))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "map.yaml")
	if err := os.WriteFile(file, []byte(wardMapping), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]MappingSource{"inline": {Inline: german},
		"file": {File: file}} {
		w.put(clean)
		w.say(func(s *Source) { s.Mapping = MappingSource{} })
		if err := w.declare(); err != nil {
			t.Fatal(err)
		}
		w.put(export(t, clean))
		w.say(func(s *Source) { s.Mapping = m })
		if _, err := w.declaration("ward"); !errors.Is(err, ErrUndeclared) {
			t.Errorf("%s: under another mapping: %v, want that a person has to declare it", name, err)
		}
		if err := w.declare(); err != nil {
			t.Fatal(err)
		}
		if got := w.records(); got != want {
			t.Errorf("%s: records\n%s\nwant\n%s", name, got, want)
		}
		d, err := w.declaration("ward")
		if err != nil || d.Form.Encoding != "latin1" {
			t.Errorf("%s: %+v, %v", name, d.Form, err)
		}
		w.say(func(s *Source) { s.Mapping = MappingSource{} })
		if _, err := w.declaration("ward"); err == nil {
			t.Errorf("%s: the declaration holds without the mapping", name)
		}
	}
	w.say(func(s *Source) { s.Mapping = MappingSource{File: file} })
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := w.declaration("ward"); !errors.Is(err, ErrUndeclared) {
		t.Errorf("without the mapping's file: %v", err)
	}
}

// TestFilesAsTheyAre: the same records in any file format, under a misleading name, make the same
// import. Later changes of the file do not matter.
func TestFilesAsTheyAre(t *testing.T) {
	var rows [][]string
	for i := range 90 {
		rows = append(rows, [][]string{{"30", "f", "no"}, {"71", "m", "yes"},
			{"", "f", "yes"}}[i%3])
	}
	table, err := dataset.NewTable([]string{"age", "sex", "ill"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	all := containers(t, table)
	want := ""
	for _, name := range []string{"text", "gzip", "zstd", "xlsx", "parquet"} {
		w := newWard(t)
		w.put(string(all[name]))
		d := w.declared()
		if want == "" {
			want = d.ImportDigest
		}
		if d.ImportDigest != want || d.ImportDigest == "" {
			t.Errorf("%s: another import than that of text", name)
		}
		p := study.Plan{Kind: "classify", Mechanism: "cross", Unit: privacy.Record, Delta: 1e-6,
			Schema: d.Schema}
		before, _, _ := w.Records(p, d.Records, false)
		w.put("something else")
		after, odd, unread := w.Records(p, d.Records, false)
		if !reflect.DeepEqual(before, after) || len(odd) > 0 || unread != nil ||
			before.Records.Len() != d.Records {
			t.Errorf("%s: other records once the file changed: %q, %v", name, odd, unread)
		}
		if r := w.Check(t.Context(), "ward"); !r.FileChanged || r.Problem != "" {
			t.Errorf("%s: %+v, want that it changed, and no problem", name, r)
		}
	}
}

// stepTime is the time of a step on this machine in nanoseconds: the least of some tries, which
// leaves out other work.
func stepTime() float64 {
	least := math.Inf(1)
	for range 5 {
		start := time.Now()
		steps := learners.RunReference()
		least = min(least, float64(time.Since(start))/steps)
	}
	return least
}

// TestExpressionsBoundTime: the costliest allowed expressions on the costliest cells take at most
// the steps counted for them.
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
		schema, err := dataset.ParseSchema(strings.NewReader(wardSchema))
		if err != nil {
			t.Fatal(err)
		}
		const records = 300
		text := "age,sex,ill\n" + strings.Repeat("30,"+strings.Repeat("aÄ", 85)+",no\n", records)
		least, cells, given, step := time.Hour, 0.0, time.Duration(0), stepTime()
		// other work on the machine only adds
		for tries := 0; tries < 5 || least > given && tries < 200; tries++ {
			start := time.Now()
			rows, err := dataset.NewLines(strings.NewReader(text), dataset.Format{})
			if err != nil {
				t.Fatal(err)
			}
			bound, err := m.Bind(rows.Columns(), schema)
			if err == nil {
				_, err = dataset.CollectRows(bound.Rows(rows))
			}
			if err != nil {
				t.Fatal(name, err)
			}
			least, cells = min(least, time.Since(start)), 3+bound.Cells()
			given = time.Duration(study.CellSteps * cells * records * step)
		}
		t.Logf("%s: %v, given %v", name, least, given)
		if least > given {
			t.Errorf("%s: %d records take %v, %v are counted", name, records, least, given)
		}
	}
}

// TestCellsBoundTime: reading an import, or text that is written anew, takes at most the steps that
// a window counts, of which it then gives several times as many. The least of some tries leaves out
// other work.
func TestCellsBoundTime(t *testing.T) {
	var rows [][]string
	for i := range 4000 {
		rows = append(rows, []string{fmt.Sprint(20 + i%70), []string{"f", "m"}[i%2],
			[]string{"yes", "no"}[i/7%2]})
	}
	table, err := dataset.NewTable([]string{"age", "sex", "ill"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	step := stepTime()
	for name, b := range containers(t, table) {
		w := newWard(t)
		w.put(string(b))
		imported := name == "xlsx" || name == "parquet"
		w.say(func(s *Source) {
			s.Mapping.Inline.Columns = map[string]mapping.Rule{"sex": {Expression: `sex matches "^f+$" ? "f" : lower(upper(sex))`}}
			if !imported {
				s.Redeclare = RedeclareDaily
			}
		})
		d := w.declared()
		read := func() error { _, _, err := d.readDaily([]byte("key")); return err }
		if imported {
			read = func() error {
				h, err := w.Open(d, plan(d))
				if err == nil {
					_, err = h.All()
				}
				return err
			}
		}
		given := time.Duration(study.CellSteps * d.Cells() * float64(d.Records) * step)
		least := time.Hour
		// other work on the machine only adds
		for tries := 0; tries < 5 || least > given && tries < 200; tries++ {
			start := time.Now()
			if err := read(); err != nil {
				t.Fatal(err)
			}
			least = min(least, time.Since(start))
		}
		t.Logf("%s: %v, given %v", name, least, given)
		if least > given {
			t.Errorf("%s: reading %d records takes %v, %v are counted", name, d.Records, least,
				given)
		}
	}
}

// TestNoCell: records without a cell of the schema, as of a second table beside the first, are
// counted for a person, with the first line.
func TestNoCell(t *testing.T) {
	w := newWard(t)
	w.put("age,sex,ill,beds\n" + strings.Repeat("30,f,no,\n71,m,yes,\n", 20) + ",,,7\n,,,9\n")
	r := w.Check(t.Context(), "ward")
	want := string(mapping.ProblemNoCell) + ": 2, the first in line 42"
	if !strings.Contains(strings.Join(r.Remarks, "\n"), want) {
		t.Errorf("not said: %s: %q", want, r.Remarks)
	}
}
