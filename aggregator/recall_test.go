package aggregator

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"

	"caucus/aggregation/shares"
	"caucus/aggregator/uploading"
	"caucus/privacy"
	"caucus/privacy/journal"
	"caucus/protocol"
	"caucus/protocol/server"
	"caucus/study"
)

// machineOf copies all files of a server, head file included; the result restores them.
func (w *world) machineOf(r shares.Role) func() {
	files, head := w.copyOf(r), must(os.ReadFile(w.head(int(r))))
	return func() {
		w.back(r, files, "shares.db", "ledger.db")
		must(0, os.WriteFile(w.head(int(r)), head, 0o600))
		must(0, w.start(r))
	}
}

// proposes has the helper accept a plan from a lying coordinator, whose half is n.
func (w *world) proposes(task study.Task, n byte) (key shares.Key) {
	ctx, h, helper := w.t.Context(), task.Hash(), w.servers[shares.Helper]
	own := must(protocol.SignJSON(w.signers[0], protocol.AcceptanceDocument,
		Acceptance{Plan: h, Role: "coordinator", Terms: must(study.TermsDigest(task)),
			Commitment: commitment(h, 0, half{n})}))
	accepted := must(helper.Accept(ctx, h, own))
	must(helper.Reveal(ctx, h, half{n},
		must(protocol.SignJSON(w.signers[0], protocol.RevealDocument,
			Reveal{h, accepted.Digest()}))))
	return helper.key(h, must(recordOf(helper, h)))
}

// drawn returns the helper's release of uploads as a lying coordinator can get it: each party's
// part for the coordinator is unchanged.
func (w *world) drawn(task study.Task, key shares.Key,
	uploads map[study.PartyID][]byte) (accepted int, share Signed, err error) {
	ctx, h, helper := w.t.Context(), task.Hash(), w.servers[shares.Helper]
	f := shares.BallotForm(task.Pool().Rows(), 2, 1)
	var offers []uploading.PrepareRequest
	for _, p := range task.Plan().Roster {
		u := must(uploading.Parse(must(bodiesOf(task)), uploads[p]))
		offers = append(offers, u.PrepareRequest(p,
			must(f.Prepare(key, shares.NewProofContext(h, string(p)), 0,
				u.CoordinatorPart)).Message()))
	}
	for _, a := range must(helper.Prepare(ctx, h, offers)) {
		if a.Accepted {
			accepted++
		}
	}
	set := must(helper.setOf(ctx, h, must(recordOf(helper, h))))
	if _, err := helper.Seal(ctx, h,
		must(protocol.SignJSON(w.signers[0], protocol.SetDocument, set))); err != nil {
		return accepted, Signed{}, err
	}
	share, err = helper.Share(ctx, h)
	return accepted, share, err
}

func (w *world) uploadsOf(task study.Task) map[study.PartyID][]byte {
	all := map[study.PartyID][]byte{}
	for i, p := range task.Plan().Roster {
		all[p] = uploadOf(task, p, votes(task, i, false), 1, w.under(task))
	}
	return all
}

// TestSnapshotBeforeAcceptance: a helper whose machine is restored eight times to before it
// accepted a study, head file included, opens no old upload: each acceptance differs, and shares
// sealed under an earlier one stay closed.
func TestSnapshotBeforeAcceptance(t *testing.T) {
	task := taskOf(3, 2)
	w := newWorld(t, task)
	restore := w.machineOf(shares.Helper)
	key := w.proposes(task, 1)
	uploads := w.uploadsOf(task)
	if n, share, err := w.drawn(task, key, uploads); n != 3 || share.Document == nil {
		t.Fatalf("the first time %d are accepted: %v", n, err)
	}
	for n := range byte(8) {
		restore()
		key := w.proposes(task, 1+n) // the first half again, and different ones
		if accepted, share, err := w.drawn(task, key, uploads); accepted != 0 ||
			share.Document != nil || !errors.Is(err, study.ErrTooFew) {
			t.Errorf("put back %d times: %d uploads of before are accepted, %v", n+1, accepted, err)
		}
		if w.charges(shares.Helper) != 0 {
			t.Error("it drew noise")
		}
	}
}

