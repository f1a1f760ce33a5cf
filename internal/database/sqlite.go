package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"strings"
)

// Schema describes the tables of one kind of store. SQLite and PostgreSQL get the same tables from
// the same migrations.
type Schema struct {
	// Name is the name in errors, such as "ledger".
	Name string
	// Application marks a file as this kind: application_id in SQLite's header.
	Application int32
	// Migrations holds migrations/*.sql. Each runs once, in the order of their names; the file's
	// user_version counts them. None is ever changed or removed.
	Migrations fs.FS
	// Version, if not nil, returns the true version of a file. said is its user_version, which may
	// be wrong.
	Version func(tx *sql.Tx, said int) (int, error)
	// SetupSQL is SQL that runs before the migrations of a new schema in PostgreSQL. It makes
	// functions that SQLite has.
	SetupSQL string
}

// SQLite describes how a kind of file is opened.
type SQLite struct {
	Schema
	// Pragmas are set on each connection, besides those of all files: for example
	// "foreign_keys(1)".
	Pragmas []string
	// Readers is the number of snapshots that can be read while a transaction writes. With 0,
	// reading takes turns with writing.
	Readers int
}

// DB is an open store: a SQLite file, or the same tables in PostgreSQL. Goroutines may share it. A
// transaction that committed survives a crash of the machine.
type DB struct {
	// Write has one connection, so goroutines queue for it and need not poll a lock.
	Write *sql.DB
	// Read has read-only connections, each with a snapshot from the beginning of its transaction.
	// Without readers it is the same as Write.
	Read *sql.DB
	onServer
}

// Open opens a file that Create made or Check accepted, and brings its schema up to date. With the
// address of a PostgreSQL database, it opens the tables there that Carry made.
func (s SQLite) Open(path string) (*DB, error) {
	if IsServer(path) {
		return s.openServer(path)
	}
	// busy_timeout: milliseconds to wait for another process's transaction. immediate: take the
	// write lock at BEGIN, so that no other writer comes between reading and writing in one
	// transaction.
	pragmas := append([]string{"busy_timeout(20000)", "journal_mode(WAL)", "synchronous(FULL)"},
		s.Pragmas...)
	db, err := &DB{}, error(nil)
	if db.Write, err = connect(path, "immediate", pragmas); err != nil {
		return nil, err
	}
	db.Write.SetMaxOpenConns(1)
	db.Read = db.Write
	if s.Readers > 0 {
		if db.Read, err = connect(path, "deferred",
			append([]string{"query_only(1)"}, pragmas...)); err != nil {
			db.Write.Close()
			return nil, err
		}
		db.Read.SetMaxOpenConns(s.Readers)
		db.Read.SetMaxIdleConns(s.Readers)
	}
	if err := Migrate(db.Write, s.Schema); err != nil {
		db.Close()
		return nil, err
	}
	return db, nil
}

// Create makes a new file of mode 0600 and opens it.
func (s SQLite) Create(path string) (*DB, error) {
	if err := Create(path); err != nil {
		return nil, err
	}
	return s.Open(path)
}

// Update runs fn in one exclusive transaction. It returns nil only once the transaction survives a
// crash of the machine. If fn fails, nothing of it remains. After an error of the commit the
// transaction may be stored or not.
func (d *DB) Update(ctx context.Context, fn func(*sql.Tx) error) error {
	if d.server {
		return d.updateServer(ctx, fn)
	}
	return within(ctx, d.Write, nil, fn)
}

// View runs fn in a transaction that only reads. All its reads see the same committed state.
func (d *DB) View(ctx context.Context, fn func(*sql.Tx) error) error {
	if err := d.Guard.holds(); err != nil {
		return err
	}
	if d.server {
		return within(ctx, d.Read,
			&sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, fn)
	}
	return within(ctx, d.Read, nil, fn)
}

