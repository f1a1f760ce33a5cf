//go:build unix

package coordinator

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"caucus/coordinator/cluster"
	"caucus/coordinator/folder"
	"caucus/internal/database"
	"caucus/internal/testlevel"
	"caucus/internal/testserver"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/study"
)

// soon waits for a condition, with a generous limit for busy machines.
func soon(t testing.TB, what string, is func() bool) {
	t.Helper()
	for until := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// free returns a free address on this machine.
func free() string { return "127.0.0.1:" + must(testlevel.FreePort()) }

// knowsOthers changes a world's coordinator into a replica over PostgreSQL that others can join.
func knowsOthers(c *folder.Config) { c.Replicas.Listen = free() }

// sibling is the configuration of another replica of a world's coordinator, which joins the first.
// It has its own folder, head file and addresses.
func sibling(t *testing.T, w *world) folder.Config {
	c := w.config
	c.Stores = nil
	c.Dir = filepath.Join(t.TempDir(), "sibling")
	copyFolder(c.Dir, w.config.Dir)
	c.Head = filepath.Join(t.TempDir(), "head")
	must(0, os.WriteFile(c.Head, must(os.ReadFile(w.config.HeadFile())), 0o600))
	c.Listen, c.Metrics = free(), free()
	c.Replicas = cluster.Endpoints{Listen: free(), Join: []string{w.config.Replicas.Listen}}
	return c
}

// standBy makes a replica wait for the lead. stop ends the wait. If the replica leads, led receives
// its databases.
func standBy(t *testing.T, c folder.Config) (led <-chan *folder.Stores, stop func()) {
	ctx, end := context.WithCancel(context.Background())
	got, done := make(chan *folder.Stores, 1), make(chan bool)
	go func() {
		defer close(done)
		stores, err := WaitToLead(ctx, c)
		if err != nil && ctx.Err() == nil {
			t.Errorf("stand by: %v", err)
		}
		if err == nil {
			got <- stores
		}
	}()
	stop = func() { end(); <-done }
	t.Cleanup(func() {
		stop()
		select {
		case stores := <-got: // the test has not received them
			stores.Close()
		default:
		}
	})
	return got, stop
}

// dialsBoth connects p0, p1 and the operator to both the leader and another replica.
func dialsBoth(w *world, other folder.Config) {
	both := w.server.Addr() + "," + other.Listen
	for _, name := range []string{"p0", "p1"} {
		text, _, err := w.operator.Invite(context.Background(), admin.InviteOptions{Name: name})
		must(0, err)
		id := must(protocol.Enrol(context.Background(), must(protocol.ParseInvitation(text)),
			must(protocol.NewEnrolment()), protocol.DialOptions{Now: w.clock.Now}))
		w.parties[name].Close()
		w.parties[name] = must(admin.Dial(id,
			protocol.DialOptions{Coordinator: both, Now: w.clock.Now}))
	}
	w.operator.Close()
	w.operator = must(admin.Dial(must(protocol.LoadIdentity(w.config.Path(folder.OperatorFile))),
		protocol.DialOptions{Coordinator: both, Now: w.clock.Now}))
	w.call()
}

// heardBy asks the replica at an address which members it knows.
func heardBy(w *world, at string) []cluster.Member {
	_, client, err := cluster.TLS(must(folder.LoadKeyring(w.config)).Authority, "asks", w.clock.Now)
	must(0, err)
	all, _ := cluster.QueryMembers(context.Background(), client, at)
	return all
}

func get(t *testing.T, url string) string {
	answer, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	return string(must(io.ReadAll(answer.Body)))
}

// TestCluster: replicas know each other. A standby names the leader, has its keys, and keeps the
// head of its ledger at once. Agents learn the address of each new replica, by lists with growing
// numbers. When the leader ends, another replica leads with the same keys, ledger and addresses.
func TestCluster(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorldIn(t, testserver.Database, knowsOthers)
	s := w.small(2)
	second := sibling(t, w)
	dialsBoth(w, second)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	led, _ := standBy(t, second)
	soon(t, "the second names the leader", func() bool {
		return strings.Contains(get(t, "http://"+second.Metrics+"/readyz"),
			w.config.Listen+" leads, under epoch 1")
	})
	soon(t, "the second has the keys and says so", func() bool {
		return slices.ContainsFunc(heardBy(w, w.config.Replicas.Listen),
			func(m cluster.Member) bool {
				return m.Address == second.Listen && m.Keys == 1 && m.Alive
			})
	})
	if text := get(t, "http://"+second.Metrics+"/metrics"); !strings.Contains(text, `caucus_replicas{state="alive"} 2`) || !strings.Contains(text, "caucus_leads 0") {
		t.Errorf("the metrics of the second:\n%s", text)
	}
	var before protocol.Addresses
	knows := func(all ...string) {
		t.Helper()
		slices.Sort(all)
		var now protocol.Addresses
		soon(t, "agents learn the addresses", func() bool {
			now = must(w.parties["p0"].Studies(ctx)).Addresses
			return now.List == strings.Join(all, ",")
		})
		if now.Number <= before.Number {
			t.Errorf("list %+v after %+v", now, before)
		}
		before = now
	}
	knows(w.config.Listen, second.Listen)
	third := sibling(t, w)
	third.Replicas.Join = []string{second.Replicas.Listen}
	_, stop := standBy(t, third)
	knows(w.config.Listen, second.Listen, third.Listen)
	stop()
	soon(t, "the third went", func() bool {
		return slices.ContainsFunc(heardBy(w, w.config.Replicas.Listen),
			func(m cluster.Member) bool {
				return m.Address == third.Listen && !m.Alive
			})
	})
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 2)))
	w.wait("trial", study.Released)
	soon(t, "the second keeps the head", func() bool {
		kept := must(privacy.ParseHead(string(must(os.ReadFile(second.Head)))))
		return kept == w.server.scheduler.releaser.head.Current() && kept.Sequence == 1
	})

	// The leader ends in the middle of the next study.
	pool := poolOf(2)
	plan := planOf(names(2), pool, w.clock.Now().Add(time.Hour))
	plan.Name = "second"
	next := w.open(plan, pool)
	must(w.parties["p0"].Contribute(ctx, next.Hash, ballotFor(0, 2)))
	soon(t, "the second has the next key", func() bool {
		return slices.ContainsFunc(heardBy(w, second.Replicas.Listen), func(m cluster.Member) bool {
			return m.Address == second.Listen && m.Keys == 1
		})
	})
	first := w.config
	w.stop()
	second.Stores = <-led
	w.config = second
	w.start()
	knows(first.Listen, second.Listen, third.Listen)
	if s := must(w.parties["p0"].Study(ctx, "second")); s.Contributed != 1 || s.CallerLost {
		t.Errorf("of the next study it has %d contributions; lost: %t", s.Contributed, s.CallerLost)
	}
	must(w.parties["p1"].Contribute(ctx, next.Hash, ballotFor(1, 2)))
	w.call()
	w.wait("second", study.Released)
}

