package database

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Observer asks PostgreSQL about the leader. It keeps one session, which it opens when needed. It
// is for one goroutine.
type Observer struct {
	at   string
	conn *pgx.Conn
}

// NewObserver takes a database's address and connects at the first question.
func NewObserver(at string) *Observer { return &Observer{at: at} }

// Identity tells databases apart, and copies of one that were promoted apart:
// SYSTEM/TIMELINE/NAME. A standby that takes over has the next timeline.
func (o *Observer) Identity(ctx context.Context) (string, error) {
	var id string
	err := o.ask(ctx, &id, `SELECT concat_ws('/', system_identifier,
		left(pg_walfile_name(pg_current_wal_lsn()), 8), current_database())
		FROM pg_control_system()`)
	return id, err
}

// EndSilentLeader ends the session that holds the lease under an epoch or a later one, if
// PostgreSQL has heard nothing from it for silence, by its own clock. Of a leader that stopped as
// soon as it led, nobody else has heard its epoch. A leader says something each second. The
// process's other sessions that are as silent end too: one of them may hold the epoch's row in the
// midst of a transaction, and the next leader would wait for it. A session that waits for
// PostgreSQL is not silent: it is of one that holds the lock and is about to lead. EndSilentLeader
// reports whether it ended any.
//
// It is safe whenever it is called: a leader without its session commits nothing (ErrLeaseLost),
// and a session under an earlier epoch, which the caller knows to be past, is left alone.
func (o *Observer) EndSilentLeader(
	ctx context.Context, epoch int64, silence time.Duration,
) (bool, error) {
	var n int
	err := o.ask(ctx, &n, `WITH silent AS (
			SELECT pid, application_name AS process, state FROM pg_stat_activity
			WHERE usename = current_user AND datname = current_database()
				AND clock_timestamp() - state_change > $1::float8 * interval '1 second'),
		leader AS (
			SELECT silent.* FROM silent JOIN pg_locks USING (pid)
			WHERE locktype = 'advisory' AND classid = 0 AND objid = $2::bigint::oid AND objsubid = 1
				AND granted AND state = 'idle' AND (SELECT epoch FROM caucus.lease) >= $3)
		SELECT count(pg_terminate_backend(silent.pid)) FROM silent
		JOIN leader ON silent.pid = leader.pid
			OR silent.process = leader.process AND leader.process LIKE $4`,
		silence.Seconds(), int64(leaderLock), epoch, named+"%")
	return n > 0, err
}

// HasCurrentSchemas reports whether the tables of these schemas, as far as they are there, are as
// this program knows them or newer. Then to open them changes nothing.
func (o *Observer) HasCurrentSchemas(ctx context.Context, schemas ...SQLite) (bool, error) {
	for _, s := range schemas {
		var there bool
		table, number := s.place()+".version", 0
		err := o.ask(ctx, &there, "SELECT to_regclass($1) IS NOT NULL", table)
		if err == nil && there {
			err = o.ask(ctx, &number, "SELECT number FROM "+table)
		}
		if err != nil || there && number < s.MigrationCount() {
			return false, err
		}
	}
	return true, nil
}

// ask reads one value, over a new session if the last one failed.
func (o *Observer) ask(ctx context.Context, into any, query string, args ...any) error {
	if o.conn == nil {
		c, err := settings(o.at)
		if err != nil {
			return err
		}
		if o.conn, err = pgx.ConnectConfig(ctx, c); err != nil {
			return err
		}
	}
	err := o.conn.QueryRow(ctx, query, args...).Scan(into)
	if err != nil {
		o.Close()
	}
	return err
}

// Close ends the session. A later question opens another one.
func (o *Observer) Close() {
	if o.conn != nil {
		ctx, stop := context.WithTimeout(context.Background(), time.Second)
		defer stop()
		_ = o.conn.Close(ctx)
		o.conn = nil
	}
}