func within(ctx context.Context, db *sql.DB, o *sql.TxOptions, fn func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, o)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	defer tx.Rollback()
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// connect opens a file. It escapes the path, which may have any characters.
func connect(path, lock string, pragmas []string) (*sql.DB, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	name := url.URL{Scheme: "file", Path: path, OmitHost: true}
	name.RawQuery = "_txlock=" + lock + "&_pragma=" + strings.Join(pragmas, "&_pragma=")
	return sql.Open("sqlite", name.String())
}

// Migrate runs the migrations that a database lacks, in one transaction, so an error leaves it
// unchanged. It refuses the database of another program, or of a newer version.
func Migrate(db *sql.DB, s Schema) error { return within(context.Background(), db, nil, s.migrate) }

func (s Schema) migrate(tx *sql.Tx) error {
	files, err := s.files()
	if err != nil {
		return err
	}
	said, version, err := s.versionOf(tx)
	if err != nil || said == len(files) {
		return err
	}
	if err := s.run(tx, files[version:], strings.NewReplacer()); err != nil {
		return err
	}
	_, err = tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", s.Application, len(files)))
	return err
}

// run executes migrations in the dialect of the database.
func (s Schema) run(tx *sql.Tx, files []string, dialect *strings.Replacer) error {
	for _, name := range files {
		text, err := fs.ReadFile(s.Migrations, name)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(dialect.Replace(string(text))); err != nil {
			return fmt.Errorf("run %s: %w", name, err)
		}
	}
	return nil
}

func (s Schema) files() ([]string, error) { return fs.Glob(s.Migrations, "migrations/*.sql") }

// MigrationCount is the number of migrations that this program knows.
func (s Schema) MigrationCount() int {
	files, _ := s.files() // the pattern is right
	return len(files)
}

// versionOf returns the number of migrations that a database states (0 if new), and the number
// corrected by Version. It refuses a database of another kind, or of a newer version.
func (s Schema) versionOf(tx *sql.Tx) (said, version int, err error) {
	var application, tables int
	err = tx.QueryRow(`SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema)
		FROM pragma_application_id, pragma_user_version`).Scan(&application, &said, &tables)
	if err != nil {
		return 0, 0, err
	}
	if application != int(s.Application) && (application != 0 || said != 0 || tables != 0) {
		return 0, 0, fmt.Errorf("it is a database, but not a Caucus %s: give another path", s.Name)
	}
	files, err := s.files()
	if err != nil {
		return 0, 0, err
	}
	if said > len(files) {
		return 0, 0, fmt.Errorf("its schema is version %d and this program knows %d: use a newer program", said, len(files))
	}
	version = said
	if s.Version != nil {
		version, err = s.Version(tx, said)
	}
	return said, version, err
}

// ErrServerCopy says that only PostgreSQL's own tools can copy its database.
var ErrServerCopy = errors.New("the databases lie in PostgreSQL: use its own tools, such as pg_basebackup")

// Copy writes all rows as of one moment to a new file at path. The database may be in use.
func (d *DB) Copy(ctx context.Context, path string) error {
	if d.server {
		return ErrServerCopy
	}
	_, err := d.Write.ExecContext(ctx, "VACUUM INTO $1", path)
	return err
}

// Verify reads every page and index. It fails if one differs from what was written. PostgreSQL
// checks pages by itself when it reads them.
func (d *DB) Verify(ctx context.Context) error {
	if d.server {
		return nil
	}
	return d.View(ctx, func(tx *sql.Tx) error {
		var found string
		err := tx.QueryRow("PRAGMA integrity_check(1)").Scan(&found)
		if err == nil && found != "ok" {
			err = errors.New(found)
		}
		return err
	})
}

// Scrub writes the log back into the file and empties the log. With the pragma secure_delete,
// SQLite overwrites the file's deleted rows, and Scrub removes their copies in the log. PostgreSQL
// cannot do this.
func (d *DB) Scrub(ctx context.Context) error {
	if d.server {
		return nil
	}
	_, err := d.Write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

// Close closes readers before the writer, which in SQLite folds the log into the file, and returns
// both errors.
func (d *DB) Close() error {
	if d.Read == d.Write {
		return d.Write.Close()
	}
	return errors.Join(d.Read.Close(), d.Write.Close())
}
