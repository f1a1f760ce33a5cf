package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

var ctx = context.Background()

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

// notes describes databases with some of four migrations, the last of which fails.
func notes(migrations int) SQLite {
	files := fstest.MapFS{}
	for i, text := range []string{
		"CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL)",
		"ALTER TABLE notes ADD COLUMN day INTEGER; INSERT INTO notes (text) VALUES ('second')",
		"INSERT INTO notes (text) VALUES ('third')",
		"INSERT INTO notes (text) VALUES ('fourth'); INSERT INTO nowhere VALUES (1)",
	}[:migrations] {
		files[fmt.Sprintf("migrations/%04d.sql", i+1)] = &fstest.MapFile{Data: []byte(text)}
	}
	return SQLite{Schema: Schema{Name: "notebook", Application: 0x4e6f7465, Migrations: files}}
}

func opened(t testing.TB, s SQLite, path string) *DB {
	t.Helper()
	if err := Create(path); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	db, err := s.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func texts(t testing.TB, d *DB) (all []string) {
	t.Helper()
	rows := must(d.Read.Query("SELECT text FROM notes ORDER BY id"))
	defer rows.Close()
	for rows.Next() {
		var s string
		must(0, rows.Scan(&s))
		all = append(all, s)
	}
	must(0, rows.Err())
	return all
}

// TestSettings: the settings for durable commits, and a user's pragmas, hold on every connection,
// readers included.
func TestSettings(t *testing.T) {
	s := notes(1)
	s.Readers, s.Pragmas = 2, []string{"foreign_keys(1)", "secure_delete(1)"}
	d := opened(t, s, filepath.Join(t.TempDir(), "notes"))
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2",
		"busy_timeout": "20000", "foreign_keys": "1", "secure_delete": "1"} {
		first, second := must(d.Read.Conn(ctx)), must(d.Read.Conn(ctx))
		writer := must(d.Write.Conn(ctx))
		var got [3]string
		must(0, first.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got[0]))
		must(0, second.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got[1]))
		must(0, writer.QueryRowContext(ctx, "PRAGMA "+pragma).Scan(&got[2]))
		if got != [3]string{want, want, want} {
			t.Errorf("%s is %q, want %s", pragma, got, want)
		}
		must(0, errors.Join(first.Close(), second.Close(), writer.Close()))
	}
	if _, err := d.Read.Exec("INSERT INTO notes (text) VALUES ('x')"); err == nil {
		t.Error("a reader wrote")
	}
}

// TestMigrations: each runs once, in order; a failing one changes nothing.
func TestMigrations(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	d := opened(t, notes(1), path)
	must(d.Write.Exec("INSERT INTO notes (text) VALUES ('first')"))
	must(0, d.Close())
	if _, err := notes(4).Open(path); err == nil || !strings.Contains(err.Error(), "0004.sql") {
		t.Errorf("a migration that fails: %v", err)
	}
	d = opened(t, notes(1), path) // not newer than one migration
	if got := texts(t, d); !reflect.DeepEqual(got, []string{"first"}) {
		t.Errorf("after a migration that failed: %q", got)
	}
	must(0, d.Close())
	for range 2 {
		d = opened(t, notes(3), path)
		if got := texts(t, d); !reflect.DeepEqual(got, []string{"first", "second", "third"}) {
			t.Errorf("after migrations: %q", got)
		}
		must(0, d.Close())
	}
	if _, err := notes(2).Open(path); err == nil ||
		!strings.Contains(err.Error(), "newer program") {
		t.Errorf("a newer file: %v", err)
	}
}

func TestRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		must(0, os.WriteFile(path, []byte(text), mode))
		return path
	}
	other := notes(1)
	other.Application++
	opened(t, other, filepath.Join(dir, "other"))
	for path, want := range map[string]string{
		write("text", strings.Repeat("not a database ", 99), 0o600): "not a Caucus notebook",
		write("open", "x", 0o640):                                   "chmod 600",
		write("empty", "", 0o600):                                   "something else emptied it",
		write("shut", "x", 0o400):                                   "writable",
		filepath.Join(dir, "other"):                                 "not a Caucus notebook",
		dir:                                                         "not a regular file",
		filepath.Join(dir, "none"):                                  "backup of the whole folder",
	} {
		err := Check(path)
		if err == nil {
			_, err = notes(1).Open(path)
		}
		if said := fmt.Sprint(err, Advice(err, "notebook")); err == nil ||
			!strings.Contains(said, want) {
			if filepath.Base(path) != "shut" || os.Geteuid() != 0 { // root writes all files
				t.Errorf("%s: %s, want %q", filepath.Base(path), said, want)
			}
		}
	}
	if err := Check(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if err := Create(filepath.Join(dir, "text")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("made over a file: %v", err)
	}
	if err := Create(filepath.Join(dir, "no folder", "new")); err == nil ||
		!strings.Contains(err.Error(), "folder must exist") {
		t.Errorf("made in no folder: %v", err)
	}
}

