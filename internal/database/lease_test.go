//go:build unix

package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"caucus/internal/testserver"
)

// led makes a PostgreSQL database with one table of notes. lead waits until a process of that name
// leads and opens the database for it; open opens it under a lease that is held already.
func led(t *testing.T) (at string, lead func(name string) (*Lease, *DB), open func(*Lease) *DB) {
	at = testserver.Database(t)
	lead, open = leads(t, at)
	return at, lead, open
}

func leads(t *testing.T, at string) (lead func(name string) (*Lease, *DB), open func(*Lease) *DB) {
	kind := SQLite{Schema: Schema{Name: "notes", Application: 7,
		Migrations: fstest.MapFS{"migrations/1.sql": {Data: []byte("CREATE TABLE notes (text TEXT NOT NULL)")}}}}
	path := filepath.Join(t.TempDir(), "notes")
	must(0, must(kind.Create(path)).Close())
	must(CopyToServer(ctx, at, StoreFile{kind, path}))
	open = func(l *Lease) *DB {
		d := must(kind.Open(at))
		d.Guard = l
		t.Cleanup(func() { d.Close(); l.Release() })
		return d
	}
	return func(name string) (*Lease, *DB) {
		l := must(AcquireLease(ctx, at, name, true, func(error) {}))
		return l, open(l)
	}, open
}

func add(text string) func(*sql.Tx) error {
	return func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO notes VALUES ($1)", text)
		return err
	}
}

func notesIn(d *DB) (all []string) {
	must(0, d.View(ctx, func(tx *sql.Tx) (err error) {
		all, err = QueryAll(ctx, tx, func(s *string) []any {
			return []any{s}
		}, "SELECT text FROM notes ORDER BY text")
		return err
	}))
	return all
}

// end ends sessions of PostgreSQL that a condition names.
func end(t *testing.T, at, where string) {
	db := must(sql.Open("pgx", at))
	defer db.Close()
	must(db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database() AND " + where))
}

// TestOldLeader: a leader that lost its lock without noticing, as one that was paused, is waited
// for in the middle of a transaction, and commits nothing afterwards.
func TestOldLeader(t *testing.T) {
	at, lead, open := led(t)
	old, first := lead("old")
	must(0, first.Update(ctx, add("1")))
	if _, err := AcquireLease(ctx, at, "second", true, nil); !errors.Is(err, ErrOtherLeader) {
		t.Errorf("two lead: %v", err)
	}
	inside, took := make(chan bool), make(chan *Lease, 1)
	go func() {
		<-inside
		// the session of the lock
		end(t, at, "query LIKE '%advisory_lock%' OR query = 'SELECT 1' AND state = 'idle'")
		took <- must(AcquireLease(ctx, at, "new", true, func(error) {}))
	}()
	err := first.Update(ctx, func(tx *sql.Tx) error {
		inside <- true
		select {
		case l := <-took:
			t.Error("the new leader did not wait for a transaction of the old one")
			took <- l
		case <-time.After(300 * time.Millisecond):
		}
		return add("2")(tx)
	})
	second := open(<-took)
	if err != nil {
		t.Errorf("what was under way: %v", err)
	}
	if got := notesIn(second); len(got) != 2 {
		t.Errorf("the new leader finds %q", got)
	}
	if err := first.Update(ctx, add("3")); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("the old leader writes: %v", err)
	}
	select {
	case <-old.Lost:
	default:
		t.Error("the old leader does not know")
	}
	if err := first.View(ctx, func(*sql.Tx) error { return nil }); !errors.Is(err, ErrLeaseLost) {
		t.Errorf("the old leader reads: %v", err)
	}
	if got := notesIn(second); len(got) != 2 {
		t.Errorf("at the end there are %q", got)
	}
}

// TestPausedInside: a leader that is paused within a transaction does not stop the next one for
// long: PostgreSQL ends its sessions. A transaction that merely computes is not ended.
func TestPausedInside(t *testing.T) {
	t.Cleanup(func() { idle = 5 * time.Second }) // after the leases' own
	inside := func() error {
		_, lead, _ := led(t)
		_, d := lead("slow")
		if err := d.Update(ctx, func(tx *sql.Tx) error {
			time.Sleep(idle + time.Second)
			return add("slow")(tx)
		}); err != nil {
			return err
		}
		conn, err := d.Write.Conn(ctx) // as a paused process has it: nobody asks for anything
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.ExecContext(ctx,
			"BEGIN; SELECT epoch FROM caucus.lease FOR SHARE"); err != nil {
			return err
		}
		time.Sleep(idle + time.Second)
		if _, err := conn.ExecContext(ctx, "COMMIT"); err == nil {
			t.Error("a silent transaction was not ended")
		}
		return nil
	}
	for idle = time.Second; ; idle *= 2 { // a busy machine may pause this test itself
		if err := inside(); err == nil {
			return
		} else if idle > 8*time.Second {
			t.Fatal(err)
		}
	}
}

