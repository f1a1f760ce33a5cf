//go:build unix

package source

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"caucus/dataset/database"
	"caucus/internal/testlevel"
	"caucus/internal/testserver"
	"caucus/study"
)

// block returns a page's first code block in a language.
func block(t *testing.T, page, language string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```"+language+"\n")
	if !ok {
		t.Fatalf("%s has no block of %s", page, language)
	}
	out, _, _ := strings.Cut(rest, "```")
	return out
}

// cdm makes the tables of a small OMOP CDM that the page's query reads.
func cdm(t *testing.T, db *sql.DB) {
	t.Helper()
	do := func(text string, args ...any) {
		if _, err := db.Exec(text, args...); err != nil {
			t.Fatal(err)
		}
	}
	do("CREATE TABLE person (person_id integer PRIMARY KEY, gender_concept_id integer NOT NULL, year_of_birth integer NOT NULL)")
	do("CREATE TABLE measurement (measurement_id integer PRIMARY KEY, person_id integer NOT NULL, measurement_concept_id integer NOT NULL, value_as_number numeric)")
	do("CREATE TABLE condition_occurrence (condition_occurrence_id integer PRIMARY KEY, person_id integer NOT NULL, condition_concept_id integer NOT NULL)")
	do("CREATE TABLE death (person_id integer PRIMARY KEY)")
	for i := range 200 {
		do(fmt.Sprintf("INSERT INTO person VALUES (%d, %d, %d)", i, []int{8507, 8532, 0}[i%3],
			1930+i%60))
		for j := range i % 3 { // creatinine .8, or .8 and 1.3; other tests too
			do(fmt.Sprintf("INSERT INTO measurement VALUES (%d, %d, 3016723, %g)", 10*i+j, i, []float64{0.8, 1.3}[j]))
			do(fmt.Sprintf("INSERT INTO measurement VALUES (%d, %d, 3013682, 99)", 10*i+5+j, i))
		}
		if i%4 == 0 {
			do(fmt.Sprintf("INSERT INTO condition_occurrence VALUES (%d, %d, 201826)", i, i))
		}
		if i%5 == 0 {
			do(fmt.Sprintf("INSERT INTO death VALUES (%d)", i))
		}
	}
}

// TestOMOP runs the query of docs/omop.md, and compares its records with the CDM's content.
func TestOMOP(t *testing.T) {
	page := filepath.Join("..", "..", "docs", "omop.md")
	query, schema := block(t, page, "sql"), block(t, page, "yaml")
	check := func(t *testing.T, driver, dsn string) {
		s := askedOf(t, driver, dsn, schema, query)
		r, err := declare(s, DeclareOptions{Vouch: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Found != 200 || len(r.Declared.Query.RowDependences) == 0 {
			t.Errorf("%d records; the query has %q", r.Found, r.Declared.Query.RowDependences)
		}
		records, err := s.AllRecords(study.Plan{SourceName: "ward", Schema: r.Declared.Schema})
		if err != nil {
			t.Fatal(err)
		}
		// Columns: age, sex=F, sex=M, sex=other, creatinine, creatinine?, diabetes=no, =yes,
		// =other.
		got, want := map[string]int{}, map[string]int{}
		for i := range records.Len() {
			x := records.X.RawRowView(i)
			got[fmt.Sprintf("%.4f %v %v %.3f %v %v %d", x[0], x[1], x[2], x[4], x[5], x[7],
				records.Y[i])]++
		}
		for i := range 200 {
			sex, creatinine, none := [][2]int{{0, 1}, {1, 0}, {0, 0}}[i%3], []float64{0.5, 0.08,
				0.13}[i%3], []int{1, 0, 0}[i%3]
			is := func(yes bool) int {
				if yes {
					return 1
				}
				return 0
			}
			want[fmt.Sprintf("%.4f %v %v %.3f %v %v %d", float64(94-i%60)/110, sex[0], sex[1],
				creatinine, none, is(i%4 == 0), is(i%5 == 0))]++
		}
		for k, n := range want {
			if got[k] != n {
				t.Errorf("%d records %q, want %d", got[k], k, n)
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "cdm.db")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		cdm(t, db)
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		check(t, database.SQLite, path)
	})
	if testlevel.N(t, 0, 1) == 0 { // TestQueriesAreFiles uses a server too
		return
	}
	t.Run("postgres", func(t *testing.T) {
		server := testserver.Postgres(t)
		cdm(t, server.DB)
		if _, err := server.DB.Exec("GRANT SELECT ON ALL TABLES IN SCHEMA public TO " +
			testserver.Name); err != nil {
			t.Fatal(err)
		}
		check(t, database.Postgres, server.DSN)
	})
}
