package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"caucus/coordinator/cluster"
	"caucus/coordinator/folder"
	"caucus/coordinator/records"
	"caucus/coordinator/watch"
	"caucus/internal/clock"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// witnesses are the callers, who can prove that the coordinator was restored from an older backup.
// With each List a caller shows the newest document that this coordinator signed for it. The
// document names an entry of the ledger. If that entry is neither in the coordinator's chain nor
// covered by a reconciliation, the coordinator must have been restored. From then on it releases
// nothing and signs no head until it is reconciled.
//
// A document with a bad signature proves nothing. It is counted and ignored, so nobody can stop a
// coordinator with an invented number.
//
// A caller also names the studies of which it holds a release. The coordinator does not release
// these studies again. Because the caller's word is not signed, an operator may waive the caller.
// This rule protects studies with noise at the sites, which have no entry in this ledger.
//
// After each start a study is released only after two poll intervals and once all its contributors
// have called, so that each could show its document. If no caller has seen an entry, its loss goes
// unnoticed.
type witnesses struct {
	store   records.Store
	journal privacy.Journal
	head    *folder.LedgerHead
	signer  *protocol.Signer
	keys    protocol.Keys // all keys that this coordinator ever signed with
	counts  *watch.Metrics
	log     *slog.Logger
	clock   clock.Clock
	started time.Duration // in elapsed time
	wait    time.Duration // Config.WitnessWait
	cluster *cluster.Cluster

	mu     sync.Mutex             // guards the rest
	called map[study.PartyID]bool // who has called since the start
	// releases that a caller claims to hold, in its last call
	holding map[study.PartyID]map[study.Hash]bool
	waived  map[study.Hash]map[study.PartyID]bool // waived by an operator since the start
	bad     map[string]bool                       // callers that showed a bad signature
	logged  map[study.Hash]string                 // the last logged reason why a release waits
	// heads that were looked up, and whether the chain has each
	known   map[privacy.Head]bool
	unsaved []records.HeadProof // testimonies that are not stored yet
	// why the ledger is known to be restored; nothing is released then
	behind     error
	signed     protocol.ShownHead // the head, signed for everybody
	signedHead privacy.Head       // the head in signed
}

// maxKnown bounds the remembered heads.
const maxKnown = 1024

// open checks the chain against the documents that were shown before the last stop.
func (w *witnesses) open(ctx context.Context) error {
	w.started = w.clock.Elapsed()
	w.called, w.bad = map[study.PartyID]bool{}, map[string]bool{}
	w.holding, w.waived = map[study.PartyID]map[study.Hash]bool{},
		map[study.Hash]map[study.PartyID]bool{}
	w.logged, w.known = map[study.Hash]string{}, map[privacy.Head]bool{}
	var all []records.HeadProof
	err := w.store.View(ctx, func(tx records.Tx) (err error) {
		all, err = tx.HeadProofs()
		return err
	})
	if err != nil || len(all) == 0 {
		return err
	}
	chain, err := privacy.VerifyEach(ctx, w.journal, func(privacy.Line) error { return nil })
	if err != nil {
		return err
	}
	for _, t := range all {
		if _, err := chain.CheckHead(t.Head); err != nil {
			w.stop(err, t.ShownBy)
		}
	}
	return nil
}

// stop records that the coordinator was restored. The caller holds mu, or nobody else has w yet.
func (w *witnesses) stop(why error, by string) {
	if w.behind == nil {
		w.log.Error("this coordinator was put back to an older state; nothing is released until it is put right: see caucus ledger verify and caucus ledger reconcile", "party", by, "error", why)
	}
	w.behind = fmt.Errorf("%w: %s holds a document that this coordinator signed, and %v", privacy.ErrBehind, by, why)
}

// checkShown checks the document that a caller shows and notes the studies of which the caller
// holds a release. Then, if calls is set, it counts the caller as heard since the start. That comes
// last, because the last awaited caller lets a release go out. calls is false for a document that
// may be older than the caller's newest one.
func (w *witnesses) checkShown(ctx context.Context, caller protocol.Caller,
	shown protocol.ShownHead,
	holds [][]byte, calls bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	// a command that a person runs names no release, and changes nothing here
	if caller.Role == protocol.RoleParty && len(holds) > 0 {
		held := map[study.Hash]bool{}
		for _, h := range holds[:min(len(holds), protocol.MaxWaits)] {
			if len(h) == len(study.Hash{}) {
				held[study.Hash(h)] = true
			}
		}
		w.holding[study.PartyID(caller.Name)] = held
	}
	if shown.Kind != "" && !(shown.Kind == w.signed.Kind &&
		bytes.Equal(shown.Document, w.signed.Document) &&
		bytes.Equal(shown.Signature, w.signed.Signature)) {
		head, err := shown.Head(w.keys)
		if err != nil {
			w.counts.BadWitnesses.Inc()
			if !w.bad[caller.Name] {
				w.bad[caller.Name] = true
				w.log.Warn("shown a document that this coordinator did not sign: ignored", "party", caller.Name)
			}
		} else if err := w.checkHead(ctx, head, shown, caller.Name); err != nil {
			return err
		}
	}
	if len(w.unsaved) > 0 {
		w.save(ctx)
	}
	if calls && caller.Role == protocol.RoleParty {
		w.called[study.PartyID(caller.Name)] = true
	}
	return nil
}

