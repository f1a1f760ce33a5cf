//go:build unix

package database

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"caucus/internal/testserver"
)

// TestEndSilent: a leader's session is ended only if PostgreSQL has heard nothing from it, and only
// if its epoch is not older than the given one. Then the next leader leads at once, even if the
// former one is in the middle of a transaction, which is never committed.
func TestEndSilent(t *testing.T) {
	t.Cleanup(func() { idle = 5 * time.Second }) // after the leases' own
	at, lead, open := led(t)
	first, _ := lead("first")
	watcher := NewObserver(at)
	defer watcher.Close()
	stranger := must(sql.Open("pgx", at+"&application_name=psql"))
	defer stranger.Close()
	stranger.SetMaxOpenConns(1)
	must(stranger.Exec("SET statement_timeout = '1min'"))
	for range 20 { // it says something each second
		if ended := must(watcher.EndSilentLeader(ctx, first.Epoch(), 20*time.Second)); ended {
			t.Fatal("a living leader was ended")
		}
		time.Sleep(50 * time.Millisecond)
	}
	idle = time.Minute // from here on as silent as a paused one
	first.Release()
	// One that holds the lock and waits for the epoch's row is about to lead.
	waits := must(stranger.Begin())
	must(waits.Exec("SELECT epoch FROM caucus.lease FOR SHARE"))
	candidate := make(chan *Lease, 1)
	go func() {
		l, err := acquire(ctx, at, "old", true, true)
		if err != nil {
			t.Errorf("the candidate was ended: %v", err)
		}
		candidate <- l
	}()
	for waiting, until := 0, time.Now().Add(time.Minute); waiting == 0; {
		if time.Now().After(until) {
			t.Fatal("no candidate waits")
		}
		time.Sleep(10 * time.Millisecond)
		must(0, watcher.ask(ctx, &waiting, `SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'UPDATE%'
			AND wait_event_type = 'Lock' AND datname = current_database()
			AND clock_timestamp() - state_change > interval '300ms'`))
	}
	if must(watcher.EndSilentLeader(ctx, first.Epoch(), 200*time.Millisecond)) {
		t.Error("a candidate was ended")
	}
	must(0, waits.Rollback())
	old := <-candidate
	if old == nil {
		t.FailNow()
	}
	d := open(old)
	must(0, d.Update(ctx, add("1")))
	conn := must(d.Write.Conn(ctx))
	defer conn.Close()
	must(conn.ExecContext(ctx, "BEGIN; SELECT epoch FROM caucus.lease FOR SHARE"))
	time.Sleep(500 * time.Millisecond)
	if must(watcher.EndSilentLeader(ctx, old.Epoch()+1, 200*time.Millisecond)) {
		t.Fatal("the leader under an earlier epoch was ended")
	}
	if must(watcher.EndSilentLeader(ctx, old.Epoch(), time.Minute)) {
		t.Fatal("it was not silent for a minute")
	}
	// Nobody has heard of its epoch, because it stopped at once.
	if !must(watcher.EndSilentLeader(ctx, old.Epoch()-1, 200*time.Millisecond)) {
		t.Fatal("a silent leader was not ended")
	}
	soon, stop := context.WithTimeout(ctx, 30*time.Second) // less than the time after which a silent session is ended
	defer stop()
	next, err := AcquireLease(soon, at, "next", true, func(error) {})
	if err != nil {
		t.Fatalf("the next one waits: %v", err)
	}
	second := open(next)
	if _, err := conn.ExecContext(ctx, "COMMIT"); err == nil {
		t.Error("the transaction of before was committed")
	}
	if err := d.Update(ctx, add("2")); err == nil {
		t.Error("the leader of before writes")
	}
	if got := notesIn(second); len(got) != 1 {
		t.Errorf("there are %q", got)
	}
	var kept string
	must(0, stranger.QueryRow("SHOW statement_timeout").Scan(&kept))
	if kept != "1min" {
		t.Error("the session of another program was ended")
	}
}

// TestIdentity: each database has its own identity, and a promoted standby gets another one. An
// account without further rights may read it.
func TestIdentity(t *testing.T) {
	server := testserver.Postgres(t)
	identity := func(at string) string {
		o := NewObserver(at)
		defer o.Close()
		return must(o.Identity(ctx))
	}
	plain := identity(server.DSN)
	if !regexp.MustCompile(`^\d{15,}/0000000[0-9A-F]/caucus$`).MatchString(plain) {
		t.Errorf("identity %s", plain)
	}
	pair := testserver.NewPair(t)
	before := identity(pair.Addresses())
	pair.Primary.Kill()
	pair.Promote()
	after := before
	for until := time.Now().Add(time.Minute); after == before &&
		time.Now().Before(until); time.Sleep(50 * time.Millisecond) {
		o := NewObserver(pair.Addresses())
		if id, err := o.Identity(ctx); err == nil {
			after = id
		}
		o.Close()
	}
	system, _, _ := strings.Cut(before, "/")
	if after == before || !strings.HasPrefix(after, system+"/") ||
		strings.HasPrefix(plain, system) {
		t.Errorf("identities %s, promoted %s, another server %s", before, after, plain)
	}
}

// TestPooler: a lease over a pooler of connections is refused. Poolers hand out sessions of their
// own, so PostgreSQL's process has another number than they tell their clients.
func TestPooler(t *testing.T) {
	at := testserver.Database(t)
	_, socket, _ := strings.Cut(at, "host=")
	pooler := must(net.Listen("unix", filepath.Join(t.TempDir(), ".s.PGSQL.5432")))
	defer pooler.Close()
	go func() {
		for {
			client, err := pooler.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("unix", filepath.Join(socket, ".s.PGSQL.5432"))
			if err != nil {
				return
			}
			go func() { io.Copy(server, client); server.Close() }()
			go func() {
				defer client.Close()
				for text := make([]byte, 64<<10); ; {
					n, err := server.Read(text)
					if err != nil {
						return
					}
					if i := bytes.Index(text[:n], []byte("K\x00\x00\x00\x0c")); i >= 0 {
						text[i+8] ^= 1 // of the number of the process
					}
					client.Write(text[:n])
				}
			}()
		}
	}()
	through := strings.Replace(at, socket, filepath.Dir(pooler.Addr().String()), 1)
	if _, err := AcquireLease(ctx, through, "one", true, func(error) {}); !errors.Is(err,
		errPooler) {
		t.Errorf("over a pooler: %v", err)
	}
}

// TestGivenName: sessions have this process's name first, so that an Observer finds all of them,
// and then the name that the address gives them.
func TestGivenName(t *testing.T) {
	for given, want := range map[string]string{
		"": process, "?application_name=ward": process + " ward",
	} {
		c := must(settings("postgres://caucus@db.example.org/caucus" + given))
		if got := c.RuntimeParams["application_name"]; got != want {
			t.Errorf("%q: %q, not %q", given, got, want)
		}
	}
}
