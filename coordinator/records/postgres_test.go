//go:build unix

package records

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"caucus/internal/database"
	"caucus/internal/testserver"
	"caucus/protocol"
	"caucus/study"
)

// onServer makes a store in PostgreSQL.
func onServer(t *testing.T, at string) *SQL {
	path := filepath.Join(t.TempDir(), "store")
	must(0, must(Create(path)).Close())
	must(database.CopyToServer(context.Background(), at,
		database.StoreFile{SQLite: File, Path: path}))
	return must(Open(at))
}

// TestStoresPostgres: the same suite over PostgreSQL.
func TestStoresPostgres(t *testing.T) {
	suite(t, func(t *testing.T) Store { return onServer(t, testserver.Database(t)) })
}

// TestCallerGoesAwayPostgres is TestCallerGoesAway over PostgreSQL.
func TestCallerGoesAwayPostgres(t *testing.T) { goesAway(t, onServer(t, testserver.Database(t))) }

// TestStoreRefusesPostgres: a database without a store is none, a second one is not made over the
// first, and a newer one is refused.
func TestStoreRefusesPostgres(t *testing.T) {
	at := testserver.Database(t)
	if _, err := Open(at); err == nil || !strings.Contains(err.Error(), "coordinator move brings") {
		t.Errorf("no store: %v", err)
	}
	s := onServer(t, at)
	if _, err := database.CopyToServer(context.Background(), at); err == nil {
		t.Error("a second store was made")
	}
	must(s.DB.Write.Exec("UPDATE version SET number = 99"))
	s.Close()
	if _, err := Open(at); err == nil || !strings.Contains(err.Error(), "newer program") {
		t.Errorf("a newer store: %v", err)
	}
}

// TestSealed: no table of PostgreSQL has a ballot or a sum in clear where the noise is added here,
// and the key is gone once the study is over; with noise at the sites both are as they were sent.
func TestSealed(t *testing.T) {
	ctx := context.Background()
	s := onServer(t, testserver.Database(t))
	defer s.Close()
	h := study.Hash{1}
	clear := []byte("a ballot in clear, which nobody else may read")
	update(t, s, func(tx Tx) error { // its plan cannot be read, so it counts as one with noise here
		must(0, tx.AddStudy(Study{Hash: h, Name: "s", Plan: []byte("plan"), Signature: []byte{},
			State: study.Sealed}))
		for _, p := range []study.PartyID{"a", "b"} {
			must(0, tx.AddContribution(protocol.Receipt{Plan: h, Party: p, Document: []byte{},
				Signature: []byte{}}, clear))
		}
		return nil
	})
	update(t, s, func(tx Tx) error {
		some := must(tx.UnsummedContributions(h, "", 1))
		if len(some) != 1 || !bytes.Equal(some[0].Body, clear) ||
			!bytes.Equal(must(tx.Body(h, "b")), clear) {
			t.Errorf("it reads %q", some)
		}
		return tx.SetSum(h, clear, 1, some)
	})
	stored := func() (all []byte) {
		must(0, s.DB.Read.QueryRow("SELECT coalesce(string_agg(x, ''), '') FROM (SELECT body AS x FROM contributions UNION ALL SELECT sum FROM sums) AS t").Scan(&all))
		return all
	}
	if all := stored(); len(all) < 2*len(clear) || bytes.Contains(all, clear[:8]) {
		t.Errorf("PostgreSQL has %q", all)
	}
	next := must(Open(s.path)) // the next leader, to which the last one sent its keys
	defer next.Close()
	sent, changed := s.Keys.All()
	next.Keys.Replace(sent)
	if asked := must(next.RequestBallotsAgain(ctx, time.Now())); len(asked) != 0 {
		t.Errorf("with the key, %v is asked for again", asked)
	}
	view(t, next, func(tx Tx) {
		if sum, n, err := tx.Sum(h); !bytes.Equal(must(tx.Body(h, "b")), clear) ||
			!bytes.Equal(sum, clear) || n != 1 || err != nil {
			t.Errorf("with the key, the sum is %q of %d (%v)", sum, n, err)
		}
	})
	other := must(Open(s.path))
	defer other.Close()
	other.Keys.Replace(map[study.Hash][]byte{h: make([]byte, 32)}) // of an earlier leader
	view(t, other, func(tx Tx) {
		if bytes.Equal(must(tx.Body(h, "b")), clear) {
			t.Error("another process reads a ballot")
		}
	})
	if asked := must(other.RequestBallotsAgain(ctx, time.Now())); len(asked) != 1 ||
		len(stored()) != 0 {
		t.Errorf("asked for %v again, and %d bytes are left", asked, len(stored()))
	}
	view(t, s, func(tx Tx) {
		if lost := must(tx.Lost(h)); len(lost) != 2 {
			t.Errorf("%d are lost", len(lost))
		}
	})
	update(t, s, func(tx Tx) error {
		must(0, tx.Restore(h, "a", clear))
		return tx.SetState(h, study.Sealed, study.Failed, "")
	})
	if keys, _ := s.Keys.All(); len(keys) != 0 {
		t.Error("the key outlives the study")
	}
	select {
	case <-changed:
	default:
		t.Error("replicas are not told that the key is gone")
	}
	if err := s.Update(ctx, func(tx Tx) error {
		return tx.AddContribution(protocol.Receipt{Plan: h, Party: "c", Document: []byte{},
			Signature: []byte{}}, clear)
	}); err == nil {
		t.Error("a ballot of a study that is over is stored")
	}
	view(t, s, func(tx Tx) { must(tx.(*sqlTx).opened(h, clear)) })
	if keys, _ := s.Keys.All(); len(keys) != 0 {
		t.Error("a study that is over gets a new key")
	}
	next.Keys.Replace(sent)
	must(next.RequestBallotsAgain(ctx, time.Now()))
	if keys, _ := next.Keys.All(); len(keys) != 0 {
		t.Error("the next leader keeps the key of a study that is over")
	}
}
