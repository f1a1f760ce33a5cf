package coordinator

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"caucus/coordinator/folder"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/protocol/admin"
	"caucus/protocol/pb"
	"caucus/study"
)

// backup copies a stopped coordinator's folder and head file, and returns a function that restores
// both.
func (w *world) backup() (putBack func()) {
	w.t.Helper()
	dir, copied := w.config.Dir, filepath.Join(w.t.TempDir(), "backup")
	must(0, os.CopyFS(copied, os.DirFS(dir)))
	head := must(os.ReadFile(w.config.HeadFile()))
	return func() {
		w.t.Helper()
		must(0, os.RemoveAll(dir))
		copyFolder(dir, copied)
		must(0, os.WriteFile(w.config.HeadFile(), head, 0o600))
	}
}

// alone lets start call for nobody, and returns the parties' clients.
func (w *world) alone() map[string]*admin.Client {
	parties := w.parties
	w.parties = nil
	w.t.Cleanup(func() {
		for _, c := range parties {
			c.Close()
		}
	})
	return parties
}

// show lists studies and shows any document that the caller wants.
func (w *world) show(id protocol.Identity, shown *pb.Shown) *pb.ListReply {
	w.t.Helper()
	for until := time.Now().Add(20 * time.Second); ; {
		reply, err := pb.NewStudiesClient(w.raw(id)).List(context.Background(),
			&pb.ListRequest{Shown: shown})
		if err == nil {
			return reply
		}
		if time.Now().After(until) {
			w.t.Fatal(err)
		}
	}
}

// lies are documents that prove nothing.
func lies(t *testing.T, w *world) map[string]*pb.Shown {
	far := privacy.Head{Sequence: 1 << 40, Hash: privacy.Digest{1}}
	stranger := must(protocol.NewSigner())
	own := must(protocol.LoadSigner(w.config.Path(folder.SignerFile)))
	foreign := protocol.SignedHead(far, stranger)
	made := protocol.SignedHead(far, own)
	made.Signature = slices.Clone(made.Signature)
	made.Signature[0] ^= 1
	renamed := protocol.SignedHead(far, own)
	out := map[string]*pb.Shown{
		"no signature":        {Kind: string(protocol.HeadDocument), Document: made.Document},
		"another signature":   {Kind: string(protocol.HeadDocument), Document: made.Document, Signature: made.Signature},
		"another coordinator": {Kind: string(protocol.HeadDocument), Document: foreign.Document, Signature: foreign.Signature},
		"as a receipt":        {Kind: string(protocol.ReceiptDocument), Document: renamed.Document, Signature: renamed.Signature},
		"no such kind":        {Kind: "caucus head 99", Document: renamed.Document, Signature: renamed.Signature},
		"signed nonsense":     {Kind: string(protocol.HeadDocument), Document: []byte("nonsense"), Signature: own.Sign(protocol.HeadDocument, []byte("nonsense"))},
		"a plan":              {Kind: string(protocol.PlanDocument), Document: []byte("{}"), Signature: own.Sign(protocol.PlanDocument, []byte("{}"))},
		"far too long":        {Kind: string(protocol.HeadDocument), Document: make([]byte, protocol.MaxShownBytes+1), Signature: made.Signature},
	}
	for what, s := range out {
		if _, err := protocol.ShownHeadFromProto(s).Head(own.Key()); err == nil {
			t.Fatalf("%s is no lie", what)
		}
	}
	return out
}

