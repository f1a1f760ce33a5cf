//go:build unix

package coordinator

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/database"
	"caucus/internal/testlevel"
	"caucus/internal/testserver"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// TestMove: a coordinator is moved to PostgreSQL in the middle of a study. It keeps everything,
// works only there from then on, and does not use its old files again.
func TestMove(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	first := w.small(3)
	for i, p := range names(3) {
		must(w.parties[string(p)].Contribute(ctx, first.Hash, ballotFor(i, 3)))
	}
	w.wait("trial", study.Released)
	released := must(w.parties["p0"].Release(ctx, "trial"))
	pool := poolOf(3)
	plan := planOf(names(3), pool, w.clock.Now().Add(time.Hour))
	plan.Name = "second"
	second := w.open(plan, pool)
	for i := range 2 {
		must(w.parties[string(names(3)[i])].Contribute(ctx, second.Hash, ballotFor(i, 3)))
	}
	members := func() []admin.Member {
		all := must(w.operator.Members(ctx))
		for i := range all {
			all[i].LastCall = time.Time{}
		}
		return all
	}
	before := members()
	w.stop()
	to := testserver.Database(t)
	if n := must(folder.MoveToPostgreSQL(ctx, w.config.Dir, to)); n < 10 {
		t.Errorf("%d rows", n)
	}
	must(folder.MoveToPostgreSQL(ctx, w.config.Dir, to)) // again, as after a kill
	if _, err := folder.MoveToPostgreSQL(ctx, w.config.Dir, testserver.Database(t)); err == nil {
		t.Error("it was moved a second time")
	}
	w.config.Store = must(folder.LoadConfig(filepath.Join(w.config.Dir, folder.ConfigFile))).Store
	w.start()
	if after := members(); !reflect.DeepEqual(after, before) {
		t.Errorf("members %v, before %v", after, before)
	}
	if again := must(w.parties["p0"].Release(ctx, "trial")); !bytes.Equal(again.Document,
		released.Document) {
		t.Error("the release of before is another")
	}
	must(w.parties["p2"].Contribute(ctx, second.Hash, ballotFor(2, 3)))
	if s := must(w.operator.Study(ctx, "second")); s.State == study.Released {
		t.Error("released with ballots that PostgreSQL would have had in clear")
	}
	for i := range 2 { // the coordinator asks for the contributions again
		if _, err := w.parties[string(names(3)[i])].Contribute(ctx, second.Hash,
			ballotFor(2, 3)); !errors.Is(err, study.ErrDifferentUpload) {
			t.Errorf("other bytes: %v", err)
		}
		must(w.parties[string(names(3)[i])].Contribute(ctx, second.Hash, ballotFor(i, 3)))
	}
	w.wait("second", study.Released)
	if r := must(w.parties["p0"].Release(ctx, "second")); r.Release.Parties != 3 {
		t.Errorf("a release of %d parties", r.Release.Parties)
	}
	stores := must(folder.OpenStores(w.config))
	if n := must(privacy.Verify(ctx, stores.Journal))[privacy.Party].Charges; n != 2 {
		t.Errorf("%d charges of two studies", n)
	}
	must(0, stores.Close())
	must(0, os.WriteFile(filepath.Join(w.config.Dir, folder.LedgerFile), nil, 0o600))
	if _, err := folder.OpenStores(w.config); err == nil ||
		!strings.Contains(err.Error(), "in the folder too") {
		t.Errorf("a ledger in a file and one in PostgreSQL: %v", err)
	}
}

// TestPostgres runs tests of a coordinator's promises again, with PostgreSQL in place of files. The
// long test runs many. The remaining tests fill, damage or restore SQLite's files. With PostgreSQL,
// disk and backups are its operator's duty.
func TestPostgres(t *testing.T) {
	store = testserver.Database
	t.Cleanup(func() { store = nil }) // after all subtests, also parallel ones
	all := map[string]func(*testing.T){
		"Closed": TestClosed, "Reopened": TestReopened, "GroupCommit": TestGroupCommit, "GroupRevoked": TestGroupRevoked, "GroupNotPersisted": TestGroupNotPersisted,
		"BelowMinimum": TestBelowMinimum, "Budget": TestBudget, "Carried": TestCarried, "HelperForgets": TestHelperForgets, "GracefulStop": TestGracefulStop,
	}
	if testlevel.Long() {
		maps.Copy(all, map[string]func(*testing.T){
			"Kill": TestKill, "KillKept": TestKillKept, "PoolResumesAfterKill": TestPoolResumesAfterKill, "TokenKilled": TestTokenKilled,
			"TornUploads": TestTornUploads, "NothingInTheLog": TestNothingInTheLog, "Limits": TestLimits, "RevokedInTheStore": TestRevokedInTheStore,
			"GroupRefuses": TestGroupRefuses, "GroupSameParty": TestGroupSameParty, "GroupPanics": TestGroupPanics, "Kept": TestKept,
			"SealedByRule": TestSealedByRule, "RepairDeadline": TestRepairDeadline, "ClockAfterAStop": TestClockAfterAStop, "Rotate": TestRotate,
		})
	}
	for name, test := range all {
		t.Run(name, test)
	}
}

