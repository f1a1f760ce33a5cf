package database

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"caucus/internal/yamlfile"
)

func TestValidate(t *testing.T) {
	fine := Query{Driver: Postgres, DSNFile: "dsn", SQL: "SELECT 1"}
	for want, change := range map[string]func(*Query){
		"":                         func(*Query) {},
		"driver: \"oracle\"":       func(q *Query) { q.Driver = "oracle" },
		"driver: \"\"":             func(q *Query) { q.Driver = "" },
		"dsn_file: name":           func(q *Query) { q.DSNFile = "" },
		"sql: write the query":     func(q *Query) { q.SQL = "" },
		"one of the two":           func(q *Query) { q.SQLFile = "records.sql" },
		"sql: it begins with DROP": func(q *Query) { q.SQL = "DROP TABLE t" },
		"timeout: -1s":             func(q *Query) { q.Timeout = -time.Second },
		"timeout: 1ms":             func(q *Query) { q.Timeout = time.Millisecond },
		"timeout: 48h0m0s":         func(q *Query) { q.Timeout = 48 * time.Hour },
		"rows: -1":                 func(q *Query) { q.MaxRows = -1 },
	} {
		q := fine
		change(&q)
		err := q.Validate()
		if want == "" && err != nil || want != "" &&
			(err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%+v: %v, want %q", q, err, want)
		}
		if _, opened := Open(context.Background(), q); want != "" &&
			(opened == nil || !strings.Contains(opened.Error(), want)) {
			t.Errorf("Open: %v, want %q", opened, want)
		}
	}
}

// TestYAML: the keys are those of the fields.
func TestYAML(t *testing.T) {
	q, err := yamlfile.ParseConfig([]byte("driver: sqlite\ndsn_file: dsn\nsql_file: /records.sql\ntimeout: 2h\nrows: 1000\n"), Query{})
	if want := (Query{Driver: SQLite, DSNFile: "dsn", SQLFile: "/records.sql",
		Timeout: 2 * time.Hour, MaxRows: 1000}); err != nil || q != want {
		t.Errorf("%+v, %v, want %+v", q, err, want)
	}
	folder := filepath.Join(t.TempDir(), "etc")
	if below := q.RelativeTo(folder); below.DSNFile != filepath.Join(folder, "dsn") ||
		below.SQLFile != "/records.sql" {
		t.Errorf("below a folder: %+v", below)
	}
}

// TestFiles: the files that a query names.
func TestFiles(t *testing.T) {
	path, db := sqliteFile(t)
	k := kind{driver: SQLite, db: db, dsn: path}
	q := k.query(t, "")
	q.SQLFile = filepath.Join(t.TempDir(), "records.sql")
	write := func(path, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
	}
	fails := func(want string) {
		t.Helper()
		_, err := Open(context.Background(), q)
		k.says(t, want, err, want)
	}
	fails("sql_file: ")
	write(q.SQLFile, "DROP TABLE t", 0o644)
	fails("begins with DROP")
	write(q.SQLFile, strings.Repeat("-", longestText+1), 0o644)
	fails("more than 1048576 bytes")

	const text = "SELECT 1 AS n -- one"
	write(q.SQLFile, "\ufeff"+text+"\r\n", 0o644)
	inline := k.query(t, text)
	var digests []string
	for _, q := range []Query{q, inline, k.query(t, text+" ")} {
		r, err := Open(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		digests = append(digests, r.Digest())
		r.Close()
	}
	// printf 'sqlite\nSELECT 1 AS n -- one' | sha256sum
	if want := "fffd749d47fb0c02990ce0308014107556e91ba5eefd1134e54283c980df3af6"; digests[0] != want || digests[1] != want || digests[2] == want {
		t.Errorf("digests %q, want %s twice", digests, want)
	}

	if runtime.GOOS != "windows" {
		for _, mode := range []os.FileMode{0o640, 0o604, 0o666} {
			write(q.DSNFile, path, mode)
			fails("run chmod 600 on it")
		}
	}
	write(q.DSNFile, "\n", 0o600)
	fails("is empty")
	q.DSNFile += "-none"
	fails("dsn_file: ")
}
