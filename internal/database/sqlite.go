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

type Schema struct {
	// Name is the name in errors, such as "ledger".
	Name string
	// Application marks a file as this kind: application_id in SQLite's header.
	Application int32
	// Migrations holds migrations/*.sql. Each runs once, in the order of their names; the file's
	// user_version counts them. None is ever changed or removed.
	Migrations fs.FS
	// Version, if not nil, corrects user_version for files where it is wrong.
	Version func(tx *sql.Tx, said int) (int, error)
}

// SQLite describes how a kind of file is opened.
type SQLite struct {
	Schema
	// Pragmas are set on each connection, besides those of all files: for example "foreign_keys(1)".
	Pragmas []string
	// Readers is the number of snapshots that can be read while a transaction writes. With 0, reading
	// takes turns with writing.
	Readers int
}

// DB is an open file.
type DB struct {
	// Write has one connection, so goroutines queue for it and need not poll a lock.
	Write *sql.DB
	// Read has read-only connections, each with a snapshot from the begin of its transaction. Without
	// readers, it is Write.
	Read *sql.DB
}

// Open opens a file that Create made or Check accepted, and brings its schema up to date.
func (s SQLite) Open(path string) (*DB, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	// busy_timeout: milliseconds to wait for another process's transaction. immediate: take the write
	// lock at BEGIN, so that no other writer comes between reading and writing in one transaction.
	pragmas := append([]string{"busy_timeout(20000)", "journal_mode(WAL)", "synchronous(FULL)"}, s.Pragmas...)
	db := &DB{}
	if db.Write, err = connect(absolute, "immediate", pragmas); err != nil {
		return nil, err
	}
	db.Write.SetMaxOpenConns(1)
	db.Read = db.Write
	if s.Readers > 0 {
		if db.Read, err = connect(absolute, "deferred", append([]string{"query_only(1)"}, pragmas...)); err != nil {
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

// connect opens a file. It escapes the path, which may have any characters.
func connect(path, lock string, pragmas []string) (*sql.DB, error) {
	name := url.URL{Scheme: "file", Path: path, OmitHost: true}
	name.RawQuery = "_txlock=" + lock + "&_pragma=" + strings.Join(pragmas, "&_pragma=")
	return sql.Open("sqlite", name.String())
}

// Migrate runs the missing migrations in one transaction: after an error the database is unchanged. It
// refuses a database of another kind, or of a newer version.
func Migrate(db *sql.DB, s Schema) error {
	files, err := s.files()
	if err != nil {
		return err
	}
	tx, err := db.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	said, version, err := s.versionOf(tx)
	if err != nil || said == len(files) {
		return err
	}
	for _, name := range files[version:] {
		text, err := fs.ReadFile(s.Migrations, name)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(string(text)); err != nil {
			return fmt.Errorf("run %s: %w", name, err)
		}
	}
	if _, err := tx.Exec(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", s.Application, len(files))); err != nil {
		return err
	}
	return tx.Commit()
}

func (s Schema) files() ([]string, error) { return fs.Glob(s.Migrations, "migrations/*.sql") }

// versionOf returns the number of migrations that a database states (0 if new), and the number corrected
// by Version. It refuses a database of another kind, or of a newer version.
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

// Copy writes all rows of one moment to a new file at path. The database may be in use.
func (d *DB) Copy(ctx context.Context, path string) error {
	_, err := d.Write.ExecContext(ctx, "VACUUM INTO $1", path)
	return err
}

// Verify reads every page and index, and fails if one is damaged.
func (d *DB) Verify(ctx context.Context) error {
	var found string
	if err := d.Read.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found); err != nil {
		return err
	}
	if found != "ok" {
		return errors.New(found)
	}
	return nil
}

// Scrub writes the log back into the file and empties it. The pragma secure_delete overwrites deleted
// rows in the file; Scrub removes their copies in the log.
func (d *DB) Scrub(ctx context.Context) error {
	_, err := d.Write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return err
}

func (d *DB) Close() error {
	if d.Read == d.Write {
		return d.Write.Close()
	}
	return errors.Join(d.Read.Close(), d.Write.Close())
}
