package database

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"caucus/dataset"
)

func sqliteFile(t testing.TB) (path string, db *sql.DB) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "clinic?#%41.db")
	db, err := sql.Open("sqlite",
		"file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#",
			"%23").Replace(path)+"?_journal=WAL&_timeout=20000")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if err := db.Ping(); err != nil { // makes the file
		t.Fatal(err)
	}
	return path, db
}

func TestSQLite(t *testing.T) {
	path, db := sqliteFile(t)
	k := kind{
		driver: SQLite, db: db, dsn: path,
		create: `CREATE TABLE every (id INTEGER, big BIGINT, little SMALLINT, flag BOOLEAN, single REAL, many REAL,
			price TEXT, born DATE, seen TIMESTAMP, at_utc TEXT, clock TEXT, name TEXT, code CHAR(5))`, // SQLite has no decimals, and no zones
		insert: "INSERT INTO every VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		read:   "SELECT * FROM every ORDER BY id",
		value: func(column string, v any) any {
			switch v := v.(type) {
			case float32:
				many, _ := strconv.ParseFloat(dataset.NumberText(float64(v), 32), 64)
				return many
			case time.Time:
				if column == "at_utc" {
					return dataset.MomentText(v.UnixMicro(), 1e6, "Z")
				}
				return v.Format("2006-01-02 15:04:05.000000")
			}
			if column == "clock" {
				return clock.cell(v)
			}
			return v
		},
		numbers: "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT %d) SELECT n FROM c",
		slow:    "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 10000000000) SELECT count(*) AS n FROM c",
		broken: map[string]string{
			"SELECT json(name) AS n FROM people":                     "a reason that may quote a record",
			`SELECT "nosuchtext" AS n FROM people`:                   "no such column",
			"SELECT id, x'00' AS photo FROM people":                  "no cell can hold the column photo (blob)",
			"SELECT load_extension('x') AS n":                        "a reason that may quote a record",
			"SELECT abs(-9223372036854775807 - id) AS n FROM people": "a reason that may quote a record",
		},
		writes: []string{
			"INSERT INTO people VALUES (3, 'x')", "UPDATE people SET name = 'x' RETURNING name", "DELETE FROM people",
			"CREATE TABLE other (x)", "SELECT 1; DELETE FROM people",
		},
		refused: map[string]string{"SELECT photo FROM photos": "blob"},
	}
	k.do(t, "CREATE TABLE photos (photo BLOB)")
	k.suite(t)

	ctx := context.Background()
	t.Run("addresses", func(t *testing.T) {
		q := k.query(t, "SELECT 1 AS n")
		for content, want := range map[string]string{
			filepath.Join(t.TempDir(), "none"): "cannot be opened",
			t.TempDir():                        "names no file",
			q.DSNFile:                          "no SQLite database",
			"":                                 "is empty",
		} {
			k := k
			k.dsn = content
			_, err := all(ctx, k.query(t, "SELECT id FROM people"))
			k.says(t, content, err, want)
		}
		k.do(t, "VACUUM INTO '"+filepath.Join(filepath.Dir(q.DSNFile), "beside.db")+"'")
		if err := os.WriteFile(q.DSNFile, []byte("beside.db"), 0o600); err != nil {
			t.Fatal(err)
		}
		if rows, err := all(ctx, q); err != nil || len(rows) != 1 {
			t.Errorf("a relative path: %q, %v", rows, err)
		}
	})
}

// TestSQLiteForms: dates in columns declared as dates, and other texts there.
func TestSQLiteForms(t *testing.T) {
	path, db := sqliteFile(t)
	k := kind{driver: SQLite, db: db, dsn: path}
	k.do(t, "CREATE TABLE t (id INTEGER, d DATE, s DATETIME, b BOOL)",
		"INSERT INTO t VALUES (1, '2024-12-31', '2024-12-31 00:00:00', 1), (2, '31.12.2024', '2024-12-31T08:30:00+02:00', 0), (3, 20241231, '2024-12-31 08:30:00.250', 'no'), (4, 1.5, '', NULL)")
	rows, err := all(context.Background(), k.query(t, "SELECT d, s, b FROM t ORDER BY id"))
	got := ""
	for _, r := range rows {
		got += strings.Join(r, "|") + "\n"
	}
	want := "2024-12-31|2024-12-31|true\n31.12.2024|2024-12-31 08:30:00+02:00|false\n20241231|2024-12-31 08:30:00.25|no\n1.5||\n"
	if err != nil || got != want {
		t.Errorf("%v\n%s, want\n%s", err, got, want)
	}
}

// TestIsNumber: a cell with a point is a number or a text, as the database says.
func TestIsNumber(t *testing.T) {
	path, _ := sqliteFile(t)
	dsn := filepath.Join(t.TempDir(), "dsn")
	if err := os.WriteFile(dsn, []byte(path), 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := Open(t.Context(), Query{Driver: SQLite, DSNFile: dsn,
		SQL: "SELECT 4.201 AS number, '4.201' AS word UNION ALL SELECT NULL, '4,2'"})
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	cells, _, err := rows.Next()
	if err != nil || cells[0] != "4.201" || !rows.IsNumber(0) || rows.IsNumber(1) {
		t.Errorf("%v: is a number: %v, %v: %v", cells, rows.IsNumber(0), rows.IsNumber(1), err)
	}
	if _, _, err := rows.Next(); err != nil || rows.IsNumber(0) {
		t.Errorf("NULL is a number, or %v", err)
	}
}