// TestSnapshotAfterAcceptance: a helper that was restored to a state between acceptance and release
// draws again, which nothing here prevents. But each share names its step and ledger line, so two
// such shares contradict each other for anybody who has both. If the helper is shown a share that
// it lacks, it answers nothing until it is reconciled, which charges that share by its line.
func TestSnapshotAfterAcceptance(t *testing.T) {
	ctx := t.Context()
	task, next := taskOf(3, 2), taskOf(4, 2)
	w, h := newWorld(t, task, next), task.Hash()
	w.opened(h)
	uploads := w.uploadsOf(task)
	for p, data := range uploads {
		must(0, w.servers[0].Receive(ctx, h, p, data))
	}
	must(w.servers[0].Advance(ctx, h, link{w}))
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	restore := w.machineOf(shares.Helper)
	w.said = said{}
	must(w.servers[0].Advance(ctx, h, link{w}))
	first := must(recordOf(w.servers[1], h)).Share
	released := must(w.servers[0].Released(ctx, h))
	release := study.Release{Manifest: study.Manifest{PlanHash: h}}
	for _, p := range released.Published {
		release.Published = append(release.Published, must(p.MarshalBinary()))
	}
	by := released.Document([2]protocol.SignerKey{w.signers[0].Key(), w.signers[1].Key()})
	release.Aggregated = &by
	lines := []protocol.HelperRelease{lineOf(t, release)}
	if by.HelperLine == nil || by.Step < 1 {
		t.Fatal("the release names no step and no line of the helper's")
	}
	must(0, protocol.CheckHelperReleases(lines))

	for range 8 {
		restore()
		helper := w.servers[shares.Helper]
		seal := must(recordOf(w.servers[0], h)).Set
		must(helper.Seal(ctx, h, seal))
		second := must(helper.Share(ctx, h)) // nothing here can prevent this
		var said AggregateShare
		must(0, protocol.ReadSigned(second, w.signers[1].Key(), protocol.ShareDocument, &said))
		again := release
		other := by
		other.HelperLine, other.Step, other.Shares[1] = said.Line, said.Step, second.Signature
		again.Aggregated, again.Published = &other, [][]byte{release.Published[0], said.Published}
		if lines = append(lines, lineOf(t, again)); protocol.CheckHelperReleases(lines) == nil {
			t.Error("two releases of one study by one helper do not contradict each other")
		}
		if err := helper.Recall(ctx, second); err != nil {
			t.Errorf("its own share: %v", err)
		}
	}

	// The honest coordinator shows its share before every request.
	if _, err := w.servers[0].OpenStudy(ctx, next.Hash(), link{w}); !errors.Is(err, ErrBehind) {
		t.Fatalf("a helper that drew twice goes on: %v", err)
	}
	w.stop(shares.Helper)
	must(0, w.start(shares.Helper))
	if _, err := w.servers[1].Share(ctx, h); !errors.Is(err, ErrBehind) {
		t.Errorf("after a restart it goes on: %v", err)
	}
	w.sealing = must(server.NewSealingKey())
	w.stop(shares.Helper)
	must(0, w.start(shares.Helper))
	must(0, w.servers[1].Reconcile(ctx))
	unknown, shown, err := w.servers[1].LostEntries(ctx)
	if err != nil || unknown != 0 || len(shown) != 1 {
		t.Fatalf("it lacks %d entries that nobody showed and %d that were: %v", unknown, len(shown), err)
	}
	before := must(w.servers[1].ledger.Totals(ctx))
	must(0, w.servers[1].ReconcileLedger(ctx, nil, shown))
	if after := must(w.servers[1].ledger.Totals(ctx)); after[privacy.Party].Epsilon(1e-6) <=
		before[privacy.Party].Epsilon(1e-6) {
		t.Error("the share that was lost is not charged")
	}
	for range 2 { // shown the same share again, it answers
		if _, err := w.servers[0].OpenStudy(ctx, next.Hash(), link{w}); err != nil {
			t.Errorf("reconciled: %v", err)
		}
	}
	// Documents with other signatures prove nothing.
	forged := Signed{Document: first.Document,
		Signature: w.signers[0].Sign(protocol.ShareDocument, first.Document)}
	if err := w.servers[1].Recall(ctx, forged); !errors.Is(err, protocol.ErrDamaged) ||
		w.servers[1].IsRestored() {
		t.Errorf("a share that the coordinator signed: %v", err)
	}
	own := must(recordOf(w.servers[0], h)).Share
	if bytes.Equal(own.Document, first.Document) || w.servers[1].Recall(ctx, own) == nil {
		t.Error("the coordinator's own share is taken for the helper's")
	}
}