// TestWitnesses: folder and head file are restored to a state before a release. One of three
// parties lies. The poll of one honest party suffices: nothing more is released, also after another
// restart, until the lost entries are charged.
func TestWitnesses(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	liar := w.identity("p2") // small enrols p2 again
	s := w.small(3)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 3)))
	w.stop()
	putBack := w.backup()
	w.start()
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 3)))
	must(w.parties["p2"].Contribute(ctx, s.Hash, ballotFor(2, 3)))
	w.wait("trial", study.Released)
	r := must(w.operator.Release(ctx, "trial"))
	w.call() // each party has seen the ledger entry
	w.stop()

	putBack()
	parties := w.alone()
	w.start()
	for what, lie := range lies(t, w) {
		if reply := w.show(liar, lie); reply.Head == nil {
			t.Errorf("%s stops the coordinator", what)
		}
	}
	if n := testutil.ToFloat64(w.server.counts.BadWitnesses); n != float64(len(lies(t, w))) {
		t.Errorf("%v lies were counted", n)
	}
	must(parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 3)))
	must(parties["p2"].Contribute(ctx, s.Hash, ballotFor(2, 3)))
	if got := w.wait("trial", study.Summed); !slices.Equal(got.Awaited, []string{"p0", "p1"}) {
		t.Errorf("it waits for %v", got.Awaited)
	}
	if l := must(parties["p0"].Studies(ctx)); l.CoordinatorRestored == nil ||
		!strings.Contains(l.CoordinatorRestored.Error(), "put back") {
		t.Errorf("p0 is told %v", l.CoordinatorRestored)
	}
	must(parties["p1"].Studies(ctx)) // now the coordinator waits for nobody
	until := time.Now().Add(20 * time.Second)
	for !strings.Contains(w.log.String(), "study cannot move on") && time.Now().Before(until) {
		time.Sleep(5 * time.Millisecond)
	}
	if _, err := w.operator.Release(ctx, "trial"); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("a second release: %v", err)
	}
	if !strings.Contains(w.log.String(), "this coordinator was put back to an older state") {
		t.Error("the log does not say so")
	}
	w.stop()
	w.start() // it remembers the proof, though nobody has called yet
	if reply := w.show(liar, nil); reply.Head != nil {
		t.Error("it signs heads again after a restart")
	}
	w.stop()

	if _, err := folder.Reconcile(ctx, w.config.Dir, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "give the releases that they made") {
		t.Errorf("reconciling without saying what: %v", err)
	}
	if lost := must(folder.Reconcile(ctx, w.config.Dir, r.Release.Ledger, nil)); len(lost) != 1 {
		t.Errorf("charged again: %v", lost)
	}
	w.parties = parties
	w.start()
	w.wait("trial", study.Released)
	if totals :=
		must(w.server.scheduler.releaser.ledger.Totals(ctx)); totals[privacy.Party].Charges != 2 {
		t.Errorf("%d charges, want 2", totals[privacy.Party].Charges)
	}
	if l := must(parties["p0"].Studies(ctx)); l.CoordinatorRestored != nil {
		t.Errorf("after all that: %v", l.CoordinatorRestored)
	}
}

// TestLiarsDoNotFreeze: studies go on whatever a party invents.
func TestLiarsDoNotFreeze(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	liar := w.identity("p1")
	s := w.small(2)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, 2)))
	all := lies(t, w)
	for _, lie := range all {
		w.show(liar, lie)
	}
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, 2)))
	w.wait("trial", study.Released)
	if n := strings.Count(w.log.String(), "did not sign"); n != 1 {
		t.Errorf("%d lies are %d lines of the log", len(all), n)
	}
	// The coordinator's own signed heads, if they are in the chain, prove nothing either.
	w.call()
	old := protocol.SignedHead(privacy.Head{}, w.server.signer)
	now := protocol.SignedHead(w.server.scheduler.releaser.head.Current(), w.server.signer)
	for _, shown := range []protocol.ShownHead{old, now} {
		if reply := w.show(liar,
			&pb.Shown{Kind: string(shown.Kind), Document: shown.Document,
				Signature: shown.Signature}); reply.Head == nil {
			t.Error("a head of its own stops the coordinator")
		}
	}
}

// TestForkIsWitnessed: a restored coordinator went on before anyone who knew called. The lost
// entry's number now has another entry. The lost one is charged by its hash, so showing it again
// proves nothing new.
func TestForkIsWitnessed(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	w.enrol("p0")
	w.enrol("p1")
	// Two draws over 80 cells are the same with a probability below 2⁻⁴⁰: σ is
	// above 1, so no value has a probability above a half.
	const rows = 40
	pool := poolOf(rows)
	s := w.open(planOf(names(2), pool, w.clock.Now().Add(time.Hour)), pool)
	must(w.parties["p0"].Contribute(ctx, s.Hash, ballotFor(0, rows)))
	w.stop()
	putBack := w.backup()
	w.start()
	must(w.parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, rows)))
	w.wait("trial", study.Released)
	w.call()
	w.stop()
	putBack()
	parties := w.alone()
	w.start()
	must(parties["p1"].Contribute(ctx, s.Hash, ballotFor(1, rows)))
	w.wait("trial", study.Summed)
	// an operator wrongly believes that nothing was restored
	must(w.operator.WaiveAwaited(ctx, "trial"))
	w.wait("trial", study.Released)
	if l := must(parties["p0"].Studies(ctx)); l.CoordinatorRestored == nil {
		t.Error("another entry 1 is not noticed")
	}
	w.stop()
	if _, err := folder.Reconcile(ctx, w.config.Dir, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "1 entries were published") {
		t.Errorf("reconciling without a cost: %v", err)
	}
	cost := privacy.PureCost(privacy.Party, 0, big.NewRat(1, 2))
	if lost := must(folder.Reconcile(ctx, w.config.Dir, nil,
		[]privacy.Cost{cost})); len(lost) != 1 {
		t.Errorf("charged %v", lost)
	}
	if lost := must(folder.Reconcile(ctx, w.config.Dir, nil, nil)); lost != nil {
		t.Errorf("charged again %v", lost)
	}
	w.parties = parties
	w.start()
	if l := must(parties["p0"].Studies(ctx)); l.CoordinatorRestored != nil {
		t.Errorf("p0 shows it once more: %v", l.CoordinatorRestored)
	}
}

