package coordinator

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"

	"caucus/internal/database"
	"caucus/protocol"
)

// sqliteStore is a Store in one file.
type sqliteStore struct {
	db      *database.DB
	writes  *statements // of db.Write
	reads   *statements // of db.Read
	path    string
	onError func(error) // where not nil, is called with each failure
}

// migrations are numbered SQL files, each run once, in order.
//
//go:embed migrations/*.sql
var migrations embed.FS

// sqliteFile is how a store is kept, four snapshots read at once. Its mark is "Cauk" in
// ASCII; the ledger's is "Cauc". secure_delete: a ballot that was added up is
// overwritten in the file.
var sqliteFile = database.SQLite{
	Schema:  database.Schema{Name: "store", Application: 0x4361756b, Migrations: migrations},
	Pragmas: []string{"foreign_keys(1)", "secure_delete(1)"},
	Readers: 4,
}

// createSQLite makes the store at path, with mode 0600. It refuses a file that is
// there.
func createSQLite(path string) (*sqliteStore, error) {
	if err := database.Create(path); err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	return connectSQLite(path)
}

// openSQLite opens the store at path. It refuses a file that is not a store, that
// a newer version wrote, or that is empty: a store that forgot its members,
// studies and budget must not pass for a new one.
func openSQLite(path string) (*sqliteStore, error) {
	if err := database.Check(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return connectSQLite(path)
}

func connectSQLite(path string) (*sqliteStore, error) {
	db, err := sqliteFile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", path, explain(err))
	}
	return newSQLite(path, db), nil
}

// newSQLite is a store in an open database.
func newSQLite(path string, db *database.DB) *sqliteStore {
	return &sqliteStore{db: db, writes: newStatements(db.Write), reads: newStatements(db.Read), path: path}
}

// Copy writes all rows as of one moment to a new file at path, while the store is
// used.
func (s *sqliteStore) Copy(ctx context.Context, path string) error {
	if err := s.db.Copy(ctx, path); err != nil {
		return fmt.Errorf("copy store: %w", explain(err))
	}
	return nil
}

// Check reads every page and index.
func (s *sqliteStore) Check(ctx context.Context) error {
	if err := s.db.Verify(ctx); err != nil {
		return fmt.Errorf("check store %s: it is damaged: restore a backup of the whole folder (%w)", s.path, err)
	}
	return nil
}

func (s *sqliteStore) Close() error {
	s.reads.close()
	s.writes.close()
	return s.db.Close()
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
	if err != nil && s.onError != nil {
		s.onError(err)
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
	return errors.Is(err, sql.ErrTxDone) || database.Interrupted(err)
}

// Scrub writes the log back into the file and empties it: the file's deleted
// rows were overwritten, the log's copies are cut off.
func (s *sqliteStore) Scrub(ctx context.Context) error {
	if err := s.db.Scrub(ctx); err != nil {
		return fmt.Errorf("scrub store: %w", explain(err))
	}
	return nil
}

// explain says what to do about SQLite's errors. They are the machine's, and
// may pass: whoever called is asked to try again. A broken constraint is ours,
// and does not pass.
func explain(err error) error {
	advice := database.Advice(err, "store")
	if advice == "" || errors.Is(err, protocol.ErrUnavailable) {
		return err
	}
	return &trouble{advice, err}
}

// trouble is this machine's own and may pass. To callers it is
// protocol.ErrUnavailable, and tried again; in words it is only what to do, which
// is all that a daemon that stops at its start has to say.
type trouble struct {
	advice string
	cause  error
}

func (t *trouble) Error() string   { return fmt.Sprintf("%s (%v)", t.advice, t.cause) }
func (t *trouble) Unwrap() []error { return []error{protocol.ErrUnavailable, t.cause} }