// TestUnknownCommit: after a commit with an unknown outcome, a leader stops leading and reads
// nothing. The next leader finds all of the transaction, or nothing. The same holds after a commit
// that the standby did not confirm.
func TestUnknownCommit(t *testing.T) {
	set := func(t *testing.T, at, how string) {
		db := must(sql.Open("pgx", at))
		defer db.Close()
		must(db.Exec("ALTER SYSTEM " + how))
		must(db.Exec("SELECT pg_reload_conf()"))
		time.Sleep(200 * time.Millisecond)
	}
	for name, cut := range map[string]func(t *testing.T, at string){
		"cut off": func(t *testing.T, at string) { end(t, at, "state = 'idle in transaction'") },
		"unconfirmed": func(t *testing.T, at string) {
			set(t, at, "SET synchronous_standby_names = 'nobody'")
			go func() { // an operator ends the wait for a standby
				db := must(sql.Open("pgx", at))
				defer db.Close()
				for n := 0; n == 0; time.Sleep(50 * time.Millisecond) {
					must(0, db.QueryRow("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").Scan(&n))
				}
			}()
		},
	} {
		t.Run(name, func(t *testing.T) {
			at, lead, _ := led(t)
			l, d := lead("one")
			must(0, d.Update(ctx, add("1")))
			err := d.Update(ctx, func(tx *sql.Tx) error {
				must(0, add("2")(tx))
				cut(t, at)
				return nil
			})
			if !errors.Is(err, ErrLeaseLost) || !strings.Contains(err.Error(), "happened or not") {
				t.Errorf("the commit: %v", err)
			}
			if err := d.Update(ctx, add("3")); !errors.Is(err, ErrLeaseLost) {
				t.Errorf("it writes on: %v", err)
			}
			if err := d.View(ctx, func(*sql.Tx) error { return nil }); !errors.Is(err,
				ErrLeaseLost) {
				t.Errorf("it reads on: %v", err)
			}
			set(t, at, "RESET synchronous_standby_names")
			l.Release()
			_, next := lead("two")
			if got := notesIn(next); len(got) < 1 || len(got) > 2 || got[0] != "1" {
				t.Errorf("the next leader finds %q", got)
			}
		})
	}
}

// TestNeedsStandby: nobody leads over a PostgreSQL without a standby, because a release would be on
// one disk only.
func TestNeedsStandby(t *testing.T) {
	if _, err := AcquireLease(ctx, testserver.Database(t), "one", false,
		func(error) {}); err == nil ||
		!strings.Contains(err.Error(), "--single") {
		t.Errorf("without a standby: %v", err)
	}
}

// TestSaysWhyItWaits: who waits for PostgreSQL says why, once for each reason. A mistake that no
// waiting mends ends it at once.
func TestSaysWhyItWaits(t *testing.T) {
	nobody := must(net.Listen("tcp", "127.0.0.1:0"))
	closed := nobody.Addr().String()
	must(0, nobody.Close())
	ctx, stop := context.WithCancel(context.Background())
	var said []string
	_, err := AcquireLease(ctx, "postgres://caucus@"+closed+"/caucus", "one", true,
		func(why error) {
			said = append(said, why.Error())
			time.AfterFunc(3*idle/10, stop)
		})
	if !errors.Is(err, context.Canceled) || len(said) != 1 ||
		!strings.Contains(said[0], "does not answer: see that it runs") {
		t.Errorf("nobody listens: said %q, then %v", said, err)
	}
	at := testserver.Database(t)
	lacks := must(url.Parse(at))
	lacks.Path += "_lacks"
	for at, want := range map[string]string{
		at:             "caucus coordinator move",
		lacks.String(): "check user, password and database",
	} {
		_, err := AcquireLease(context.Background(), at, "one", true, func(why error) {
			t.Errorf("waits: %v", why)
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestPromoted: the primary dies and the standby takes over, with a higher epoch. It has every
// commit that a leader was told of, and the former leader knows that it no longer leads.
func TestPromoted(t *testing.T) {
	pair := testserver.NewPair(t)
	lead, _ := leads(t, pair.Addresses())
	if l, err := AcquireLease(ctx, pair.Addresses(), "first", false, func(error) {}); err != nil {
		t.Errorf("with a synchronous standby: %v", err)
	} else {
		l.Release()
	}
	old, d := lead("old")
	var said []string
	stop := time.AfterFunc(500*time.Millisecond, pair.Primary.Kill)
	defer stop.Stop()
	for n := 0; ; n++ {
		text := fmt.Sprintf("%05d", n)
		if err := d.Update(ctx, add(text)); err != nil {
			break
		}
		said = append(said, text)
	}
	pair.Promote()
	next, found := lead("next")
	got := notesIn(found)
	if len(said) < 10 || len(got) < len(said) || len(got) > len(said)+1 ||
		!slices.Equal(got[:len(said)], said) {
		t.Errorf("%d notes were confirmed, and the standby has %d", len(said), len(got))
	}
	if next.epoch <= old.epoch {
		t.Errorf("epoch %d after %d", next.epoch, old.epoch)
	}
	select {
	case <-old.Lost:
	case <-time.After(10 * time.Second):
		t.Error("the leader of before does not know")
	}
}
