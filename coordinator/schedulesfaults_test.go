package coordinator

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"
	"time"

	"caucus/coordinator/records"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// errKilled is the error of a killed process's store and ledger. The process has no effect any
// more, whatever it still computes.
var errKilled = errors.New("the process was killed")

// effects are the points at which a schedule kills the process or lets it fail. Those of store and
// ledger occur in every transaction. The others are checkpoints.
var effects = []string{
	"store read", "store begin", "store commit", "after store commit",
	"ledger begin", "ledger append", "ledger commit", "after ledger commit",
	"before life.StudyOpened", "after life.StudyOpened", "before life.ContributionReceived", "after life.ContributionReceived", "after receipt sent",
	"before life.DeadlinePassed", "after life.DeadlinePassed", "before batch folded", "after batch folded",
	"before life.SumDone", "after life.SumDone", "before ledger", "after ledger",
	"before life.ReleaseDone", "after life.ReleaseDone", "before life.StudyCancelled", "after life.StudyCancelled",
	"before life.QuietTimePassed", "after life.QuietTimePassed", "before life.StudyClosed", "after life.StudyClosed", "before life.StudyAmended", "after life.StudyAmended",
	"before life.ContributionReturned", "after life.ContributionReturned", "before enrolled", "after enrolled", "before life.SealedWithoutLost", "after life.SealedWithoutLost", "before life.SumLost", "after life.SumLost",
}

// failing are the effects that may also fail without a kill. A transaction that fails before its
// commit stores nothing. One that fails after it is stored, and its caller still gets an error.
var failing = effects[:8]

// faults are the faults beneath a coordinator. Store and ledger share them, and they outlive the
// process.
type faults struct {
	mu     sync.Mutex
	dead   bool
	kill   string         // the effect to be killed at, "" for none
	times  int            // at which occurrence
	fail   map[string]int // how many more times each effect fails
	passed map[string]bool
	slowly bool // transactions are slow, so that others wait
}

func (f *faults) slow(yes bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slowly = yes
}

// take sleeps for a while if everything is slow.
func (f *faults) take() {
	f.mu.Lock()
	slowly := f.slowly
	f.mu.Unlock()
	if slowly {
		time.Sleep(100 * time.Microsecond)
	}
}

// pass is called at an effect. Its error is that of a full disk, or errKilled.
func (f *faults) pass(effect string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dead {
		return errKilled
	}
	f.passed[effect] = true
	if f.kill == effect {
		if f.times--; f.times == 0 {
			f.kill, f.dead = "", true
			return errKilled
		}
	}
	if f.fail[effect] > 0 {
		f.fail[effect]--
		return errFull
	}
	return nil
}

func (f *faults) checkpoint(effect string) { _ = f.pass(effect) }

func (f *faults) killed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dead
}

// heal ends all faults. A killed process stays killed.
func (f *faults) heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.kill, f.fail = "", map[string]int{}
}

// errFull is SQLite's own error for a full disk.
var errFull = func() error {
	db := must(sql.Open("sqlite", ":memory:"))
	defer db.Close()
	db.SetMaxOpenConns(1)
	must(db.Exec("CREATE TABLE a (b); PRAGMA max_page_count = 2"))
	_, err := db.Exec("INSERT INTO a VALUES (randomblob(99999))")
	return err
}()

// faultyStore is a store whose effects can fail, and whose commits a trial watches.
type faultyStore struct {
	records.Store
	*faults
	trial *trial
}

func (f *faultyStore) View(ctx context.Context, fn func(records.Tx) error) error {
	if err := f.pass("store read"); err != nil {
		return records.WithAdvice(err)
	}
	return f.Store.View(ctx, func(tx records.Tx) error {
		return fn(&watchedTx{Tx: tx, trial: f.trial})
	})
}

func (f *faultyStore) Update(ctx context.Context, fn func(records.Tx) error) error {
	if err := f.pass("store begin"); err != nil {
		return records.WithAdvice(err)
	}
	f.take()
	w := &watchedTx{trial: f.trial}
	err := f.Store.Update(ctx, func(tx records.Tx) error {
		w.Tx, w.events = tx, nil
		if err := fn(w); err != nil {
			return err
		}
		return f.pass("store commit")
	})
	if err != nil {
		return err
	}
	for _, e := range w.events {
		e()
	}
	return records.WithAdvice(f.pass("after store commit"))
}

// watchedTx tells a trial what a transaction wrote, after the commit.
type watchedTx struct {
	records.Tx
	trial  *trial
	events []func()
}

func (w *watchedTx) watch(err error, event func()) error {
	if err == nil {
		w.events = append(w.events, event)
	}
	return err
}

// Try forgets what was undone.
func (w *watchedTx) Savepoint(fn func() error) (undone, err error) {
	before := len(w.events)
	undone, err = w.Tx.Savepoint(fn)
	if undone != nil {
		w.events = w.events[:before]
	}
	return undone, err
}