func lineOf(t *testing.T, r study.Release) protocol.HelperRelease {
	t.Helper()
	l, ok := protocol.HelperReleaseOf(r)
	if !ok {
		t.Fatal("the helper did not sign its share")
	}
	return l
}

// releases carries a study to its release.
func (w *world) releases(task study.Task) {
	w.t.Helper()
	ctx, h := w.t.Context(), task.Hash()
	w.opened(h)
	for p, data := range w.uploadsOf(task) {
		must(0, w.servers[0].Receive(ctx, h, p, data))
	}
	must(0, w.servers[0].CloseStudy(ctx, h, nil))
	must(w.servers[0].Advance(ctx, h, link{w}))
}

// TestShownWhileBehind: a restored helper accepts shares that the coordinator shows, although it
// answers nothing else, also if its head file was lost. Reconciling charges each lost release by
// its own line, and nothing else. If an operator states too low a cost, this is found once the
// share is shown.
func TestShownWhileBehind(t *testing.T) {
	for name, headLost := range map[string]bool{"a newer head file": false, "no head file": true} {
		for _, typed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", typed: ", typed), func(t *testing.T) {
				ctx := t.Context()
				first, second, next := taskOf(3, 2), taskOf(4, 2), taskOf(5, 2)
				w := newWorld(t, first, second, next)
				before := w.copyOf(shares.Helper)
				w.releases(first)
				w.releases(second)
				want := must(w.servers[1].ledger.Totals(ctx))[privacy.Party].Epsilon(1e-6)
				w.back(shares.Helper, before, "shares.db", "ledger.db")
				if headLost {
					must(0, os.Remove(w.head(1)))
					if err := w.start(shares.Helper); !errors.Is(err, errNoHead) {
						t.Fatalf("without its head file: %v", err)
					}
					j := must(journal.OpenSQLite(w.path(1, "ledger.db")))
					w.ledgers[1] = j
					must(0, RewriteHead(ctx, w.config(shares.Helper), 0))
					must(0, j.Close())
				}
				must(0, w.start(shares.Helper))
				if !w.servers[1].IsRestored() {
					t.Error("before anybody shows anything it answers")
				}
				reconcile := func(lost []privacy.Cost, wantShown int) {
					t.Helper()
					w.sealing = must(server.NewSealingKey())
					w.stop(shares.Helper)
					must(0, w.start(shares.Helper))
					must(0, w.servers[1].Reconcile(ctx))
					unknown, shown, err := w.servers[1].LostEntries(ctx)
					if err != nil || int(unknown) > len(lost) || len(shown) != wantShown {
						t.Fatalf("%d entries are unknown and %d shown: %v", unknown, len(shown),
							err)
					}
					must(0, w.servers[1].ReconcileLedger(ctx, lost, shown))
				}
				probe := func() error {
					for range 2 { // the second time nothing is stored again
						if err := w.servers[0].Probe(ctx, link{w}); !errors.Is(err, ErrBehind) {
							return err
						}
						w.stop(shares.Helper)
						// the helper still lacks what its head file knows: a share that was shown
						// does not help
						must(0, w.start(shares.Helper))
					}
					return ErrBehind
				}
				// its operator types less than it cost, before anybody shows anything
				if typed && !headLost {
					low := must(privacy.ParseCost("party:rho=0.000001"))
					reconcile([]privacy.Cost{low, low}, 0)
				}
				if err := probe(); !errors.Is(err, ErrBehind) {
					t.Fatalf("a helper that lacks two shares: %v", err)
				}
				reconcile(nil, 2)
				got := must(w.servers[1].ledger.Totals(ctx))[privacy.Party].Epsilon(1e-6)
				if got < want || got > 1.001*want {
					t.Errorf("it is charged ε = %g in all, want %g", got, want)
				}
				must(0, w.servers[0].Probe(ctx, link{w}))
				w.releases(next)
			})
		}
	}
}

