//go:build unix

package source

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"caucus/dataset/database"
	"caucus/dataset/mapping"
	"caucus/internal/testserver"
	"caucus/study"
)

const bornSchema = `
date: 2024-12-31
label: {column: died, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 110}
  - {column: shift, kind: categorical, levels: [night, day]}
`

type bornRow struct {
	Born  time.Time `parquet:"born,timestamp(microsecond)"`
	Shift string    `parquet:"shift"`
	Died  string    `parquet:"died"`
}

// TestZone: births are stored as moments, at midnight of 1 January in Berlin. The imported ages are
// those in Berlin, whether they come from PostgreSQL (in the account's time zone, or in that of the
// mapping), from CSV files written in each time zone, or from Parquet.
func TestZone(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	server := testserver.Postgres(t)
	const text = "SELECT born, died, CASE WHEN extract(hour FROM born) = 0 THEN 'night' ELSE 'day' END AS shift FROM adm"
	for _, do := range []string{
		`CREATE TABLE adm AS SELECT make_timestamptz(1940 + g % 60, 1, 1, 0, 0, 0, 'Europe/Berlin') AS born,
			(ARRAY['no', 'yes'])[1 + g % 2] AS died FROM generate_series(0, 299) AS g`,
		"GRANT SELECT ON adm TO " + testserver.Name, "ALTER ROLE " + testserver.Name + " SET timezone = 'Europe/Berlin'",
	} {
		if _, err := server.DB.Exec(do); err != nil {
			t.Fatal(err)
		}
	}
	rule := map[string]mapping.Rule{"age": {FromColumn: "born", YearsUntil: "schema"}}
	s := askedOf(t, database.Postgres, server.DSN, bornSchema, text)
	say := func(zone string) {
		source := s.ByName["ward"]
		source.Mapping.Inline = mapping.Mapping{Columns: rule, Zone: zone}
		s.ByName["ward"] = source
	}
	say("")
	r, err := declare(s, DeclareOptions{Vouch: true})
	if err != nil {
		t.Fatal(err)
	}
	if form := r.Form; r.Declared.Query.Zone != "Europe/Berlin" || !strings.Contains(form,
		"in the time zone Europe/Berlin") {
		t.Errorf("declared %+v: %s", r.Declared.Query, form)
	}
	want := imported(t, s, r)
	held, err := s.AllRecords(study.Plan{SourceName: "ward", Schema: r.Declared.Schema})
	if err != nil {
		t.Fatal(err)
	}
	ages := map[int]int{} // the table has an order of its own
	for i := range held.Len() {
		row := held.X.RawRowView(i)
		ages[int(row[0]*110+0.5)]++
		if row[1] != 1 {
			t.Errorf("a moment at midnight is not of the night: %v", row)
		}
	}
	for year := 1940; year < 2000; year++ {
		if n := ages[2024-year]; n != 5 {
			t.Errorf("%d people are %d years old, want 5", n, 2024-year)
		}
	}
	for _, other := range []string{"Europe/Berlin", "UTC"} {
		say(other)
		r, err := declare(s, DeclareOptions{Vouch: true})
		if err != nil {
			t.Fatal(err)
		}
		if same := imported(t, s, r) == want; same != (other == "Europe/Berlin") {
			t.Errorf("zone: %s makes the same import: %v", other, same)
		}
	}

	var rows []bornRow
	for g := range 300 {
		rows = append(rows, bornRow{time.Date(1940+g%60, 1, 1, 0, 0, 0, 0, berlin), "night",
			[]string{"no", "yes"}[g%2]})
	}
	var container bytes.Buffer
	w := parquet.NewGenericWriter[bornRow](&container)
	_, err = w.Write(rows)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	written := func(in *time.Location) string {
		out := "born,shift,died\n"
		for _, r := range rows {
			out += fmt.Sprintf("%s,%s,%s\n", r.Born.In(in).Format("2006-01-02 15:04:05-07:00"),
				r.Shift, r.Died)
		}
		return out
	}
	for name, content := range map[string]string{
		"parquet": container.String(), "in Berlin": written(berlin), "in UTC": written(time.UTC), "elsewhere": written(time.FixedZone("", -8*3600)),
	} {
		f := newWard(t)
		if err := os.WriteFile(f.ByName["ward"].Schema, []byte(bornSchema), 0o600); err != nil {
			t.Fatal(err)
		}
		f.put(content)
		for _, zone := range []string{"Europe/Berlin", ""} {
			f.say(func(s *Source) { s.Mapping.Inline = mapping.Mapping{Columns: rule, Zone: zone} })
			r, err := declare(f.Sources, DeclareOptions{})
			if err != nil {
				t.Fatal(err)
			}
			// Without a zone the day is the one that is written, and a remark says so.
			if same := imported(t, f.Sources, r) == want; same != (zone != "" ||
				name == "in Berlin") {
				t.Errorf("%s, zone %q: the same import: %v", name, zone, same)
			}
			if said := strings.Contains(strings.Join(r.Remarks, "\n"),
				"name the site's under zone"); said != (zone == "") {
				t.Errorf("%s, zone %q: remarks %q", name, zone, r.Remarks)
			}
		}
	}

	// A declaration of an earlier version names no zone. It holds, and a check says what the import
	// has.
	say("")
	if r, err = declare(s, DeclareOptions{Vouch: true}); err != nil {
		t.Fatal(err)
	}
	old := *r.Declared
	old.Query = &QueryOrigin{Driver: old.Query.Driver, DSNFile: old.Query.DSNFile}
	stored, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.declarationFile("ward"), stored, 0o600); err != nil {
		t.Fatal(err)
	}
	c := s.Check(t.Context(), "ward")
	if c.Declared == nil || c.Problem != "" || !strings.Contains(strings.Join(c.Remarks, "\n"),
		"imported when sessions were in UTC") {
		t.Errorf("an earlier declaration: %+v", c)
	}
}

