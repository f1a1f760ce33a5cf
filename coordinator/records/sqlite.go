package records

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"caucus/internal/database"
	"caucus/protocol"
)

// SQLite is a Store in one file.
type SQLite struct {
	DB      *database.DB
	writes  *statements
	reads   *statements
	path    string
	OnError func(error) // called with each failure, if not nil
}

// migrations are numbered SQL files, each run once, in order.
//
//go:embed migrations/*.sql
var migrations embed.FS

// File describes a store's database, with four concurrent readers. Its application number is "Cauk"
// in ASCII; the ledger's is "Cauc". secure_delete overwrites deleted ballots in the file.
var File = database.SQLite{
	Schema:  database.Schema{Name: "store", Application: 0x4361756b, Migrations: migrations},
	Pragmas: []string{"foreign_keys(1)", "secure_delete(1)"},
	Readers: 4,
}

// Create makes the store at path, with mode 0600. It refuses an existing file.
func Create(path string) (*SQLite, error) {
	if err := database.Create(path); err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	return connectSQLite(path)
}

// Open opens the store at path. It refuses a file that is not a store, that a newer version wrote,
// or that is empty: a store that lost its members, studies and budget must not pass for a new one.
func Open(path string) (*SQLite, error) {
	if err := database.Check(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return connectSQLite(path)
}

func connectSQLite(path string) (*SQLite, error) {
	db, err := File.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, Explain(err))
	}
	return Over(path, db), nil
}

// Over makes a store of an open database.
func Over(path string, db *database.DB) *SQLite {
	return &SQLite{DB: db, writes: newStatements(db.Write), reads: newStatements(db.Read), path: path}
}

// Copy writes all rows as of one moment to a new file at path. The store may be in use.
func (s *SQLite) Copy(ctx context.Context, path string) error {
	if err := s.DB.Copy(ctx, path); err != nil {
		return fmt.Errorf("copy store: %w", Explain(err))
	}
	return nil
}

// Check reads every page and index.
func (s *SQLite) Check(ctx context.Context) error {
	if err := s.DB.Verify(ctx); err != nil {
		return fmt.Errorf("check store %s: it is damaged: restore a backup of the whole folder (%w)", s.path, err)
	}
	return nil
}

func (s *SQLite) Close() error {
	s.reads.close()
	s.writes.close()
	return s.DB.Close()
}

func (s *SQLite) Update(ctx context.Context, fn func(Tx) error) error {
	return s.transact(ctx, s.writes, fn)
}

func (s *SQLite) View(ctx context.Context, fn func(Tx) error) error {
	return s.transact(ctx, s.reads, fn)
}

func (s *SQLite) transact(ctx context.Context, on *statements, fn func(Tx) error) error {
	err := s.attempt(ctx, on, fn)
	on.prepare(context.WithoutCancel(ctx))
	if err != nil && s.OnError != nil {
		s.OnError(err)
	}
	if abandoned(err) && ctx.Err() != nil {
		return fmt.Errorf("%w (%v)", ctx.Err(), err)
	}
	return err
}

func (s *SQLite) attempt(ctx context.Context, on *statements, fn func(Tx) error) error {
	tx, err := on.db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", Explain(err))
	}
	defer tx.Rollback()
	if err := fn(&sqlTx{ctx, tx, on}); err != nil {
		return Explain(err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", Explain(err))
	}
	return nil
}

// abandoned reports whether the caller went away: an interrupted statement, or a rollback.
func abandoned(err error) bool {
	return errors.Is(err, sql.ErrTxDone) || database.Interrupted(err)
}

// Scrub writes the log back into the file and empties it. Deleted rows were overwritten in the
// file; this removes their copies in the log.
func (s *SQLite) Scrub(ctx context.Context) error {
	if err := s.DB.Scrub(ctx); err != nil {
		return fmt.Errorf("scrub store: %w", Explain(err))
	}
	return nil
}

// Explain adds advice to SQLite's errors. They are this machine's and may pass, so callers try
// again; a broken constraint is a bug and does not pass.
func Explain(err error) error {
	advice := database.Advice(err, "store")
	if advice == "" || errors.Is(err, protocol.ErrUnavailable) {
		return err
	}
	return &trouble{advice, err}
}

// trouble is an error of this machine that may pass, to callers protocol.ErrUnavailable, so they try
// again. Its text is the advice, all that a daemon needs to print when it stops at its start.
type trouble struct {
	advice string
	cause  error
}

// Trouble makes an error of this machine that may pass, with advice.
func Trouble(advice string, cause error) error { return &trouble{advice, cause} }

func (t *trouble) Error() string   { return fmt.Sprintf("%s (%v)", t.advice, t.cause) }
func (t *trouble) Unwrap() []error { return []error{protocol.ErrUnavailable, t.cause} }
