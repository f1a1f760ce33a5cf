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

// SQL is a Store in a SQLite file or a PostgreSQL database, with the same tables and the same
// guarantees.
type SQL struct {
	DB      *database.DB
	path    string
	Keys    *StudyKeys  // nil in files, where deleted rows are overwritten
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

// Create makes the store at path, with mode 0600. It refuses an existing one.
func Create(path string) (*SQL, error) {
	db, err := File.Create(path)
	if err != nil {
		return nil, fmt.Errorf("make store: %w", err)
	}
	return FromDatabase(path, db), nil
}

// Open opens the store at a file's path or a database's address. It refuses a database that is
// empty, is not a store, or was written by a newer version. An empty one is refused because a store
// that lost its members, studies and budget must not pass for a new one.
func Open(path string) (*SQL, error) {
	if err := database.Check(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db, err := File.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", database.RedactAddress(path), WithAdvice(err))
	}
	s := FromDatabase(path, db)
	if database.IsServer(path) {
		s.Keys = NewStudyKeys()
	}
	return s, nil
}

// FromDatabase uses a database that is open already. path names it in errors. Keys stays nil, so
// ballots are stored in clear: right for files alone.
func FromDatabase(path string, db *database.DB) *SQL { return &SQL{DB: db, path: path} }

// Copy writes all rows to a new file, as of one moment. The store may be in use.
func (s *SQL) Copy(ctx context.Context, path string) error {
	if err := s.DB.Copy(ctx, path); err != nil {
		return fmt.Errorf("copy store: %w", WithAdvice(err))
	}
	return nil
}

// Check reads every page and index.
func (s *SQL) Check(ctx context.Context) error {
	if err := s.DB.Verify(ctx); err != nil {
		return fmt.Errorf("check store %s: it is damaged: restore a backup of the whole folder (%w)", database.RedactAddress(s.path), err)
	}
	return nil
}

// Close ends all connections; every Update that returned nil is on the disk.
func (s *SQL) Close() error { return s.DB.Close() }

// Update runs fn in one writing transaction. When it has ended a study, it forgets the study's key,
// after the commit. OnError hears of each failure.
func (s *SQL) Update(ctx context.Context, fn func(Tx) error) error {
	return s.transact(ctx, s.DB.Update, fn)
}

// View runs fn on a snapshot, beside writers. fn must not write.
func (s *SQL) View(ctx context.Context, fn func(Tx) error) error {
	return s.transact(ctx, s.DB.View, fn)
}

func (s *SQL) transact(ctx context.Context, run func(context.Context, func(*sql.Tx) error) error,
	fn func(Tx) error) error {
	t := &sqlTx{ctx: ctx, keys: s.Keys}
	err := WithAdvice(run(ctx, func(tx *sql.Tx) error { t.tx = tx; return fn(t) }))
	for _, h := range t.over {
		if err == nil && s.Keys != nil {
			s.Keys.forget(h)
		}
	}
	if err != nil && s.OnError != nil {
		s.OnError(err)
	}
	if abandoned(err) && ctx.Err() != nil {
		return fmt.Errorf("%w (%v)", ctx.Err(), err)
	}
	return err
}

// abandoned reports whether the caller went away.
func abandoned(err error) bool {
	return errors.Is(err, sql.ErrTxDone) ||
		database.IsInterrupted(err)
}

// Scrub writes the log back into the file, then empties the log. Deleted rows were overwritten in
// the file already; emptying the log removes their remaining copies.
func (s *SQL) Scrub(ctx context.Context) error {
	if err := s.DB.Scrub(ctx); err != nil {
		return fmt.Errorf("scrub store: %w", WithAdvice(err))
	}
	return nil
}

// WithAdvice adds advice to a database's error. Most errors are problems of this machine that may
// pass, so callers try again. A broken constraint is a bug, and no retry helps.
func WithAdvice(err error) error {
	advice := database.Advice(err, "store")
	if advice == "" || errors.Is(err, protocol.ErrUnavailable) {
		return err
	}
	return &trouble{advice, err}
}

// trouble is a problem of this machine that may pass. Callers see protocol.ErrUnavailable and try
// again. The error's text is the advice, which is all that a daemon needs to print when it cannot
// start.
type trouble struct {
	advice string
	cause  error
}

// Transient wraps an error as one that may pass: callers elsewhere see protocol.ErrUnavailable and
// try again, and cause's text stays in this machine's log. advice is for the operator.
func Transient(advice string, cause error) error { return &trouble{advice, cause} }

func (t *trouble) Error() string   { return fmt.Sprintf("%s (%v)", t.advice, t.cause) }
func (t *trouble) Unwrap() []error { return []error{protocol.ErrUnavailable, t.cause} }
