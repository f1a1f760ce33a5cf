package database

import (
	"context"
	"crypto/rand"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// IsServer reports whether a text is the address of a PostgreSQL database, and not a file's path.
func IsServer(at string) bool {
	return strings.HasPrefix(at, "postgres://") || strings.HasPrefix(at, "postgresql://")
}

// RedactAddress returns a path as it is, and of an address (Server) the scheme, host and path. The
// rest may hold a password: before the host, behind ?, and anywhere in an address that is written
// wrongly, such as with / in the password. Of that only the scheme is shown.
func RedactAddress(at string) string {
	if !IsServer(at) {
		if near := strings.ToLower(at); strings.HasPrefix(near, "postgres") ||
			strings.Contains(near, "password=") {
			return "postgres://…" // an address that is written wrongly, and no path
		}
		return at
	}
	u, err := url.Parse(at)
	if err != nil || strings.Contains(u.Path+u.RawQuery+u.Fragment, "@") {
		scheme, _, _ := strings.Cut(at, ":")
		return scheme + "://…"
	}
	return u.Scheme + "://" + u.Host + u.EscapedPath()
}

// CheckAddress refuses an address that PostgreSQL's driver cannot read.
func CheckAddress(at string) error {
	if _, err := pgx.ParseConfig(at); err != nil || !IsServer(at) {
		return errors.New("it is no address of PostgreSQL, such as postgres://caucus@db.example.org/caucus")
	}
	return nil
}

// idle is the time that a transaction, or the session of a leader, may be silent before PostgreSQL
// ends it. Tests shorten it.
var idle = 5 * time.Second

// process names all sessions of this process to PostgreSQL.
var process = named + rand.Text()

const named = "caucus "

// settings reads an address. Sessions with these settings notice within seconds that the other side
// is gone.
func settings(at string) (*pgx.ConnConfig, error) {
	c, err := pgx.ParseConfig(at)
	if err != nil {
		return nil, CheckAddress(at)
	}
	if c.ConnectTimeout == 0 {
		c.ConnectTimeout = idle
	}
	c.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: time.Second,
		Interval: time.Second, Count: 4}}).DialContext
	own := process
	if given := c.RuntimeParams["application_name"]; given != "" {
		own += " " + given // PostgreSQL cuts it after 63 bytes, so process comes first
	}
	for name, value := range map[string]string{
		"application_name":   own,
		"synchronous_commit": "on", "idle_in_transaction_session_timeout": fmt.Sprint(idle.Milliseconds()),
		"tcp_keepalives_idle": "1", "tcp_keepalives_interval": "1", "tcp_keepalives_count": "4", "bytea_output": "hex",
	} {
		c.RuntimeParams[name] = value
	}
	return c, nil
}

// place returns the name of the PostgreSQL schema that holds the tables.
func (s Schema) place() string { return "caucus_" + s.Name }

// openServer opens the tables in a PostgreSQL database, and brings them up to date.
func (s SQLite) openServer(at string) (*DB, error) {
	c, err := settings(at)
	if err != nil {
		return nil, err
	}
	d := &DB{onServer: onServer{server: true, turn: s.Application}}
	c.RuntimeParams["search_path"] = s.place()
	c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if doubts(n) {
			d.unconfirmed.Store(true)
		}
	}
	d.Write, d.Read = stdlib.OpenDB(*c), stdlib.OpenDB(*c)
	d.Write.SetMaxOpenConns(1)
	d.Read.SetMaxOpenConns(max(s.Readers, 1))
	d.Read.SetMaxIdleConns(max(s.Readers, 1))
	if err := d.Update(context.Background(), s.migrateServer); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// migrateServer does the work of Migrate on PostgreSQL, in the caller's transaction.
func (s Schema) migrateServer(tx *sql.Tx) error {
	files, err := s.files()
	if err != nil {
		return err
	}
	var there bool
	if err := tx.QueryRow("SELECT to_regclass('version') IS NOT NULL").Scan(&there); err != nil {
		return err
	}
	if !there { // lost tables must not pass for new ones
		// a pooler may ignore what a session says at its start
		var path string
		if err := tx.QueryRow("SELECT current_setting('search_path')").Scan(&path); err != nil {
			return err
		}
		if path != s.place() {
			return errPooler
		}
		return fmt.Errorf("%w: %w", fs.ErrNotExist, errNoTables)
	}
	var application, said int
	if err := tx.QueryRow("SELECT application, number FROM version FOR UPDATE").Scan(&application, &said); err != nil {
		return err
	}
	if application != int(s.Application) || said > len(files) {
		return fmt.Errorf("its schema is version %d and this program knows %d: use a newer program", said, len(files))
	}
	if err := s.run(tx, files[said:], strings.NewReplacer(" x'", ` '\x`)); err != nil {
		return err
	}
	_, err = tx.Exec(fmt.Sprintf("UPDATE version SET number = %d", len(files)))
	return err
}