// TestPutBackTwice: a helper that is put back from the same backup again, older than its first
// reconciliation, is behind again. It is charged for each release that it lacks, once, and asks for
// the entry of the lost reconciliation; its study under way fails, and nothing is drawn twice.
//
// Why that is harmless: the head file knows the number of every transaction and entry, so the
// helper is behind whatever the backup's age. Reconcile fails all that is not released and takes
// another sealing key, so no share of before opens, and numbers go on above the head file's. The
// lost reconciliation held nothing but charges, for releases that the backup lacks too: they are
// shown and charged again, each by its own line.
func TestPutBackTwice(t *testing.T) {
	ctx := t.Context()
	first, second, open, next := taskOf(3, 2), taskOf(4, 2), taskOf(5, 2), taskOf(6, 2)
	w := newWorld(t, first, second, open, next)
	old := w.opened(open.Hash())
	before := w.copyOf(shares.Helper)
	w.releases(first)
	sealings := map[protocol.KeyPin]bool{protocol.SealingPin(w.sealing.Public()): true}
	putBack := func(lost []privacy.Cost, wantShown int) {
		t.Helper()
		want := must(w.servers[1].ledger.Totals(ctx))[privacy.Party].Epsilon(1e-6)
		w.back(shares.Helper, before, "shares.db", "ledger.db")
		must(0, w.start(shares.Helper))
		if err := w.servers[0].Probe(ctx, link{w}); !errors.Is(err, ErrBehind) {
			t.Fatalf("put back: %v", err)
		}
		w.sealing = must(server.NewSealingKey())
		sealings[protocol.SealingPin(w.sealing.Public())] = true
		w.stop(shares.Helper)
		must(0, w.start(shares.Helper))
		must(0, w.servers[1].Reconcile(ctx))
		unknown, shown, err := w.servers[1].LostEntries(ctx)
		if err != nil || int(unknown) != len(lost) || len(shown) != wantShown {
			t.Fatalf("%d entries are unknown, and %d shown: %v", unknown, len(shown), err)
		}
		must(0, w.servers[1].ReconcileLedger(ctx, lost, shown))
		if got := must(w.servers[1].ledger.Totals(ctx))[privacy.Party].Epsilon(1e-6); got < want ||
			got > 1.001*want {
			t.Errorf("it is charged ε = %g in all, want %g", got, want)
		}
	}
	putBack(nil, 1)
	w.releases(second)
	putBack([]privacy.Cost{must(privacy.ParseCost("party:rho=0.000001"))}, 2)
	if err := w.servers[0].ConfirmAcceptance(ctx, open.Hash(), link{w}); !errors.Is(err,
		ErrForgotten) {
		t.Errorf("a study under way since before both losses: %v, accepted by %s", err,
			old.Digest())
	}
	if len(sealings) != 3 {
		t.Errorf("%d sealing keys", len(sealings))
	}
	w.releases(next)
}

// TestReplaced: a new helper with new keys replaces a lost one. The coordinator does not show it
// what the earlier one signed. A study that only the earlier helper accepted is forgotten, and
// nothing is drawn for it.
func TestReplaced(t *testing.T) {
	ctx := t.Context()
	old, open, next := taskOf(3, 2), taskOf(4, 2), taskOf(5, 2)
	w := newWorld(t, old, open, next)
	w.releases(old)
	w.opened(open.Hash())
	uploads := w.uploadsOf(open)
	w.stop(shares.Helper)
	w.stop(shares.Coordinator)
	w.dirs[1], w.signers[1], w.sealing = t.TempDir(), must(protocol.NewSigner()),
		must(server.NewSealingKey())
	must(0, Create(w.path(1, "shares.db")))
	must(0, WriteNewHead(w.head(1), w.sealing.Public()))
	w.said = said{}
	must(0, w.start(shares.Coordinator))
	must(0, w.start(shares.Helper))
	if err := w.servers[0].ConfirmAcceptance(ctx, open.Hash(), link{w}); !errors.Is(err,
		ErrForgotten) {
		t.Errorf("a study of the earlier helper's: %v", err)
	}
	for p, data := range uploads {
		must(0, w.servers[0].Receive(ctx, open.Hash(), p, data))
	}
	must(0, w.servers[0].CloseStudy(ctx, open.Hash(), nil))
	if _, err := w.servers[0].Advance(ctx, open.Hash(), link{w}); !errors.Is(err, ErrStepOrder) ||
		w.charges(0) != 1 || w.charges(1) != 0 {
		t.Errorf("it goes on: %v, charges %d and %d", err, w.charges(0), w.charges(1))
	}
	w.releases(next)
}
