package journal

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"caucus/internal/database"
	"caucus/privacy"
)

// Journal stores a ledger in a SQLite file. Goroutines may share a Journal, processes may share a
// file.
type Journal struct {
	db   *database.DB
	path string
}

// migrations are numbered SQL files, each run once, in order.
//
//go:embed migrations/*.sql
var migrations embed.FS

// file describes a ledger file. Its application id is "Cauc" in ASCII.
var file = database.SQLite{Schema: database.Schema{Name: "ledger", Application: 0x43617563,
	Migrations: migrations, Version: version}}

// version returns a file's true schema version. Of the files that say 1, some already have the
// column that the second migration adds.
func version(tx *sql.Tx, said int) (int, error) {
	if said != 1 {
		return said, nil
	}
	var salted int
	err := tx.QueryRow("SELECT count(*) FROM pragma_table_info('entries') WHERE name = 'salt'").Scan(&salted)
	return said + salted, err
}

// SQLite describes the ledger file at path, for database.Upgrade.
func SQLite(path string) database.StoreFile { return database.StoreFile{SQLite: file, Path: path} }

// OpenSQLite opens the ledger file at path, or creates it with mode 0600. It refuses a file that
// others may read or write, that is empty or not a ledger, or that a newer version wrote. Close it
// when done.
func OpenSQLite(path string) (*Journal, error) {
	fail := func(err error) (*Journal, error) {
		return nil, fmt.Errorf("open ledger file %s: %w", path, explain(err))
	}
	err := database.Create(path)
	if errors.Is(err, fs.ErrExist) { // an emptied file must not pass for a new one without charges
		err = database.Check(path)
	}
	if err != nil {
		return fail(err)
	}
	db, err := file.Open(path)
	if err != nil {
		return fail(err)
	}
	return &Journal{db, path}, nil
}

// OpenServer opens the ledger in the PostgreSQL database of an address, and never makes one.
func OpenServer(address string) (*Journal, error) {
	db, err := file.Open(address)
	if err != nil {
		return nil, fmt.Errorf("open ledger in %s: %w", database.RedactAddress(address),
			explain(err))
	}
	return &Journal{db, database.RedactAddress(address)}, nil
}

// RequireLease lets only the holder of the lease write.
func (j *Journal) RequireLease(l *database.Lease) { j.db.Guard = l }

// Copy writes all entries as of one moment to a new file at path, while releases go on.
func (j *Journal) Copy(ctx context.Context, path string) error {
	if err := j.db.Copy(ctx, path); err != nil {
		return fmt.Errorf("copy ledger file %s: %w", j.path, explain(err))
	}
	return nil
}

// Close ends all connections. Nothing waits for it: an entry is on the disk once its Update
// returned nil.
func (j *Journal) Close() error { return j.db.Close() }

// Update keeps the promise of privacy.Journal by a transaction of SQLite or PostgreSQL. It returns
// an error of fn as fn gave it, and wraps one of the database with the ledger's place.
func (j *Journal) Update(ctx context.Context, fn func(privacy.Tx) error) error {
	var own error
	err := j.db.Update(ctx, func(tx *sql.Tx) error { own = fn(&transaction{ctx, tx}); return own })
	if err != nil && own == nil {
		return fmt.Errorf("write ledger %s: %w", j.path, explain(err))
	}
	return err
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
	_, err := t.tx.ExecContext(t.ctx,
		"INSERT INTO entries ("+columns+") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
		e.Sequence, e.ID, e.Kind, e.RequestDigest[:], e.Salt[:], body, e.Totals, e.Prev[:],
		e.Hash[:])
	if err != nil {
		return fmt.Errorf("append ledger entry: %w", explain(err))
	}
	return nil
}

func (t *transaction) EntriesAfter(sequence int64, n int) ([]privacy.Entry, error) {
	all, err := database.QueryAll(t.ctx, t.tx, places, "SELECT "+columns+" FROM entries WHERE sequence > $1 ORDER BY sequence LIMIT $2", sequence, n)
	if err != nil {
		return nil, fmt.Errorf("read ledger entries: %w", explain(err))
	}
	return all, nil
}

func (t *transaction) one(query string, args ...any) (e privacy.Entry, found bool, err error) {
	all, err := database.QueryAll(t.ctx, t.tx, places, query, args...)
	if err != nil || len(all) == 0 {
		return e, false, explain(err)
	}
	return all[0], true, nil
}

func places(e *privacy.Entry) []any {
	return []any{&e.Sequence, &e.ID, &e.Kind, database.ScanHash(&e.RequestDigest),
		database.ScanHash(&e.Salt),
		&e.Body, &e.Totals, database.ScanHash(&e.Prev), database.ScanHash(&e.Hash)}
}

func explain(err error) error {
	advice := database.Advice(err, "ledger")
	switch {
	case advice == "":
		return err
	case database.IsDiskFull(err):
		advice += "; nothing was spent, ask again with the same id"
	}
	return fmt.Errorf("%s (%w)", advice, err)
}