// TestTwoDatabases: a copy of a coordinator's database is promoted separately and has a leader of
// its own. As soon as the two leaders hear of each other, neither releases anything. When one is
// gone, the other goes on.
func TestTwoDatabases(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorldIn(t, testserver.Database, knowsOthers)
	s := w.small(2)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	// A second PostgreSQL database, with another leader under the same authority.
	_, client, err := cluster.TLS(w.server.authority, "copy", w.clock.Now)
	must(0, err)
	server, _, err := cluster.TLS(w.server.authority, "copy", w.clock.Now)
	must(0, err)
	other, err := cluster.Open(cluster.Config{
		Name: "copy", Endpoints: cluster.Endpoints{Listen: "127.0.0.1:0", Join: []string{w.config.Replicas.Listen}}, Server: server, Client: client, Log: w.config.Log,
	}, cluster.State{Address: "copy.example.org:1", Database: "1/1/copy", IsLeader: true, Epoch: 1})
	must(0, err)
	soon(t, "the leader hears of its rival", func() bool { return rival(w.server.cluster) != nil })
	if _, found := other.View().RivalLeader(); !found {
		soon(t, "the rival hears of the leader", func() bool {
			_, found := other.View().RivalLeader()
			return found
		})
	}
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 2)))
	w.call()
	w.wait("trial", study.Sealed, study.Summed)
	time.Sleep(time.Second) // two hundred ticks, each of which would release
	if now := must(w.operator.Study(ctx, "trial")); now.State == study.Released {
		t.Error("released beside a leader over another database")
	}
	if n := must(privacy.Verify(ctx,
		w.server.scheduler.releaser.journal))[privacy.Party].Charges; n != 0 {
		t.Errorf("%d charges", n)
	}
	if err := (watching{w.server}).Health().RivalLeader; err == nil ||
		!strings.Contains(err.Error(), "copy.example.org:1") {
		t.Errorf("readyz says %v", err)
	}
	if a := must(w.parties["p0"].Studies(ctx)).Addresses; strings.Contains(a.List, "copy") {
		t.Errorf("agents learn %s", a.List)
	}
	must(0, other.Close())
	w.wait("trial", study.Released)
}