// TestCheckQuery: a check runs a query that nobody has declared, and says that none of its labels
// is known.
func TestCheckQuery(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ward.db")
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE t (age INT, sex TEXT, ill TEXT); INSERT INTO t VALUES (70, 'f', 'ja'), (30, 'm', 'nein')"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := askedOf(t, database.SQLite, path, wardSchema, "SELECT age, sex, ill FROM t")
	r := s.Check(t.Context(), "ward")
	if !strings.Contains(r.Problem, "100% of the records have no known label") ||
		r.Declared != nil || r.Found != 2 {
		t.Errorf("check says %+v", r)
	}
	says, err := s.CheckMapping(r)
	if err != nil || says != "all 3 columns of the schema come from the file's 3" {
		t.Errorf("of its mapping it says %q, %v", says, err)
	}
	// A limit that was set after the import counts too.
	source := s.ByName["ward"]
	source.Query.SQL = "SELECT age, sex, CASE ill WHEN 'ja' THEN 'yes' ELSE 'no' END AS ill FROM t"
	s.ByName["ward"] = source
	if _, err := declare(s, DeclareOptions{Vouch: true}); err != nil {
		t.Fatal(err)
	}
	source.Expected.Records = []int{10, 20}
	s.ByName["ward"] = source
	if r := s.Check(t.Context(), "ward"); r.Declared == nil || !strings.Contains(r.Problem,
		"the file has 2 records, expected are 10 to 20") {
		t.Errorf("check says %+v", r)
	}
}

// TestMovedFolder: a file that the configuration names otherwise is declared again, and the message
// has both names.
func TestMovedFolder(t *testing.T) {
	w := newWard(t)
	w.put("age,sex,ill\n70,f,yes\n30,m,no\n")
	d := w.declared()
	moved := filepath.Join(t.TempDir(), "ward.csv")
	w.say(func(s *Source) { s.File = moved })
	_, err := w.declaration("ward")
	if err == nil || !strings.Contains(err.Error(), moved) || !strings.Contains(err.Error(),
		d.File) || !strings.Contains(err.Error(), "if the folder was moved") {
		t.Errorf("a file of another folder: %v", err)
	}
}
