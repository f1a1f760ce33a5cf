package coordinator

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

	"caucus/protocol"
)

// sqliteStore is a Store in one file.
type sqliteStore struct {
	write, read *sql.DB
	writes      *statements // of write
	reads       *statements
	path        string
	saw         func(error) // where not nil, is told of each failure
}

// migrations are numbered SQL files, each run once, in order.
//
//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks the file as a coordinator's store: "Cauk" in ASCII; the
// ledger's is "Cauc".
const applicationID = 0x4361756b

// readers is how many snapshots are read at once.
const readers = 4

// createSQLite makes the store at path, with mode 0600. It refuses a file that is
// there.
func createSQLite(path string) (*sqliteStore, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	f.Close()
	return connectSQLite(path)
}

// openSQLite opens the store at path. It refuses a file that is not a store, that
// a newer version wrote, or that is empty: a store that forgot its members,
// studies and budget must not pass for a new one.
func openSQLite(path string) (*sqliteStore, error) {
	if err := notEmpty(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	if err := protocol.CheckSecret(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return connectSQLite(path)
}

// notEmpty refuses a file that is not there or has no bytes.
func notEmpty(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("%w: restore it from a backup of the whole folder", err)
	}
	if info.Size() == 0 {
		return fmt.Errorf("%s: it is empty, so something else emptied it: restore it from a backup of the whole folder", path)
	}
	return nil
}

func connectSQLite(path string) (*sqliteStore, error) {
	fail := func(err error) (*sqliteStore, error) {
		return nil, fmt.Errorf("open store %s: %w", path, explain(err))
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return fail(err)
	}
	// secure_delete: a ballot that was added up is overwritten in the file.
	// immediate: take the write lock at BEGIN, so that reading and writing in
	// one transaction cannot interleave with another writer.
	name := url.URL{Scheme: "file", Path: absolute, OmitHost: true}
	pragmas := "_pragma=busy_timeout(20000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_pragma=secure_delete(1)"
	name.RawQuery = "_txlock=immediate&" + pragmas
	write, err := sql.Open("sqlite", name.String())
	if err != nil {
		return fail(err)
	}
	name.RawQuery = "_txlock=deferred&_pragma=query_only(1)&" + pragmas
	read, err := sql.Open("sqlite", name.String())
	if err != nil {
		write.Close()
		return fail(err)
	}
	write.SetMaxOpenConns(1) // goroutines queue here instead of polling a lock
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	s := newSQLite(path, write, read)
	if err := s.migrate(); err != nil {
		s.Close()
		return fail(err)
	}
	return s, nil
}

// newSQLite is a store on two databases, which may be the same.
func newSQLite(path string, write, read *sql.DB) *sqliteStore {
	return &sqliteStore{write: write, read: read, writes: newStatements(write), reads: newStatements(read), path: path}
}

// migrate brings the schema up to date in one transaction. The file's
// user_version is the number of migrations it has.
func (s *sqliteStore) migrate() error {
	files, err := fs.Glob(migrations, "migrations/*.sql") // sorted by name
	if err != nil {
		return err
	}
	tx, err := s.write.Begin()
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
		return errors.New("it is a database, but not a coordinator's; give another folder")
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

// Copy writes all rows as of one moment to a new file at path, while the store is
// used.
func (s *sqliteStore) Copy(ctx context.Context, path string) error {
	if _, err := s.write.ExecContext(ctx, "VACUUM INTO $1", path); err != nil {
		return fmt.Errorf("copy store: %w", explain(err))
	}
	return nil
}

// Check reads every page and index.
func (s *sqliteStore) Check(ctx context.Context) error {
	var found string
	err := s.read.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found)
	if err == nil && found != "ok" {
		err = errors.New(found)
	}
	if err != nil {
		return fmt.Errorf("check store %s: it is damaged: restore a backup of the whole folder (%w)", s.path, err)
	}
	return nil
}

func (s *sqliteStore) Close() error {
	s.reads.close()
	s.writes.close()
	return errors.Join(s.read.Close(), s.write.Close())
}

func (s *sqliteStore) Update(ctx context.Context, fn func(Tx) error) error {
	return s.transact(ctx, s.writes, fn)
}

func (s *sqliteStore) View(ctx context.Context, fn func(Tx) error) error {
	return s.transact(ctx, s.reads, fn)
}

func (s *sqliteStore) transact(ctx context.Context, on *statements, fn func(Tx) error) error {
	err := s.attempt(ctx, on, fn)
	on.prepare(context.WithoutCancel(ctx))
	if err != nil && s.saw != nil {
		s.saw(err)
	}
	if abandoned(err) && ctx.Err() != nil {
		return fmt.Errorf("%w (%v)", ctx.Err(), err)
	}
	return err
}

func (s *sqliteStore) attempt(ctx context.Context, on *statements, fn func(Tx) error) error {
	tx, err := on.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", explain(err))
	}
	defer tx.Rollback() // does nothing after a commit
	if err := fn(&sqlTx{ctx, tx, on}); err != nil {
		return explain(err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", explain(err))
	}
	return nil
}

// abandoned is how it looks to a transaction that whoever asked went away: its
// statement is interrupted, or it was rolled back beneath it.
func abandoned(err error) bool {
	var e *sqlite.Error
	return errors.Is(err, sql.ErrTxDone) || errors.As(err, &e) && e.Code()&0xff == sqlite3.SQLITE_INTERRUPT
}

// damaged says that a file of SQLite is not what was written.
func damaged(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && (e.Code()&0xff == sqlite3.SQLITE_CORRUPT || e.Code()&0xff == sqlite3.SQLITE_NOTADB)
}

// Scrub writes the log back into the file and empties it: the file's deleted
// rows were overwritten, the log's copies are cut off.
func (s *sqliteStore) Scrub(ctx context.Context) error {
	if _, err := s.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		return fmt.Errorf("scrub store: %w", explain(err))
	}
	return nil
}

// explain says what to do about SQLite's errors. They are the machine's, and
// may pass: whoever called is asked to try again.
func explain(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) || errors.Is(err, protocol.ErrUnavailable) || e.Code()&0xff == sqlite3.SQLITE_CONSTRAINT {
		return err // a broken constraint is ours, and does not pass
	}
	advice := map[int]string{
		sqlite3.SQLITE_FULL:     "the disk is full: make room",
		sqlite3.SQLITE_IOERR:    "the disk failed: check it",
		sqlite3.SQLITE_READONLY: "the store cannot be written: check its owner and mount",
		sqlite3.SQLITE_CANTOPEN: "the store cannot be opened: check its folder",
		sqlite3.SQLITE_NOTADB:   "the file is not a store: give another folder",
		sqlite3.SQLITE_CORRUPT:  "the store is damaged: restore a backup of the whole folder",
		sqlite3.SQLITE_BUSY:     "another process holds the store: try again",
	}[e.Code()&0xff] // the low byte is the primary code
	if advice == "" {
		advice = "the store failed"
	}
	return fmt.Errorf("%s: %w (%w)", advice, protocol.ErrUnavailable, err)
}