// TestPromotedApart: PostgreSQL's standby is promoted while the primary still runs, and each has a
// leader. Both hold all ballots of a study. As soon as the leaders hear of each other, neither
// charges or publishes anything. When one is gone, the other publishes, once.
func TestPromotedApart(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	pair := testserver.NewPair(t)
	w := newWorldIn(t, func(testing.TB) string { return pair.Address() }, knowsOthers)
	s := w.small(2)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	var ids []protocol.Identity // for callers that know both leaders
	for _, p := range names(2) {
		text, _, err := w.operator.Invite(ctx, admin.InviteOptions{Name: string(p)})
		must(0, err)
		ids = append(ids, must(protocol.Enrol(ctx, must(protocol.ParseInvitation(text)),
			must(protocol.NewEnrolment()), protocol.DialOptions{Now: w.clock.Now})))
		w.parties[string(p)].Close()
		w.parties[string(p)] = w.dial(ids[len(ids)-1])
	}
	pair.Do("ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")
	pair.Promote()
	apart := sibling(t, w)
	apart.Store = strings.Replace(pair.Address(), "port=5432", "port=5433", 1)
	copied := must(sql.Open("pgx", apart.Store))
	defer copied.Close()
	soon(t, "the standby is promoted", func() bool {
		recovers := true
		return copied.QueryRow("SELECT pg_is_in_recovery()").Scan(&recovers) == nil && !recovers
	})
	led, _ := standBy(t, apart)
	apart.Stores = <-led
	both := time.Now()
	other := must(New(apart))
	runs, end := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- other.Run(runs) }()
	stop := sync.OnceFunc(func() { end(); must(0, <-done) })
	defer stop()
	soon(t, "both hear of each other", func() bool {
		return rival(w.server.cluster) != nil && rival(other.cluster) != nil
	})
	t.Logf("both stopped %v after the second led", time.Since(both).Round(time.Millisecond))
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 2)))
	w.call()
	w.wait("trial", study.Sealed, study.Summed)
	operator := must(admin.Dial(must(protocol.LoadIdentity(w.config.Path(folder.OperatorFile))),
		protocol.DialOptions{Coordinator: other.Addr(), Now: w.clock.Now}))
	defer operator.Close()
	for i, id := range ids {
		c := must(admin.Dial(id,
			protocol.DialOptions{Coordinator: other.Addr(), Now: w.clock.Now}))
		defer c.Close()
		must(c.Studies(ctx))
		must(c.Contribute(ctx, s.Hash, ballotFor(i, 2)))
	}
	soon(t, "the copy has all too", func() bool {
		now := must(operator.Study(ctx, "trial"))
		return now.Contributed == 2 && (now.State == study.Sealed || now.State == study.Summed)
	})
	time.Sleep(time.Second) // two hundred ticks, each of which would release
	charges := func(s *Server) int64 {
		return must(privacy.Verify(ctx, s.scheduler.releaser.journal))[privacy.Party].Charges
	}
	for where, c := range map[string]*admin.Client{"the primary": w.operator,
		"the copy": operator} {
		if now := must(c.Study(ctx, "trial")); now.State == study.Released {
			t.Errorf("released at %s", where)
		}
	}
	if n := charges(w.server) + charges(other); n != 0 {
		t.Errorf("%d charges", n)
	}
	stop()
	w.wait("trial", study.Released)
	if n := charges(w.server); n != 1 {
		t.Errorf("%d charges", n)
	}
}

