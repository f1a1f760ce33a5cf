package coordinator

import (
	"context"
	"errors"
	"path/filepath"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/protocol"
	"caucus/study"
)

// damagedWorld has a sealed study of three parties. One bit of p0's stored ballot is flipped.
// receipt is p0's.
func damagedWorld(t *testing.T) (w *world, s protocol.Study, receipt protocol.Receipt) {
	t.Helper()
	ctx := context.Background()
	w = newWorld(t, nil)
	s = w.small(3)
	receipt = must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 3)))
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 3)))
	w.flip("p0")
	must(w.parties["p2"].Contribute(ctx, s.Hash, ballotFor(2, 3)))
	w.until("stored contributions are damaged")
	return w, s, receipt
}

// flip flips one bit in a party's stored ballot, as a faulty disk might.
func (w *world) flip(party string) {
	w.t.Helper()
	db := w.server.store.(*records.SQL).DB.Write
	var body []byte
	must(0, db.QueryRow("SELECT body FROM contributions WHERE party = $1", party).Scan(&body))
	body[len(body)-1] ^= 1
	must(db.Exec("UPDATE contributions SET body = $1 WHERE party = $2", body, party))
}

// until waits until the log contains a text.
func (w *world) until(text string) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); !strings.Contains(w.log.String(), text); {
		if time.Now().After(end) {
			w.t.Fatalf("the log does not say %q:\n%s", text, w.log)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// TestWaitingIsIdle: while a sealed study waits for lost bytes, it is checked once a tick. Earlier
// it was checked again at once, which took a whole processor and 30,000 goroutines a second, and a
// cancellation failed whenever it met a check.
func TestWaitingIsIdle(t *testing.T) {
	w, s, _ := damagedWorld(t)
	started := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	count := func() uint64 { metrics.Read(started); return started[0].Value.Uint64() }
	before := count()
	time.Sleep(time.Second)
	// A tick of 5 ms gives 200 checks a second, each with a few goroutines.
	if n := count() - before; n > 5000 {
		t.Errorf("%d goroutines in a second of waiting", n)
	}
	if _, err := w.operator.CancelStudy(context.Background(), s.Hash.String(),
		"the disk is lost"); err != nil {
		t.Errorf("cancel while it waits: %v", err)
	}
}

// TestDamagedBallot: a flipped bit in a stored ballot does not fail a study for which all parties
// were charged. The ballot's party is asked for the same bytes, and for no others.
func TestDamagedBallot(t *testing.T) {
	ctx := context.Background()
	w, s, receipt := damagedWorld(t)
	for name, want := range map[string]bool{"p0": true, "p1": false, "p2": false} {
		if l := must(w.parties[name].Studies(ctx)); l.Studies[0].CallerLost != want ||
			!l.Studies[0].CallerContributed {
			t.Errorf("%s is told lost %v, mine %v", name, l.Studies[0].CallerLost,
				l.Studies[0].CallerContributed)
		}
	}
	if _, err := w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(1, 3)); !errors.Is(err,
		study.ErrDifferentUpload) {
		t.Errorf("other bytes: %v", err)
	}
	w.stop()
	w.start() // the store remembers the damage
	if got := w.wait("trial", study.Sealed); got.State != study.Sealed {
		t.Errorf("it is %s", got.State)
	}
	again := must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 3)))
	if string(again.Document) != string(receipt.Document) ||
		string(again.Signature) != string(receipt.Signature) {
		t.Error("the same bytes got another receipt")
	}
	w.wait("trial", study.Released)
	r := must(w.operator.Release(ctx, "trial")).Release
	w.stop()
	agree(t, w.config.Dir, s.Plan, poolOf(3),
		[][]byte{ballotFor(0, 3), ballotFor(1, 3), ballotFor(2, 3)}, r)
}

// TestRepairDeadline: if nobody sends lost bytes again until the repair deadline, the study goes on
// without them. It is sealed, or it fails below its minimum without a charge at the coordinator.
func TestRepairDeadline(t *testing.T) {
	ctx := context.Background()
	w, s, _ := damagedWorld(t)
	w.clock.add(w.config.RepairWait - time.Minute)
	if got := w.wait("trial", study.Sealed); got.Contributed != 3 {
		t.Errorf("before the deadline %d have contributed", got.Contributed)
	}
	w.clock.add(2 * time.Minute)
	got := w.wait("trial", study.Released)
	if !slices.Equal(got.ContributedBy, []string{"p1", "p2"}) ||
		!slices.Equal(got.Missing, []string{"p0"}) {
		t.Errorf("contributed %v, missing %v", got.ContributedBy, got.Missing)
	}
	r := must(w.operator.Release(ctx, "trial")).Release
	if r.Parties != 2 || !slices.Equal(r.Missing, []study.PartyID{"p0"}) {
		t.Errorf("a release of %d parties without %v", r.Parties, r.Missing)
	}
	if _, err := w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 3)); !errors.Is(err,
		study.ErrNotOpen) {
		t.Errorf("brought after the release: %v", err)
	}
	w.stop()
	agree(t, w.config.Dir, s.Plan, poolOf(3), [][]byte{ballotFor(1, 3), ballotFor(2, 3)}, r)

	w = newWorld(t, nil)
	s = w.small(2)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	w.flip("p0")
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 2)))
	w.until("stored contributions are damaged")
	w.clock.add(w.config.RepairWait)
	if got := w.wait("trial", study.Failed); !strings.Contains(got.Reason, "minimum 2, have 1") {
		t.Errorf("it failed: %s", got.Reason)
	}
	if totals :=
		must(w.server.scheduler.releaser.ledger.Totals(ctx)); totals[s.Plan.Unit].Charges != 0 {
		t.Errorf("%d charges", totals[s.Plan.Unit].Charges)
	}
}