// TestReplicas: one of two replicas leads, and the other says so. When the leader ends, the other
// one leads and reads the stored ballots. Callers that know both addresses call it.
func TestReplicas(t *testing.T) {
	ctx := context.Background()
	w := newWorldIn(t, testserver.Database, knowsOthers)
	other := sibling(t, w)
	took := make(chan error, 1)
	go func() {
		var err error
		other.Stores, err = WaitToLead(ctx, other)
		took <- err
	}()
	s := w.small(2)
	for until := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		answer, err := http.Get("http://" + other.Metrics + "/readyz")
		if err == nil {
			body := must(io.ReadAll(answer.Body))
			answer.Body.Close()
			if answer.StatusCode != 503 || !strings.Contains(string(body), "leads") {
				t.Errorf("a standby is %s: %s", answer.Status, body)
			}
			break
		}
		if time.Now().After(until) {
			t.Fatal(err)
		}
	}
	metrics := must(http.Get("http://" + other.Metrics + "/metrics"))
	if body := must(io.ReadAll(metrics.Body)); !strings.Contains(string(body),
		"caucus_standing_by 1") {
		t.Errorf("the metrics of a standby: %s", body)
	}
	metrics.Body.Close()
	both := must(admin.Dial(must(protocol.LoadIdentity(filepath.Join(w.config.Dir,
		folder.OperatorFile))),
		protocol.DialOptions{Coordinator: w.server.Addr() + "," + other.Listen}))
	defer both.Close()
	must(both.Members(ctx))
	var parties []*admin.Client // they know both addresses
	for _, name := range []string{"p0", "p1"} {
		w.parties[name].Close()
		delete(w.parties, name)
		text, _, err := w.operator.Invite(ctx, admin.InviteOptions{Name: name})
		must(0, err)
		id := must(protocol.Enrol(ctx, must(protocol.ParseInvitation(text)),
			must(protocol.NewEnrolment()), protocol.DialOptions{Now: w.clock.Now}))
		id.Coordinator = w.server.Addr() + "," + other.Listen
		c := must(admin.Dial(id, protocol.DialOptions{Now: w.clock.Now}))
		defer c.Close()
		parties, w.parties[name] = append(parties, c), c
	}
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	for until := time.Now().Add(10 * time.Second); !strings.Contains(w.log.String(), `"msg":"the leader sent its keys of ballots","studies":1`); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the leader sends no key")
		}
	}
	select {
	case err := <-took:
		t.Fatalf("two lead: %v", err)
	default:
	}
	w.stop()
	must(0, <-took)
	w.config = other
	w.start()
	var again protocol.Study
	for until, err := time.Now().Add(10*time.Second),
		errors.New(""); err != nil; time.Sleep(20 * time.Millisecond) {
		if again, err = both.Study(ctx, "trial"); err != nil && time.Now().After(until) {
			t.Fatal(err)
		}
	}
	if again.Contributed != 1 || again.State != study.Open {
		t.Errorf("the other replica has %d contributions of a study that is %s", again.Contributed, again.State)
	}
	w.call()
	must(parties[1].Contribute(ctx, s.Hash, ballotFor(1, 2)))
	for until := time.Now().Add(10 * time.Second); must(both.Study(ctx,
		"trial")).State != study.Released; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("it is not released")
		}
	}
	if keys, _ := w.server.ballotKeys.All(); len(keys) > 0 {
		t.Errorf("%d keys are left after the release", len(keys))
	}
}

// TestOldLeader: a coordinator that does not know of a new leader, as after a pause, commits
// nothing to its store, its ledger or its shares.
func TestOldLeader(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newSharedWorld(t, 3, nil)
	s := w.opened()
	w.stop()
	w.config.Store = testserver.Database(t)
	must(folder.MoveToPostgreSQL(ctx, w.config.Dir, w.config.Store))
	old := must(New(w.config)) // none of its goroutines run, so it notices nothing
	defer old.Close()
	db := must(sql.Open("pgx", w.config.Store))
	defer db.Close()
	// the session of its lock
	must(db.Exec("SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted"))
	next := must(database.AcquireLease(ctx, w.config.Store, "next", true, func(error) {}))
	defer next.Release()
	var text string
	must(0, db.QueryRow(`SELECT string_agg(format('SELECT %L, t::text FROM %I.%I AS t', tablename, schemaname, tablename), ' UNION ALL ') || ' ORDER BY 1, 2'
		FROM pg_tables WHERE schemaname LIKE 'caucus\_%'`).Scan(&text))
	rows := func() (all []string) {
		some := must(db.Query(text))
		defer some.Close()
		for some.Next() {
			var table, row string
			must(0, some.Scan(&table, &row))
			all = append(all, table+row)
		}
		return all
	}
	before := rows()
	for what, write := range map[string]func() error{
		"store": func() error {
			return old.store.Update(ctx, func(tx records.Tx) error {
				return tx.AddMember("late", protocol.RoleParty)
			})
		},
		"ledger": func() error {
			return old.scheduler.releaser.journal.Update(ctx, func(tx privacy.Tx) error {
				return tx.Append(privacy.Entry{Sequence: 1, ID: "late", Totals: []byte{}})
			})
		},
		"shares": func() error { return old.sharing.server.Cancel(ctx, s.Hash, "late") },
	} {
		if err := write(); !errors.Is(err, database.ErrLeaseLost) {
			t.Errorf("%s: %v", what, err)
		}
		if after := rows(); !slices.Equal(after, before) {
			t.Errorf("%s: it had %d rows and has %d", what, len(before), len(after))
			before = after
		}
	}
}

// BenchmarkLoadPostgres is BenchmarkLoad with PostgreSQL and a synchronous standby. Each commit
// waits for both disks.
//
//	go test ./coordinator -run '^$' -bench LoadPostgres -benchtime 5x
func BenchmarkLoadPostgres(b *testing.B) {
	b.Setenv("TMPDIR", "/var/tmp") // on a disk, not in memory
	pair := testserver.NewPair(b, "fsync=on")
	store = func(testing.TB) string { return pair.Address() }
	defer func() { store = nil }()
	load(b)
}