// TestNewerWaits: a replica whose program would migrate the store waits while an older replica is
// alive, even if it holds the lease. When the older one is gone, the newer one leads. If the store
// is migrated already, the newer one leads beside an older one, because the older one cannot.
func TestNewerWaits(t *testing.T) {
	t.Parallel()
	w := newWorldIn(t, testserver.Database, knowsOthers)
	o := database.NewObserver(w.config.Store)
	defer o.Close()
	database := must(o.Identity(context.Background()))
	joins := func(name string, at ...string) *cluster.Cluster {
		server, client, err := cluster.TLS(w.server.authority, name, w.clock.Now)
		must(0, err)
		older, err := cluster.Open(cluster.Config{Name: name,
			Endpoints: cluster.Endpoints{Listen: "127.0.0.1:0", Join: at}, Server: server,
			Client: client, Log: w.config.Log}, cluster.State{Address: "older.example.org:1",
			Database: database, Schemas: []int{1, 1, 1}})
		must(0, err)
		t.Cleanup(func() { older.Close() })
		return older
	}
	db := must(sql.Open("pgx", w.config.Store))
	defer db.Close()
	older := joins("older", w.config.Replicas.Listen)
	newer := sibling(t, w)
	newer.Replicas.Join = []string{older.View().Own.GossipAddress}
	led, _ := standBy(t, newer)
	soon(t, "all see all", func() bool { return len(older.View().Members) == 3 })
	must(db.Exec("UPDATE caucus_store.version SET number = number - 1"))
	w.stop()
	soon(t, "the newer one waits and says so", func() bool {
		return strings.Contains(w.log.String(), "does not lead yet") &&
			strings.Contains(get(t, "http://"+newer.Metrics+"/readyz"),
				"older.example.org:1 is older")
	})
	select {
	case <-led:
		t.Fatal("it leads")
	default:
	}
	must(db.Exec("UPDATE caucus_store.version SET number = number + 1"))
	must(0, older.Close())
	stores := <-led
	must(0, stores.Close())
	w.stop = func() {}

	third := sibling(t, w)
	third.Replicas.Join = []string{joins("older again").View().Own.GossipAddress}
	led, _ = standBy(t, third)
	stores = <-led
	defer stores.Close()
	if _, found := stores.Cluster.View().OlderProgram(); !found {
		t.Error("it heard of no older one, so the test proves nothing")
	}
}

// TestUnseen: a replica that cannot find out from PostgreSQL which database it uses does not lead,
// because an older replica could be over the same database. Once it knows the database, it leads.
func TestUnseen(t *testing.T) {
	t.Parallel()
	w := newWorldIn(t, testserver.Database, knowsOthers)
	db := must(sql.Open("pgx", w.config.Store))
	defer db.Close()
	must(db.Exec(`CREATE SCHEMA hidden;
		CREATE FUNCTION hidden.pg_control_system(OUT system_identifier bigint) LANGUAGE sql
		AS 'SELECT 1 / 0::bigint'`))
	blind := sibling(t, w)
	blind.Store += "&search_path=hidden,pg_catalog"
	led, _ := standBy(t, blind)
	w.stop()
	soon(t, "it waits and says so", func() bool {
		return strings.Contains(w.log.String(), "does not lead yet")
	})
	select {
	case <-led:
		t.Fatal("it leads")
	default:
	}
	must(db.Exec("DROP SCHEMA hidden CASCADE"))
	stores := <-led
	must(0, stores.Close())
	w.stop = func() {}
}

