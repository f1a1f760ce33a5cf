package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrLeaseLost says that this process no longer leads, or does not know what it committed. It
// writes nothing more and ends.
var ErrLeaseLost = errors.New("this replica leads no more: another one does, or PostgreSQL was away")

// ErrOtherLeader says that another process leads.
var ErrOtherLeader = errors.New("a replica of this coordinator leads: stop all of them first")

// errPooler refuses a program that stands before PostgreSQL and hands out its sessions. The lease
// is a lock of one session, which such a program may give to somebody else.
var errPooler = errors.New("store: a pooler of connections stands between this replica and PostgreSQL, so no lease holds there: name PostgreSQL itself, on its own port")

// leaderLock is the advisory lock of a leader's session, "Caul" in ASCII.
const leaderLock = 0x4361756c

// Lease is the leadership of one process over a PostgreSQL database. See the package comment.
type Lease struct {
	// Lost is closed when this process no longer leads.
	Lost  chan struct{}
	epoch int64
	since time.Time
	conn  *pgx.Conn
	end   context.CancelFunc
	over  sync.WaitGroup
	once  sync.Once
}

// AcquireLease waits until this process leads, and commits a new epoch. It calls waits with each
// new reason why PostgreSQL makes it wait, other than another leader. If waits is nil, AcquireLease
// does not wait, and returns ErrOtherLeader when another process leads. An error that no waiting
// mends, such as a wrong password, is returned at once. leader names this process to others. If
// single is false, PostgreSQL must have a synchronous standby with a name.
func AcquireLease(ctx context.Context, at, leader string, single bool, waits func(error)) (*Lease,
	error) {
	for told := ""; ; {
		l, err := acquire(ctx, at, leader, single, waits != nil)
		if err != nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil || serverAdvice(err) == "" || waits == nil {
			return l, err
		}
		if mistaken(err) {
			return nil, fmt.Errorf("%s (%w)", serverAdvice(err), err)
		}
		if why := serverAdvice(err); why != told {
			waits(fmt.Errorf("%s (%w)", why, err))
			told = why
		}
		select { // PostgreSQL is away, or another machine is taking over from it
		case <-ctx.Done():
		case <-time.After(idle / 10):
		}
	}
}

func acquire(ctx context.Context, at, leader string, single, wait bool) (l *Lease, err error) {
	c, err := settings(at)
	if err != nil {
		return nil, err
	}
	// so that a paused leader loses its lock
	c.RuntimeParams["idle_session_timeout"] = fmt.Sprint(idle.Milliseconds())
	var unconfirmed atomic.Bool
	c.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		unconfirmed.Store(unconfirmed.Load() || doubts(n))
	}
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			conn.Close(context.Background())
		}
	}()
	var names string
	var pid uint32
	if err := conn.QueryRow(ctx, "SELECT current_setting('synchronous_standby_names'), pg_backend_pid()").Scan(&names, &pid); err != nil {
		return nil, err
	}
	if pid != conn.PgConn().PID() {
		return nil, errPooler
	}
	if !single && (names == "" || strings.Contains(names, "*")) {
		return nil, errors.New("PostgreSQL names no synchronous standby in synchronous_standby_names, so what was released could be lost with one disk, and released anew: name one, or start with --single and back up")
	}
	led := true
	if wait {
		_, err = conn.Exec(ctx, "SELECT pg_advisory_lock($1)", leaderLock)
	} else {
		err = conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", leaderLock).Scan(&led)
	}
	if err != nil {
		return nil, err
	}
	if !led {
		return nil, ErrOtherLeader
	}
	// The update waits for transactions that the last leader is committing. Once it is confirmed,
	// so is everything that was committed before.
	l = &Lease{Lost: make(chan struct{}), conn: conn}
	if err = conn.QueryRow(ctx, `UPDATE caucus.lease SET epoch = epoch + 1, leader = $1
		RETURNING epoch, clock_timestamp()`, leader).Scan(&l.epoch, &l.since); err != nil {
		return nil, err
	}
	if unconfirmed.Load() {
		return nil, ErrLeaseLost
	}
	ctx, l.end = context.WithCancel(context.Background())
	l.over.Go(func() { l.keep(ctx) })
	return l, nil
}

// Epoch is the number under which this process leads. Each leader has a higher one.
func (l *Lease) Epoch() int64 { return l.epoch }

// Since is when this process began to lead, by PostgreSQL's clock.
func (l *Lease) Since() time.Time { return l.since }

// keep uses the session regularly, so that PostgreSQL does not end it. It returns when that fails.
func (l *Lease) keep(ctx context.Context) {
	defer l.conn.Close(context.Background())
	defer l.lose()
	for {
		one, stop := context.WithTimeout(ctx, idle)
		_, err := l.conn.Exec(one, "SELECT 1")
		if stop(); err != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(idle / 5):
		}
	}
}

func (l *Lease) lose() { l.once.Do(func() { close(l.Lost) }) }

// Release ends the session that holds the lock, and returns once no goroutine of the lease runs.
// Lost is closed too. The next leader can start at once.
func (l *Lease) Release() {
	l.end()
	l.over.Wait()
}

// fence returns an error if this process no longer leads. Otherwise no other process can lead until
// tx ends.
func (l *Lease) fence(ctx context.Context, tx *sql.Tx) error {
	if l == nil {
		return nil
	}
	var epoch int64
	if err := tx.QueryRowContext(ctx,
		"SELECT epoch FROM caucus.lease FOR SHARE").Scan(&epoch); err != nil {
		return err
	}
	if epoch != l.epoch {
		l.lose()
	}
	return l.holds()
}

// holds returns ErrLeaseLost if this process no longer leads.
func (l *Lease) holds() error {
	if l == nil {
		return nil
	}
	select {
	case <-l.Lost:
		return ErrLeaseLost
	default:
		return nil
	}
}

// doubts reports whether a notice says that the standby did not confirm a commit.
func doubts(n *pgconn.Notice) bool {
	return n.Severity == "WARNING" && strings.Contains(n.Message, "synchronous replication")
}