func (w *watchedTx) SetState(h study.Hash, from, s study.State, reason string) error {
	var sum []byte
	if s == study.Summed && w.trial.kept[h] == nil {
		sum, _, _ = w.Tx.Sum(h)
	} else if s == study.Summed {
		sum = keptIn(w.Tx, h)
	}
	return w.watch(w.Tx.SetState(h, from, s, reason), func() { w.trial.moved(h, s, reason, sum) })
}

// keptIn returns the kept bodies of a study in a store, in their canonical bytes.
func keptIn(tx records.Tx, h study.Hash) []byte {
	var all [][]byte
	for _, c := range must(tx.UnsummedContributions(h, "", 1<<20)) {
		all = append(all, c.Body)
	}
	return must(study.BodiesOf(all).MarshalBinary())
}

func (w *watchedTx) AddContribution(r protocol.Receipt, body []byte) error {
	return w.watch(w.Tx.AddContribution(r, body), func() { w.trial.contributed(r) })
}

func (w *watchedTx) AddAmendment(h study.Hash, a study.Signed, number int) error {
	return w.watch(w.Tx.AddAmendment(h, a, number), func() { w.trial.amended(h, a) })
}

func (w *watchedTx) AddRelease(h study.Hash, r records.Release) error {
	return w.watch(w.Tx.AddRelease(h, r), func() { w.trial.published(h, r) })
}

func (w *watchedTx) Sum(h study.Hash) (sum []byte, contributions int, err error) {
	sum, contributions, err = w.Tx.Sum(h)
	if err == nil {
		w.trial.summed[h] = sum
	}
	return sum, contributions, err
}

func (w *watchedTx) DropContributions(h study.Hash, parties []study.PartyID) error {
	return w.watch(w.Tx.DropContributions(h, parties), func() { w.trial.dropped(h, parties) })
}

func (w *watchedTx) Restore(h study.Hash, p study.PartyID, body []byte) error {
	return w.watch(w.Tx.Restore(h, p, body), func() { delete(w.trial.truth.wanted, place{h, p}) })
}

func (w *watchedTx) SetLastTime(at time.Time) error {
	return w.watch(w.Tx.SetLastTime(at), func() { w.trial.stored = true })
}

func (w *watchedTx) Redeem(serial string, key [32]byte, certificate []byte) error {
	return w.watch(w.Tx.Redeem(serial, key, certificate), func() { w.trial.redeemed(serial) })
}

func (w *watchedTx) AddCertificate(c records.Certificate) error {
	return w.watch(w.Tx.AddCertificate(c), func() { w.trial.issued(c) })
}

func (w *watchedTx) Revoke(name string) error {
	return w.watch(w.Tx.Revoke(name), func() { w.trial.revoked(name) })
}

// faultyJournal is a ledger's journal whose effects can fail, and whose commits a trial watches.
type faultyJournal struct {
	privacy.Journal
	*faults
	trial *trial
}

func (f *faultyJournal) Update(ctx context.Context, fn func(privacy.Tx) error) error {
	if err := f.pass("ledger begin"); err != nil {
		return err
	}
	w := &appendingTx{faults: f.faults}
	err := f.Journal.Update(ctx, func(tx privacy.Tx) error {
		w.Tx, w.added = tx, nil
		if err := fn(w); err != nil {
			return err
		}
		return f.pass("ledger commit")
	})
	if err != nil {
		return err
	}
	for _, e := range w.added {
		f.trial.drawn(e)
	}
	return f.pass("after ledger commit")
}

type appendingTx struct {
	privacy.Tx
	*faults
	added []privacy.Entry
}

func (a *appendingTx) Append(e privacy.Entry) error {
	if err := a.pass("ledger append"); err != nil {
		return err
	}
	a.added = append(a.added, e)
	return a.Tx.Append(e)
}

// pages is a journal in memory that can be restored.
type pages struct {
	mu      sync.Mutex
	entries []privacy.Entry
}

func (p *pages) Update(_ context.Context, fn func(privacy.Tx) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	tx := &pagesTx{p.entries[:len(p.entries):len(p.entries)]}
	if err := fn(tx); err != nil {
		return err
	}
	p.entries = tx.entries
	return nil
}

type pagesTx struct{ entries []privacy.Entry }

func (p *pagesTx) Head() (privacy.Entry, bool, error) {
	if len(p.entries) == 0 {
		return privacy.Entry{}, false, nil
	}
	return p.entries[len(p.entries)-1], true, nil
}

func (p *pagesTx) Find(id string) (privacy.Entry, bool, error) {
	i := slices.IndexFunc(p.entries, func(e privacy.Entry) bool { return e.ID == id })
	if i < 0 {
		return privacy.Entry{}, false, nil
	}
	return p.entries[i], true, nil
}

func (p *pagesTx) Append(e privacy.Entry) error {
	p.entries = append(p.entries, e)
	return nil
}

func (p *pagesTx) EntriesAfter(sequence int64, n int) (after []privacy.Entry, err error) {
	for _, e := range p.entries {
		if e.Sequence > sequence && len(after) < n {
			after = append(after, e)
		}
	}
	return after, nil
}
