//go:build unix

package coordinator

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/internal/testserver"
	"caucus/protocol"
	"caucus/study"
)

// TestStudyKeysOfReplicasAlone: nobody but the holder of the present authority's key gets the keys
// of ballots, and that one gets nothing else. A coordinator over files has no such call.
func TestStudyKeysOfReplicasAlone(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	former := must(protocol.LoadAuthority(w.config.Path(folder.CAFile),
		w.config.Path(folder.CAKeyFile)))
	replica := func(a *protocol.Authority) *protocol.Client {
		id, _, err := a.IssueOwn(w.server.Addr(),
			protocol.Caller{Name: "replica",
				Role: protocol.RoleReplica}, w.server.signer.Key(), w.clock.Now())
		must(0, err)
		id.CA = w.server.authority.PEM()
		return must(protocol.Dial(id, protocol.DialOptions{Now: w.clock.Now}))
	}
	ask := func(c *protocol.Client) (keys int, err error) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		keys = -1
		err = c.StudyKeys(ctx, func(all map[study.Hash][]byte) { keys = len(all); stop() })
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
	must(folder.Move(ctx, w.config.Dir, w.config.Store))
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
	for who, c := range map[string]*protocol.Client{"a party": w.parties["p0"],
		"an operator": w.operator, "the thief of a former authority's key": stolen} {
		if keys, err := ask(c); keys >= 0 || !errors.Is(err, protocol.ErrDenied) {
			t.Errorf("%s gets %d keys: %v", who, keys, err)
		}
	}
	if strings.Contains(w.log.String(), "panic") {
		t.Error("a call panics")
	}
}

// TestLeadWithoutKeys: where any replica may lead, as after PostgreSQL was away, one that lacks
// keys leaves the lead to one that has them. If nobody has them, it leads after all and asks
// parties again.
func TestLeadWithoutKeys(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	s := w.small(2)
	w.stop()
	w.config.Store = testserver.Database(t)
	must(folder.Move(ctx, w.config.Dir, w.config.Store))
	w.start()
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	keys := w.server.ballotKeys
	w.stop()
	lacks := w.config
	lacks.Dir, lacks.Clock.Now = filepath.Join(t.TempDir(), "other"), nil
	copyFolder(lacks.Dir, w.config.Dir)
	led := make(chan *folder.Stores, 1)
	go func() { led <- must(Lead(ctx, lacks)) }()
	for until := time.Now().Add(10 * time.Second); !strings.Contains(w.log.String(),
		"leaves the lead to others"); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("a replica without keys leads at once")
		}
	}
	stores := must(folder.LeadStores(ctx, w.config, nil))
	stores.Store.Keys = keys
	if lost := must(stores.Store.Unreadable(ctx)); len(lost) > 0 {
		t.Error("the replica with the key finds a ballot that it cannot read")
	}
	must(0, stores.Close())
	stores = <-led
	defer stores.Close()
	must(0, stores.Store.View(ctx, func(tx records.Tx) error {
		if received, lost, err := tx.Contributions(s.Hash); received != 1 || lost != 1 ||
			err != nil {
			t.Errorf("of %d ballots, %d are asked for again: %v", received, lost, err)
		}
		return nil
	}))
}

// TestReplicaForgets: a replica that stands by holds the keys that the leader has, and forgets each
// that the leader has forgotten: the ballots of an ended study can be read by nobody.
func TestReplicaForgets(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	w := newWorld(t, nil)
	s := w.small(2)
	w.stop()
	w.config.Store = testserver.Database(t)
	must(folder.Move(ctx, w.config.Dir, w.config.Store))
	w.start()
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	standing := w.config
	standing.Address, standing.Clock.Elapsed = w.server.Addr(), nil
	f := newFollower(standing)
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
