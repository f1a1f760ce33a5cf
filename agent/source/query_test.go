//go:build unix

package source

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite" // the driver sqlite

	"caucus/dataset"
	"caucus/dataset/database"
	"caucus/dataset/public"
	"caucus/internal/testserver"
)

func hospital(t *testing.T) (*dataset.Table, string) {
	t.Helper()
	table, schema := public.Hospitals(public.DefaultHospitalConfig())
	text, err := schema.YAML()
	if err != nil {
		t.Fatal(err)
	}
	return table, string(text)
}

func fill(t *testing.T, db *sql.DB, table *dataset.Table, mark func(int) string) {
	t.Helper()
	columns := table.Columns()
	quoted := strings.Join(columns, ", ")
	if _, err := db.Exec("CREATE TABLE visits (" + strings.Join(columns, " varchar(60), ") +
		" varchar(60))"); err != nil {
		t.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		t.Fatal(err)
	}
	marks := make([]string, len(columns))
	for i := range marks {
		marks[i] = mark(i + 1)
	}
	insert := "INSERT INTO visits (" + quoted + ") VALUES (" + strings.Join(marks, ", ") + ")"
	for i := table.Rows() - 1; i >= 0; i-- { // in another order than the file's
		cells := make([]any, len(columns))
		for j, name := range columns {
			if cell, _ := table.Cell(i, name); cell != "" {
				cells[j] = cell
			}
		}
		if _, err := tx.Exec(insert, cells...); err != nil {
			t.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

// askedOf is a source that is a query, with the file of its address.
func askedOf(t *testing.T, driver, dsn, schema, text string) Sources {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"dsn": dsn, "schema.yaml": schema} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	q := database.Query{Driver: driver, DSNFile: filepath.Join(dir, "dsn"), SQL: text}
	return Sources{Dir: dir, Imports: filepath.Join(dir, "imports"), Key: []byte("key"),
		Now:    time.Now,
		ByName: map[string]Source{"ward": {Query: q, Schema: filepath.Join(dir, "schema.yaml")}}}
}

func declare(s Sources, how DeclareOptions) (Report, error) {
	return s.Declare(context.Background(), "ward", how, func(d *Declaration) error {
		d.By = "tester"
		return nil
	})
}

// imported is the table of a source's import, without its temporary name.
func imported(t *testing.T, s Sources, r Report) string {
	t.Helper()
	b, err := os.ReadFile(s.importFile(*r.Declared))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestQueriesAreFiles: the same records from CSV, Parquet, SQLite, PostgreSQL and MariaDB, under
// one schema, give equal imports, byte for byte.
func TestQueriesAreFiles(t *testing.T) {
	table, schema := hospital(t)
	w := newWard(t)
	if err := os.WriteFile(w.ByName["ward"].Schema, []byte(schema), 0o600); err != nil {
		t.Fatal(err)
	}
	var clean bytes.Buffer
	if err := table.WriteCSV(&clean); err != nil {
		t.Fatal(err)
	}
	w.put(clean.String())
	r, err := declare(w.Sources, DeclareOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := imported(t, w.Sources, r)

	query := "SELECT " + strings.Join(table.Columns(), ", ") + " FROM visits"
	check := func(t *testing.T, driver, dsn string) Sources {
		s := askedOf(t, driver, dsn, schema, query)
		if _, err := declare(s, DeclareOptions{}); err == nil ||
			!strings.Contains(err.Error(), "--vouch") {
			t.Errorf("a query is declared and nobody vouched: %v", err)
		}
		r, err := declare(s, DeclareOptions{Vouch: true})
		if err != nil {
			t.Fatal(err)
		}
		if imported(t, s, r) != want {
			t.Error("another import than that of the file")
		}
		if d := r.Declared; d.RecordsRead != table.Rows() || d.Query.Driver != driver ||
			len(d.VouchedColumns) != len(d.Schema.AllColumns()) ||
			!strings.Contains(d.Origin(), d.Digest[:16]) {
			t.Errorf("declared %+v", d)
		}
		if c := s.Check(t.Context(), "ward"); c.Problem != "" || c.FileChanged ||
			c.Found != table.Rows() {
			t.Errorf("check says %+v", c)
		}
		other := s.ByName["ward"]
		other.Query.SQL += " WHERE 1 = 1"
		s.ByName["ward"] = other
		if _, err := s.declaration("ward"); !errors.Is(err, ErrUndeclared) ||
			!strings.Contains(err.Error(), "another query") {
			t.Errorf("another query holds as declared: %v", err)
		}
		return s
	}
	t.Run("sqlite", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "hospital.db")
		db, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		fill(t, db, table, func(int) string { return "?" })
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		check(t, database.SQLite, path)
	})
	t.Run("postgres", func(t *testing.T) {
		server := testserver.Postgres(t)
		fill(t, server.DB, table, func(i int) string { return fmt.Sprint("$", i) })
		if _, err := server.DB.Exec("GRANT SELECT ON visits TO " + testserver.Name); err != nil {
			t.Fatal(err)
		}
		s := check(t, database.Postgres, server.DSN)
		before, err := fs.Glob(os.DirFS(s.Imports), "*")
		if err != nil {
			t.Fatal(err)
		}
		server.Kill() // the last import stays
		if _, err := declare(s, DeclareOptions{Vouch: true}); err == nil {
			t.Error("a database that is gone is imported")
		}
		if after, err := fs.Glob(os.DirFS(s.Imports), "*"); err != nil ||
			!slices.Equal(before, after) {
			t.Errorf("imports %q, before %q", after, before)
		}
	})
	t.Run("mariadb", func(t *testing.T) {
		server := testserver.MariaDB(t)
		fill(t, server.DB, table, func(int) string { return "?" })
		if _, err := server.DB.Exec("GRANT SELECT ON visits TO '" + testserver.Name +
			"'@'localhost'"); err != nil {
			t.Fatal(err)
		}
		check(t, database.MySQL, server.DSN)
	})
}
