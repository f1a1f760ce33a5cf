//go:build unix

package coordinator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/cluster"
	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/database"
	"caucus/internal/testserver"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/server"
	"caucus/study"
)

// TestStudyKeysOfReplicasAlone: only the holder of the present authority's key gets the keys of
// ballots, and gets nothing else. A coordinator over files does not have this call.
func TestStudyKeysOfReplicasAlone(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	former := must(server.LoadAuthority(w.config.Path(folder.CAFile),
		w.config.Path(folder.CAKeyFile)))
	replica := func(a *server.Authority) *admin.Client {
		id, _, err := a.IssueFirstOperator(w.server.Addr(),
			protocol.Caller{Name: "replica",
				Role: protocol.RoleReplica}, w.server.signer.Key(), w.clock.Now())
		must(0, err)
		id.CA = w.server.authority.PEM()
		return must(admin.Dial(id, protocol.DialOptions{Now: w.clock.Now}))
	}
	ask := func(c *admin.Client) (keys int, err error) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		keys = -1
		err = server.StudyKeys(ctx, c.Client, func(all map[study.Hash][]byte) {
			keys = len(all)
			stop()
		})
		return keys, err
	}
	over := replica(former)
	if keys, err := ask(over); keys >= 0 || !errors.Is(err, protocol.ErrInvalid) {
		t.Errorf("over files: %d keys, %v", keys, err)
	}
	over.Close()
	w.small(2)
	w.stop()
	w.config.Store = testserver.Database(t)
	must(folder.MoveToPostgreSQL(ctx, w.config.Dir, w.config.Store))
	must(folder.Rotate(w.config.Dir, w.clock.Now()))
	w.start()
	must(w.parties["p0"].Contribute(ctx, must(w.operator.Study(ctx, "trial")).Hash,
		ballotFor(0, 2)))
	present := replica(w.server.authority)
	defer present.Close()
	if keys, err := ask(present); keys != 1 {
		t.Errorf("a replica gets %d keys: %v", keys, err)
	}
	if _, err := present.Studies(ctx); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("a replica lists studies: %v", err)
	}
	if _, err := present.Members(ctx); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("a replica lists members: %v", err)
	}
	stolen := replica(former)
	defer stolen.Close()
	for who, c := range map[string]*admin.Client{"a party": w.parties["p0"],
		"an operator": w.operator, "the thief of a former authority's key": stolen} {
		if keys, err := ask(c); keys >= 0 || !errors.Is(err, protocol.ErrDenied) {
			t.Errorf("%s gets %d keys: %v", who, keys, err)
		}
	}
	if strings.Contains(w.log.String(), "panic") {
		t.Error("a call panics")
	}
}

// TestLeadWithoutKeys: if no replica has the keys of ballots, one leads nevertheless and asks the
// parties again. A coordinator that knows no others does the same.
func TestLeadWithoutKeys(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*folder.Config){"a replica": knowsOthers,
		"no others": nil} {
		t.Run(name, func(t *testing.T) { leadsWithoutKeys(t, change) })
	}
}

func leadsWithoutKeys(t *testing.T, change func(*folder.Config)) {
	ctx := context.Background()
	w := newWorldIn(t, testserver.Database, change)
	s := w.small(2)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	keys := w.server.ballotKeys
	w.stop()
	w.stop = func() {}
	stores := must(folder.OpenStoresAsLeader(ctx, w.config, nil))
	stores.Store.Keys = keys
	if lost := must(stores.Store.UndecryptableStudies(ctx)); len(lost) > 0 {
		t.Error("who has the key finds a ballot that it cannot read")
	}
	must(0, stores.Close())
	several := w.config
	several.Replicas, several.Address = cluster.Endpoints{}, "a.example.org:1,b.example.org:1"
	if _, err := WaitToLead(ctx, several); !errors.Is(err, errAlone) {
		t.Errorf("a list of all replicas: %v", err)
	}
	stores = must(WaitToLead(ctx, w.config))
	defer stores.Close()
	must(0, stores.Store.View(ctx, func(tx records.Tx) error {
		if received, lost, err := tx.Contributions(s.Hash); received != 1 || lost != 1 ||
			err != nil {
			t.Errorf("of %d ballots, %d are asked for again: %v", received, lost, err)
		}
		return nil
	}))
}

// TestReplicaForgets: a standby holds the leader's keys and forgets each that the leader has
// forgotten, so nobody can read the ballots of a study that is over.
func TestReplicaForgets(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorldIn(t, testserver.Database, knowsOthers)
	s := w.small(2)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	standing := sibling(t, w)
	standing.Clock.Elapsed = nil
	f := newFollower(standing)
	must(0, f.meet())
	defer f.cluster.Close()
	o := database.NewObserver(standing.Store)
	defer o.Close()
	must(0, f.identify(ctx, o, time.Minute))
	defer f.follow(ctx)()
	held := func(want int) {
		t.Helper()
		for until := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
			keys, _ := f.keys.All()
			if len(keys) == want {
				return
			}
			if time.Now().After(until) {
				t.Fatalf("the replica holds %d keys, the leader %d", len(keys), want)
			}
		}
	}
	held(1)
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 2)))
	w.wait("trial", study.Released)
	held(0)
}
