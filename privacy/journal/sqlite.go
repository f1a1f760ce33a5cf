package journal

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"caucus/privacy"
)

// Journal keeps a ledger's entries in a database. It is safe for use by many
// goroutines, and several processes may open the same file.
type Journal struct {
	db   *sql.DB
	path string
}

// migrations are numbered SQL files, each run once, in order.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks the file as a Caucus ledger: "Cauc" in ASCII.
const applicationID = 0x43617563

// OpenSQLite opens the ledger file at path, making it with mode 0600 if it is
// not there. It refuses a file that others may read or write, that is empty or
// not a ledger, or that a newer version wrote. Close it when done.
func OpenSQLite(path string) (*Journal, error) {
	fail := func(err error) (*Journal, error) {
		return nil, fmt.Errorf("open ledger file %s: %w", path, explain(err))
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return fail(err)
	}
	if err := prepareFile(absolute); err != nil {
		return fail(err)
	}
	// busy_timeout: how long to wait for another process's transaction, in
	// milliseconds. immediate: take the write lock at BEGIN, so that reading
	// the head and appending cannot interleave with another writer.
	name := url.URL{Scheme: "file", Path: absolute, OmitHost: true}
	name.RawQuery = "_txlock=immediate&_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	db, err := sql.Open("sqlite", name.String())
	if err != nil {
		return fail(err)
	}
	db.SetMaxOpenConns(1) // goroutines queue here instead of polling a lock
	j := &Journal{db: db, path: path}
	if err := j.migrate(); err != nil {
		db.Close()
		return fail(err)
	}
	return j, nil
}

// prepareFile makes an empty private file or checks the one there. SQLite
// gives its side files the same mode.
func prepareFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err == nil {
		return f.Close()
	}
	if !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w; the folder must exist and be writable", err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is not a regular file")
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("its mode is %04o, so others may open it; run chmod 600 on it", info.Mode().Perm())
	case info.Size() == 0: // a ledger that was emptied must not pass for one that nothing was charged to
		return errors.New("it is empty, so something else emptied it; restore it from a backup of the whole folder (or remove it, if it never held anything)")
	}
	if f, err = os.OpenFile(path, os.O_RDWR, 0); err != nil {
		return fmt.Errorf("%w; the ledger must be writable", err)
	}
	return f.Close()
}

// migrate brings the schema up to date in one transaction. The file's
// user_version is the number of migrations it has.
func (j *Journal) migrate() error {
	files, err := fs.Glob(migrations, "migrations/*.sql") // sorted by name
	if err != nil {
		return err
	}
	tx, err := j.db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	var application, version, tables int
	err = tx.QueryRow(`SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id, pragma_user_version`).Scan(&application, &version, &tables)
	switch {
	case err != nil:
		return err
	case application != applicationID && (application != 0 || version != 0 || tables != 0):
		return errors.New("it is a database, but not a Caucus ledger; give another path")
	case version > len(files):
		return fmt.Errorf("its schema is version %d and this program knows %d; use a newer program", version, len(files))
	case version == len(files):
		return nil
	}
	for _, name := range files[version:] {
		text, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(string(text)); err != nil {
			return fmt.Errorf("run %s: %w", name, err)
		}
	}
	if _, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, len(files))); err != nil {
		return err
	}
	return tx.Commit()
}

// Copy writes all entries as of one moment to a new file at path, while releases go
// on.
func (j *Journal) Copy(ctx context.Context, path string) error {
	if _, err := j.db.ExecContext(ctx, "VACUUM INTO $1", path); err != nil {
		return fmt.Errorf("copy ledger file %s: %w", j.path, explain(err))
	}
	return nil
}

// Close closes the file.
func (j *Journal) Close() error { return j.db.Close() }

// Update runs fn in one exclusive transaction: see privacy.Journal.
func (j *Journal) Update(ctx context.Context, fn func(privacy.Tx) error) error {
	tx, err := j.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction on ledger file %s: %w", j.path, explain(err))
	}
	defer tx.Rollback() // does nothing after a commit
	if err := fn(&transaction{ctx, tx}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit to ledger file %s: %w", j.path, explain(err))
	}
	return nil
}

type transaction struct {
	ctx context.Context
	tx  *sql.Tx
}

const columns = "sequence, id, kind, request, salt, body, totals, prev, hash"

func (t *transaction) Head() (privacy.Entry, bool, error) {
	return t.one("SELECT " + columns + " FROM entries ORDER BY sequence DESC LIMIT 1")
}

func (t *transaction) Find(id string) (privacy.Entry, bool, error) {
	return t.one("SELECT "+columns+" FROM entries WHERE id = $1", id)
}

func (t *transaction) Append(e privacy.Entry) error {
	body := e.Body
	if body == nil {
		body = []byte{}
	}
	_, err := t.tx.ExecContext(t.ctx, "INSERT INTO entries ("+columns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		e.Sequence, e.ID, e.Kind, e.Request[:], e.Salt[:], body, e.Totals, e.Prev[:], e.Hash[:])
	if err != nil {
		return fmt.Errorf("append ledger entry: %w", explain(err))
	}
	return nil
}

func (t *transaction) After(sequence int64, n int) ([]privacy.Entry, error) {
	rows, err := t.tx.QueryContext(t.ctx, "SELECT "+columns+" FROM entries WHERE sequence > $1 ORDER BY sequence LIMIT $2", sequence, n)
	if err != nil {
		return nil, fmt.Errorf("read ledger entries: %w", explain(err))
	}
	defer rows.Close()
	var all []privacy.Entry
	for rows.Next() {
		e, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read ledger entries: %w", explain(err))
	}
	return all, nil
}

func (t *transaction) one(query string, args ...any) (privacy.Entry, bool, error) {
	e, err := scan(t.tx.QueryRowContext(t.ctx, query, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return privacy.Entry{}, false, nil
	}
	return e, err == nil, err
}

func scan(row interface{ Scan(...any) error }) (privacy.Entry, error) {
	var e privacy.Entry
	var request, salt, prev, hash []byte
	if err := row.Scan(&e.Sequence, &e.ID, &e.Kind, &request, &salt, &e.Body, &e.Totals, &prev, &hash); err != nil {
		return e, fmt.Errorf("read ledger entry: %w", explain(err))
	}
	if len(request) != 32 || len(salt) != 32 || len(prev) != 32 || len(hash) != 32 {
		return e, fmt.Errorf("read ledger entry %d: a hash is not 32 bytes, the file is damaged", e.Sequence)
	}
	e.Request, e.Salt, e.Prev, e.Hash = [32]byte(request), [32]byte(salt), [32]byte(prev), [32]byte(hash)
	return e, nil
}

// explain adds what to do to SQLite's own words.
func explain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	advice := map[int]string{
		sqlite3.SQLITE_FULL:     "the disk is full; nothing was spent, make room and ask again",
		sqlite3.SQLITE_IOERR:    "the disk failed; check it, then ask again with the same id",
		sqlite3.SQLITE_READONLY: "the file cannot be written; check its owner and mount",
		sqlite3.SQLITE_CANTOPEN: "the file cannot be opened; check its folder",
		sqlite3.SQLITE_NOTADB:   "it is not a Caucus ledger; give another path",
		sqlite3.SQLITE_CORRUPT:  "the file is damaged; restore a backup and reconcile",
		sqlite3.SQLITE_BUSY:     "another process holds it; try again",
	}[e.Code()&0xff] // the low byte is the primary code
	if advice == "" {
		return err
	}
	return fmt.Errorf("%s (%w)", advice, err)
}