// awake sends an empty query each second until the function that it returns is called. So
// PostgreSQL does not end a transaction whose process computes, but ends a transaction whose
// process is paused.
func awake(tx *sql.Tx) func() {
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-over:
				return
			case <-time.After(idle / 5):
				_, _ = tx.Exec("SELECT 1")
			}
		}
	}()
	return sync.OnceFunc(func() { close(over); <-done })
}

// updateServer does the work of Update on PostgreSQL.
func (d *DB) updateServer(ctx context.Context, fn func(*sql.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	// Without this, the driver would cancel a commit under way, and nobody would know its outcome.
	tx, err := d.Write.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	stop := awake(tx)
	defer func() { stop(); tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock($1)", d.turn); err != nil {
		return fmt.Errorf("begin transaction: %w", err)
	}
	if err := d.Guard.fence(ctx, tx); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	stop()
	if err := ctx.Err(); err != nil {
		return err
	}
	var p *pgconn.PgError
	switch err := tx.Commit(); {
	case errors.As(err, &p) && p.Severity == "ERROR": // nothing of the transaction remains
		return fmt.Errorf("commit: %w", err)
	case err != nil || d.unconfirmed.Load():
		if d.Guard != nil {
			d.Guard.lose()
		}
		return fmt.Errorf("commit, which happened or not: %w (%v)", ErrLeaseLost, err)
	}
	return nil
}

// serverAdvice is Advice's text for an error of PostgreSQL.
func serverAdvice(err error) string {
	var p *pgconn.PgError
	var connect *pgconn.ConnectError
	var network net.Error
	var file *fs.PathError
	switch {
	case errors.Is(err, ErrLeaseLost):
		return "this replica leads no more: ask the one that does"
	case errors.As(err, &p) && p.Code[:2] == "23":
		return ""
	case errors.As(err, &p) && p.Code == "53100":
		return "PostgreSQL's disk is full: make room"
	case errors.As(err, &p) && p.Code == "25P03":
		return "PostgreSQL ended a transaction of a process that was paused: it will be tried again"
	case errors.As(err, &p) && noTables(p):
		return errNoTables.Error()
	case errors.As(err, &p) && mistaken(err):
		return "PostgreSQL lets nobody in there: check user, password and database in store:"
	case errors.As(err, &p):
		return "PostgreSQL refuses: see its log"
	case errors.As(err, &file): // of this machine: an Errno would pass for the network's
		return ""
	case errors.As(err, &network), errors.Is(err, driver.ErrBadConn), errors.Is(err,
		sql.ErrConnDone), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err,
		io.EOF), pgconn.Timeout(err), errors.Is(err, net.ErrClosed),
		err != nil && strings.Contains(err.Error(), "conn closed"):
		return "PostgreSQL does not answer: see that it runs and can be reached"
	case errors.As(err, &connect):
		return "PostgreSQL refuses: see its log"
	}
	return ""
}

// errNoTables says that a database is not one of Caucus.
var errNoTables = errors.New("PostgreSQL has no tables of Caucus there: caucus coordinator move " +
	"brings a folder's, or restore a backup of the database")

// noTables reports whether the error names a table or a schema that is not there.
func noTables(p *pgconn.PgError) bool { return p.Code == "42P01" || p.Code == "3F000" }

// mistaken reports whether an error of PostgreSQL stays until a person changes something: another
// user, password or database, or a database without tables.
func mistaken(err error) bool {
	var p *pgconn.PgError
	return errors.As(err, &p) && (noTables(p) || p.Code == "3D000" || p.Code[:2] == "28")
}

// interrupted reports whether PostgreSQL ended a statement because its context ended.
func interrupted(err error) bool {
	var p *pgconn.PgError
	return errors.Is(err, context.Canceled) || errors.As(err, &p) && p.Code == "57014"
}

// onServer holds the fields of a DB that only PostgreSQL needs.
type onServer struct {
	server bool
	// Guard, if not nil, lets only the leader write. It is set before the first transaction.
	Guard *Lease
	// turn is the advisory lock by which writing transactions of all processes take turns.
	turn int32
	// unconfirmed reports that a transaction was committed and no standby confirmed it.
	unconfirmed atomic.Bool
}