// TestModes: file and side files have mode 0600 and lie side by side, even with odd characters in
// the name.
func TestModes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes?#%41&_pragma=x.db")
	d := opened(t, notes(1), path)
	must(d.Write.Exec("INSERT INTO notes (text) VALUES ('first')"))
	files := must(os.ReadDir(filepath.Dir(path)))
	if len(files) != 3 {
		t.Errorf("%d files, want the database, its log and its index", len(files))
	}
	for _, f := range files {
		if mode := must(f.Info()).Mode(); mode != 0o600 ||
			!strings.HasPrefix(f.Name(), filepath.Base(path)) {
			t.Errorf("%s has mode %v", f.Name(), mode)
		}
	}
}

// TestReaders: readers see committed rows while another transaction writes.
func TestReaders(t *testing.T) {
	s := notes(1)
	s.Readers = 1
	path := filepath.Join(t.TempDir(), "notes")
	d := opened(t, s, path)
	tx := must(d.Write.Begin())
	must(tx.Exec("INSERT INTO notes (text) VALUES ('first')"))
	if got := texts(t, d); len(got) != 0 {
		t.Errorf("a reader sees %q before the commit", got)
	}
	must(0, tx.Commit())
	if got := texts(t, d); !reflect.DeepEqual(got, []string{"first"}) {
		t.Errorf("a reader sees %q after the commit", got)
	}
}

// TestAdvice: every kind of SQLite failure, provoked on purpose, gets its advice.
func TestAdvice(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notes")
	d := opened(t, notes(1), path)
	var pages int
	must(0, d.Write.QueryRow("PRAGMA page_count").Scan(&pages))
	must(d.Write.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages)))
	_, full := d.Write.Exec("INSERT INTO notes (text) VALUES (zeroblob(100000))")
	must(d.Write.Exec("PRAGMA max_page_count = 100000"))

	other := opened(t, notes(1), path)
	must(other.Write.Exec("PRAGMA busy_timeout = 1"))
	tx := must(d.Write.Begin()) // which has the lock before it writes
	_, busy := other.Write.Begin()
	if busy == nil {
		t.Fatal("a second transaction began to write while the first was under way")
	}
	must(0, tx.Rollback())

	must(other.Write.Exec("PRAGMA query_only = 1"))
	_, readOnly := other.Write.Exec("INSERT INTO notes (text) VALUES ('x')")

	_, constraint := d.Write.Exec("INSERT INTO notes (text) VALUES (NULL)")
	gone, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	_, interrupted := d.Write.ExecContext(gone, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 1000000000) SELECT count(*) FROM c")
	_, mistake := d.Write.Exec("SELECT nothing FROM nowhere")

	must(d.Write.Exec("INSERT INTO notes (text) VALUES (zeroblob(200000))"))
	must(0, d.Scrub(ctx))
	must(0, errors.Join(d.Verify(ctx), d.Close(), other.Close()))
	f := must(os.OpenFile(path, os.O_RDWR, 0))
	must(f.WriteAt(make([]byte, 4096*4), 4096))
	must(0, f.Close())
	d = opened(t, notes(1), path)
	damaged := d.Verify(ctx)
	_, corrupt := d.Write.Exec("UPDATE notes SET text = 'x'")
	must(0, d.Close())
	must(0, os.WriteFile(path, []byte(strings.Repeat("no database ", 999)), 0o600))
	_, noDatabase := notes(1).Open(path)
	must(0, os.RemoveAll(filepath.Dir(path)))
	_, noFolder := notes(1).Open(path)

	for name, c := range map[string]struct {
		err  error
		want string // "": nothing to advise
	}{
		"full":          {full, "the disk is full"},
		"busy":          {busy, "another process holds the notebook"},
		"read only":     {readOnly, "the notebook cannot be written"},
		"constraint":    {constraint, ""},
		"a mistake":     {mistake, "the notebook failed"},
		"corrupt":       {corrupt, "the notebook is damaged"},
		"no database":   {noDatabase, "not a Caucus notebook"},
		"no folder":     {noFolder, "the notebook cannot be opened"},
		"not SQLite's":  {errors.New("x"), ""},
		"wrapped twice": {fmt.Errorf("a: %w", fmt.Errorf("b: %w", full)), "the disk is full"},
	} {
		if c.err == nil {
			t.Errorf("%s: no error was made", name)
		} else if got := Advice(c.err, "notebook"); !strings.Contains(got, c.want) ||
			(c.want == "") != (got == "") {
			t.Errorf("%s: advice is %q, want %q; SQLite says %v", name, got, c.want, c.err)
		}
	}
	if Advice(nil, "notebook") != "" {
		t.Error("advice on nothing")
	}
	if !IsDiskFull(full) || IsDiskFull(busy) || !IsDamaged(corrupt) || !IsDamaged(noDatabase) ||
		IsDamaged(full) {
		t.Errorf("full %t %t, damaged %t %t %t", IsDiskFull(full), IsDiskFull(busy),
			IsDamaged(corrupt),
			IsDamaged(noDatabase), IsDamaged(full))
	}
	if damaged == nil {
		t.Error("a damaged file passes Verify")
	}
	if !IsInterrupted(interrupted) && !errors.Is(interrupted, context.DeadlineExceeded) ||
		IsInterrupted(full) {
		t.Errorf("interrupted: %v", interrupted)
	}
}