// TestHolders: a leader without the keys of ballots asks another replica that holds them, and asks
// no party to send a ballot again.
func TestHolders(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorldIn(t, testserver.Database, knowsOthers)
	s := w.small(2)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	holder := sibling(t, w)
	_, _ = standBy(t, holder)
	soon(t, "the second holds the key", func() bool {
		return slices.ContainsFunc(heardBy(w, holder.Replicas.Listen), func(m cluster.Member) bool {
			return m.Address == holder.Listen && m.Keys == 1
		})
	})
	// The leader ends and starts again without its memory. If the replica with the keys leads by
	// then, no key has to be asked for.
	w.stop()
	late := sibling(t, w)
	late.Replicas.Join = []string{holder.Replicas.Listen}
	f := newFollower(late)
	must(0, f.meet())
	defer f.cluster.Close()
	soon(t, "it hears of a holder", func() bool { return len(f.cluster.View().Members) > 1 })
	stores := must(folder.OpenStores(late))
	defer stores.Close()
	stores.Store.Keys = f.keys
	o := database.NewObserver(late.Store)
	defer o.Close()
	must(0, f.identify(ctx, o, time.Minute))
	lacks := must(stores.Store.UndecryptableStudies(ctx))
	if len(lacks) == 0 {
		t.Fatal("it lacks nothing, so the test proves nothing")
	}
	// This replica's key is not the study's: another leader made a new key while this one was cut
	// off.
	f.keys.Adopt(lacks, map[study.Hash][]byte{lacks[0]: make([]byte, 32)})
	if len(must(stores.Store.UndecryptableStudies(ctx))) != len(lacks) {
		t.Fatal("it reads a ballot under another key")
	}
	soon(t, "it gets the key", func() bool {
		must(0, f.askHolders(ctx, stores.Store))
		return len(must(stores.Store.UndecryptableStudies(ctx))) == 0
	})
	w.stop = func() {}
}

// TestSilence: the time after which a silent leader is ended doubles with each takeover in the last
// minute, up to PostgreSQL's own time.
func TestSilence(t *testing.T) {
	var seen takeovers
	for i, step := range []struct {
		epoch int64
		at    time.Duration
		want  time.Duration
	}{
		{0, 0, 2 * time.Second}, {7, 0, 2 * time.Second}, // the first takeover that it hears of
		{7, 9 * time.Second, 2 * time.Second}, {8, 10 * time.Second, 4 * time.Second}, {8, 69 * time.Second, 4 * time.Second},
		{8, 70 * time.Second, 2 * time.Second}, {9, 80 * time.Second, 4 * time.Second}, {10, 85 * time.Second, 5 * time.Second},
		{11, 86 * time.Second, 5 * time.Second}, {11, 142 * time.Second, 5 * time.Second}, {11, 145 * time.Second, 4 * time.Second}, {11, 150 * time.Second, 2 * time.Second},
	} {
		if got := seen.silence(step.epoch, step.at); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}

// TestAddressNumbers: the numbers of address lists grow within an epoch and from epoch to epoch. A
// list that did not change keeps its number. An identity accepts no older list.
func TestAddressNumbers(t *testing.T) {
	signer := must(protocol.NewSigner())
	b := &addressBook{signer: signer, fixed: "a:1", first: 3000}
	one, _, _ := b.current()
	same, _, _ := b.current()
	changed := make(chan struct{})
	close(changed)
	b.fixed, b.changed = "b:1", changed
	if other, _, _ := b.current(); one != same || one.Number != 3000 || other.Number != 3001 {
		t.Errorf("numbers %d, %d, %d", one.Number, same.Number, other.Number)
	}
	if files, plain, numbered := (&addressBook{signer: signer,
		fixed: "a:1,b:1"}).current(); files.Number != 0 || plain == nil || numbered != nil {
		t.Errorf("over files: %+v", files)
	}
	id := protocol.Identity{Coordinator: "a:1,b:1"}
	for i, step := range []struct {
		a     protocol.Addresses
		takes bool
	}{
		{protocol.Addresses{Number: 0, List: "a:1"}, true}, {protocol.Addresses{Number: 5, List: "a:1,c:1"}, true},
		{protocol.Addresses{Number: 4, List: "a:1,b:1"}, false}, {protocol.Addresses{Number: 0, List: "a:1,b:1"}, false},
		{protocol.Addresses{Number: 6, List: "c:1"}, true}, {protocol.Addresses{Number: 7, List: "d:1"}, false},
	} {
		next, news := id.WithKeys(protocol.Keys{}, step.a)
		if news != step.takes {
			t.Errorf("step %d: %+v is news: %t", i, step.a, news)
		}
		id = next
	}
	if got := fmt.Sprint(id.Coordinator, id.AddressesNumber); got != "c:16" {
		t.Errorf("at the end %s", got)
	}
}