// TestReleaseWaits: after a start, a study is released when the wait is over and its contributors
// have called, or when an operator waives those that have not.
func TestReleaseWaits(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, nil)
	s := w.small(3)
	for i := range 2 {
		must(w.parties[fmt.Sprint("p", i)].Contribute(ctx, s.Hash, ballotFor(i, 3)))
	}
	w.stop()
	parties := w.alone()
	w.config.WitnessWait = 200 * time.Millisecond
	w.start()
	started := time.Now()
	must(parties["p2"].Studies(ctx))
	must(parties["p2"].Contribute(ctx, s.Hash, ballotFor(2, 3)))
	got := w.wait("trial", study.Summed)
	if !slices.Equal(got.Awaited, []string{"p0", "p1"}) {
		t.Errorf("it waits for %v", got.Awaited)
	}
	must(parties["p0"].Studies(ctx))
	for !strings.Contains(w.log.String(), "an operator waives them") {
		time.Sleep(5 * time.Millisecond)
	}
	if since := time.Since(started); since < 150*time.Millisecond {
		t.Errorf("the wait was over after %v", since)
	}
	if got := w.wait("trial", study.Summed); !slices.Equal(got.Awaited, []string{"p1"}) {
		t.Errorf("it waits for %v", got.Awaited)
	}
	if _, err := parties["p1"].WaiveAwaited(ctx, "trial"); !errors.Is(err, protocol.ErrDenied) {
		t.Errorf("a party waives: %v", err)
	}
	if got := must(w.operator.WaiveAwaited(ctx, "trial")); len(got.Awaited) != 0 {
		t.Errorf("after the waiver it waits for %v", got.Awaited)
	}
	w.wait("trial", study.Released)
	if _, err := w.operator.WaiveAwaited(ctx, "trial"); !errors.Is(err, protocol.ErrInvalid) {
		t.Errorf("waiving what is released: %v", err)
	}
	if text := w.log.String(); !strings.Contains(text, "as an operator says") || !strings.Contains(text, `"parties":["p1"]`) {
		t.Error("the log does not say who was waived")
	}
	if n := strings.Count(w.log.String(), "the release waits"); n < 1 || n > 2 {
		t.Errorf("the log says %d times that it waits: at most once until the wait is over, once for contributors", n)
	}
}

// TestHeadsAreSignedAfterTheCommit: at every effect of a study's life, no head is signed before its
// entry is durable and in the head file.
func TestHeadsAreSignedAfterTheCommit(t *testing.T) {
	ctx := context.Background()
	var w *world
	var seen []int64
	at := make(chan struct{}, 1)
	w = newWorld(t, func(c *folder.Config) {
		c.Checkpoint = func(effect string) {
			if w == nil || w.server == nil || effect != "before ledger" &&
				effect != "after ledger" && effect != "before life.ReleaseDone" &&
				effect != "after life.ReleaseDone" {
				return
			}
			at <- struct{}{}
			defer func() { <-at }()
			head := must(w.server.scheduler.releaser.witness.current().Head(w.server.keys))
			kept := must(privacy.ParseHead(string(must(os.ReadFile(c.HeadFile())))))
			if head != kept {
				t.Errorf("%s: %s is signed, %s is remembered", effect, head, kept)
			}
			seen = append(seen, head.Sequence)
		}
	})
	s := w.small(2)
	for i, p := range names(2) {
		must(w.parties[string(p)].Contribute(ctx, s.Hash, ballotFor(i, 2)))
	}
	w.wait("trial", study.Released)
	w.stop()
	if !slices.Equal(seen, []int64{0, 0, 1, 1}) {
		t.Errorf("heads signed before and after the ledger, and the release: %v", seen)
	}
}

// TestWitnessWhileReleasing: a document that a caller shows after the noise was drawn, while a
// release is being made, still stops the release.
func TestWitnessWhileReleasing(t *testing.T) {
	var w *world
	drawn := make(chan struct{})
	w = newWorld(t, func(c *folder.Config) {
		c.Checkpoint = func(effect string) {
			if effect != "after ledger" {
				return
			}
			select {
			case <-drawn:
			default:
				of := w.server.scheduler.releaser.witness
				of.mu.Lock()
				of.stop(errors.New("its ledger lacks it"), "p0")
				of.mu.Unlock()
				close(drawn)
			}
		}
	})
	s := w.small(2)
	for i := range 2 {
		must(w.parties[fmt.Sprint("p", i)].Contribute(context.Background(), s.Hash,
			ballotFor(i, 2)))
	}
	<-drawn
	time.Sleep(50 * time.Millisecond) // some ticks, in each of which the release could appear
	if got := w.wait("trial", study.Summed); got.State != study.Summed {
		t.Errorf("the study is %s", got.State)
	}
	if _, err := w.operator.Release(context.Background(), "trial"); err == nil {
		t.Error("it was released by a coordinator that was put back")
	}
}