// TestNotSealedAnewAfterALedgerEntry: only the store was restored to a state before a release, and
// one of its ballots is damaged. The ledger holds the answer for all three parties, and is never
// asked for two of them.
func TestNotSealedAnewAfterALedgerEntry(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	s := w.small(3)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 3)))
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 3)))
	w.stop()
	store := filepath.Join(w.config.Dir, folder.StoreFile)
	before := readFiles(t, store)
	w.start()
	must(w.parties["p2"].Contribute(ctx, s.Hash, ballotFor(2, 3)))
	w.wait("trial", study.Released)
	first := must(w.operator.Release(ctx, "trial")).Release
	w.stop()
	writeFiles(t, before)
	w.start()
	w.flip("p0")
	must(w.parties["p2"].Contribute(ctx, s.Hash, ballotFor(2, 3)))
	w.until("stored contributions are damaged")
	w.clock.add(w.config.RepairWait + time.Hour)
	w.until("it is not sealed without them")
	if got := w.wait("trial", study.Sealed); got.Contributed != 3 {
		t.Errorf("%d have contributed", got.Contributed)
	}
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 3)))
	w.wait("trial", study.Released)
	r := must(w.operator.Release(ctx, "trial")).Release
	if len(r.Ledger) != 1 || r.Ledger[0].Hash != first.Ledger[0].Hash {
		t.Error("the ledger drew again")
	}
	w.stop()
	agree(t, w.config.Dir, s.Plan, poolOf(3),
		[][]byte{ballotFor(0, 3), ballotFor(1, 3), ballotFor(2, 3)}, r)
}

// TestDamagedSum: a sum with changed bytes is not released, and fails no study. All contributors
// are asked for the same bytes again. This holds before the ledger is asked, and also after a kill
// that followed the ledger's answer.
func TestDamagedSum(t *testing.T) {
	ctx := context.Background()
	for _, drawn := range []bool{false, true} {
		w := newWorld(t, func(c *folder.Config) { c.WitnessWait = 24 * time.Hour })
		s := w.small(2)
		for i, p := range names(2) {
			must(w.parties[string(p)].Contribute(ctx, s.Hash, ballotFor(i, 2)))
		}
		w.wait("trial", study.Summed)
		w.stop()
		store := filepath.Join(w.config.Dir, folder.StoreFile)
		folded := readFiles(t, store)
		w.config.WitnessWait = 0
		if drawn {
			w.start()
			w.wait("trial", study.Released)
			w.stop()
			writeFiles(t, folded)
		}
		db := must(records.Open(store))
		var sum []byte
		must(0, db.DB.Write.QueryRow("SELECT sum FROM sums").Scan(&sum))
		sum[len(sum)-1] ^= 1
		must(db.DB.Write.Exec("UPDATE sums SET sum = $1", sum))
		must(0, db.Close())
		w.start()
		w.until("a stored sum is damaged")
		w.wait("trial", study.Sealed)
		if !drawn {
			w.stop()
			w.start() // the store remembers the damage
		}
		for i, p := range names(2) {
			if l := must(w.parties[string(p)].Studies(ctx)); !l.Studies[0].CallerLost {
				t.Errorf("%s is not asked for its bytes", p)
			}
			must(w.parties[string(p)].Contribute(ctx, s.Hash, ballotFor(i, 2)))
		}
		w.wait("trial", study.Released)
		r := must(w.operator.Release(ctx, "trial")).Release
		w.stop()
		agree(t, w.config.Dir, s.Plan, poolOf(2), [][]byte{ballotFor(0, 2), ballotFor(1, 2)}, r)
	}
}

// TestDamagedSumUnderAWrongClock: a coordinator starts with a clock that is two days behind, and
// finds a sum damaged. The repair deadline counts from the moment when the clock is right again.
func TestDamagedSumUnderAWrongClock(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, func(c *folder.Config) { c.WitnessWait = 24 * time.Hour })
	s := w.small(2)
	for i, p := range names(2) {
		must(w.parties[string(p)].Contribute(ctx, s.Hash, ballotFor(i, 2)))
	}
	w.wait("trial", study.Summed)
	w.stop()
	w.config.WitnessWait = 0
	db := must(records.Open(filepath.Join(w.config.Dir, folder.StoreFile)))
	must(db.DB.Write.Exec("UPDATE sums SET sum = sum || 'x'"))
	must(0, db.Close())
	w.clock.jump(-25 * time.Hour) // certificates are valid for clocks that are two days behind
	w.start()
	time.Sleep(50 * time.Millisecond) // some ticks
	w.clock.jump(25 * time.Hour)
	must(w.operator.Clock(ctx, true))
	w.until("a stored sum is damaged")
	for i, p := range names(2) {
		if _, err := w.parties[string(p)].Contribute(ctx, s.Hash, ballotFor(i, 2)); err != nil {
			t.Fatalf("%s brings its bytes again: %v", p, err)
		}
	}
	w.wait("trial", study.Released)
}