// checkHead checks that the chain has a head that this coordinator signed.
func (w *witnesses) checkHead(ctx context.Context, head privacy.Head, shown protocol.ShownHead,
	by string) error {
	if _, known := w.known[head]; head.Sequence == 0 || known {
		return nil
	}
	if len(w.known) >= maxKnown {
		clear(w.known)
	}
	there, err := folder.HeadAt(ctx, w.journal, head.Sequence)
	if err != nil {
		return err
	}
	if there.Hash != head.Hash || there.Sequence != head.Sequence {
		chain, err := privacy.VerifyEach(ctx, w.journal, func(privacy.Line) error { return nil })
		if err != nil {
			return err
		}
		if _, err := chain.CheckHead(head); err != nil {
			// a later call need not look again: only a reconciliation or a restart changes this
			w.known[head] = false
			w.foundBehind(records.HeadProof{Head: head, Document: shown, ShownBy: by,
				ShownAt: w.clock.Now()},
				err)
			return nil
		}
	}
	w.known[head] = true
	return nil
}

// foundBehind stops the coordinator. save then stores the proof, so that a restart does not forget
// it.
func (w *witnesses) foundBehind(t records.HeadProof, why error) {
	w.stop(why, t.ShownBy)
	if !slices.ContainsFunc(w.unsaved, func(had records.HeadProof) bool {
		return had.Head == t.Head
	}) {
		w.unsaved = append(w.unsaved, t)
	}
}

// save stores the testimonies that are not stored yet. If that fails, for example on a full disk,
// the next call tries again; the coordinator stays stopped meanwhile.
func (w *witnesses) save(ctx context.Context) {
	err := w.store.Update(context.WithoutCancel(ctx), func(tx records.Tx) error {
		for _, t := range w.unsaved {
			if err := tx.AddHeadProof(t); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.log.Error("what was shown is not stored; it will be tried again", "error", err)
		return
	}
	w.unsaved = nil
}

// current is the signed head of the ledger, nil if the coordinator was restored. A head is durable
// and in the head file before it is signed.
func (w *witnesses) current() *protocol.ShownHead {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.behind != nil {
		return nil
	}
	if now := w.head.Current(); w.signed.Kind == "" || now != w.signedHead {
		w.signed, w.signedHead, w.known[now] = protocol.SignedHead(now, w.signer), now, true
	}
	s := w.signed
	return &s
}

func (w *witnesses) stopped() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.behind
}

// awaited lists the parties that a study's release waits for: contributors that have not called
// since the start, and parties that hold a release of the study already. Waived parties are left
// out. others are the parties of the roster that have not contributed.
func (w *witnesses) awaited(h study.Hash,
	contributors, others []study.PartyID) (missing []study.PartyID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range contributors {
		if (!w.called[p] || w.holding[p][h]) && !w.waived[h][p] {
			missing = append(missing, p)
		}
	}
	for _, p := range others {
		if w.holding[p][h] && !w.waived[h][p] {
			missing = append(missing, p)
		}
	}
	slices.Sort(missing)
	return missing
}

// whyWait returns why a study must not be released now, nil if it may be. Each reason is logged
// once.
func (w *witnesses) whyWait(h study.Hash, contributors, others []study.PartyID) error {
	why, missing := "until those who poll could show what they have", []study.PartyID(nil)
	if w.clock.Elapsed()-w.started >= w.wait {
		if missing = w.awaited(h, contributors, others); len(missing) == 0 {
			if err := w.stopped(); err != nil {
				return err
			}
			if other := rival(w.cluster); other != nil {
				return fmt.Errorf("%w: %w", errWaits, other)
			}
			return nil
		}
		why = "until its contributors have called since the start, or an operator waives them (caucus study show, study waive)"
		if w.released(h, missing) {
			why = "because parties hold a release of this study already: this coordinator was put back to an older state. Give the release back with caucus ledger reconcile (docs/verify.md), or waive parties that err (caucus study waive)"
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.logged[h] != why {
		w.logged[h] = why
		w.log.Info("the release waits "+why, "study", h, "missing", len(missing), "parties",
			missing[:min(len(missing), namesInLog)])
	}
	return fmt.Errorf("%w %s", errWaits, why)
}

const namesInLog = 20

// released reports whether one of the parties holds a release of a study.
func (w *witnesses) released(h study.Hash, parties []study.PartyID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.ContainsFunc(parties, func(p study.PartyID) bool { return w.holding[p][h] })
}

// errWaits says that a study cannot move on until somebody calls or time passes.
var errWaits = errors.New("it waits")

func (w *witnesses) waive(h study.Hash, missing []study.PartyID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waived[h] == nil {
		w.waived[h] = map[study.PartyID]bool{}
	}
	for _, p := range missing {
		w.waived[h][p] = true
	}
}

func (w *witnesses) forget(h study.Hash) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.waived, h)
	delete(w.logged, h)
}