// TestCopy: a copy has the committed rows, and none of a running transaction.
func TestCopy(t *testing.T) {
	s := notes(1)
	s.Readers = 1
	dir := t.TempDir()
	d := opened(t, s, filepath.Join(dir, "notes"))
	must(d.Write.Exec("INSERT INTO notes (text) VALUES ('first')"))
	must(0, d.Copy(ctx, filepath.Join(dir, "copy")))
	must(d.Write.Exec("INSERT INTO notes (text) VALUES ('after')"))
	if err := d.Copy(ctx, filepath.Join(dir, "copy")); err == nil {
		t.Error("a copy was made over a file")
	}
	if got := texts(t, opened(t, s, filepath.Join(dir, "copy"))); !reflect.DeepEqual(got,
		[]string{"first"}) {
		t.Errorf("the copy has %q", got)
	}
}

// TestScrub: with secure_delete, deleted texts are neither in the file nor in its log.
func TestScrub(t *testing.T) {
	s := notes(1)
	s.Pragmas = []string{"secure_delete(1)"}
	path := filepath.Join(t.TempDir(), "notes")
	d := opened(t, s, path)
	const secret = "a ballot that was added up"
	there := func() (all []string) {
		for _, f := range must(os.ReadDir(filepath.Dir(path))) {
			if strings.Contains(string(must(os.ReadFile(filepath.Join(filepath.Dir(path),
				f.Name())))), secret) {
				all = append(all, f.Name())
			}
		}
		return all
	}
	must(d.Write.Exec("INSERT INTO notes (text) VALUES ($1)", secret))
	must(d.Write.Exec("DELETE FROM notes"))
	if got := there(); len(got) == 0 {
		t.Error("the secret is nowhere before: this test sees nothing")
	}
	must(0, d.Scrub(ctx))
	if got := there(); len(got) != 0 {
		t.Errorf("the secret is in %q", got)
	}
}

// TestShown: of an address only scheme, host and path are shown, wherever its password stands, and
// nothing of an address that cannot be read. A file's path is shown whole.
func TestShown(t *testing.T) {
	for at, want := range map[string]string{
		"/var/lib/caucus/ledger.db":               "/var/lib/caucus/ledger.db",
		`C:\caucus\ledger.db`:                     `C:\caucus\ledger.db`,
		"a=b/ledger.db":                           "a=b/ledger.db",
		"postgres://caucus@db.example.org/caucus": "postgres://db.example.org/caucus",
		"postgresql://caucus:HIDDEN@db.example.org:5433/caucus?sslmode=disable": "postgresql://db.example.org:5433/caucus",
		"postgres://db.example.org/caucus?user=u&password=HIDDEN":               "postgres://db.example.org/caucus",
		"postgres:///caucus?host=/run/postgresql&password=HIDDEN":               "postgres:///caucus",
		"postgres://one:5432,two:5433/caucus?sslpassword=HIDDEN":                "postgres://one:5432,two:5433/caucus",
		"postgres://db/caucus?passfile=HIDDEN#HIDDEN":                           "postgres://db/caucus",
		"postgres://u:HIDDEN%zz@db/caucus":                                      "postgres://…",
		"postgres://u:HID/DEN@db/caucus":                                        "postgres://…",
		"postgres://u:1/HIDDEN@db/caucus":                                       "postgres://…",
		"postgres://u:1?HIDDEN@db/caucus":                                       "postgres://…",
		"postgres://u:1#HIDDEN@db/caucus":                                       "postgres://…",
		"postgres://db/caucus?password=HIDDEN@1":                                "postgres://…",
		"POSTGRES://u:HIDDEN@db/caucus":                                         "postgres://…",
		"postgres:/u:HIDDEN@db/caucus":                                          "postgres://…",
		"host=db password=HIDDEN":                                               "postgres://…",
	} {
		if got := RedactAddress(at); got != want {
			t.Errorf("Shown(%q) = %q, want %q", at, got, want)
		}
	}
}
