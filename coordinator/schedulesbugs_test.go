package coordinator

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"caucus/coordinator/records"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// bugs are planted one at a time. If a search misses one of them, it proves nothing about unknown
// bugs.
var bugs = map[string]plant{
	"the sum is committed apart from its bodies":      {store: func(s records.Store) records.Store { return &tornStore{s} }, found: 62},
	"kept bodies go when they are folded":             {store: func(s records.Store) records.Store { return &wastefulStore{s} }, found: 27},
	"a receipt is sent before the commit":             {store: func(s records.Store) records.Store { return &lateStore{Store: s} }},
	"the ledger's ids are others after a restart":     {ledger: func(j privacy.Journal) privacy.Journal { return &forgetful{Journal: j} }, found: 35},
	"what failed is done again without reading first": {store: func(s records.Store) records.Store { return &hastyStore{s} }, found: 13},
	"nobody is waited for after a start": {server: func(s *Server) {
		for _, p := range names(4) {
			s.scheduler.releaser.witness.called[p] = true
		}
	}, found: 90},
	"any clock is believed": {server: func(s *Server) { s.registry.watch.ahead = 9999 * time.Hour }, found: 813},
	"what was published is not held against the ledger": {server: func(s *Server) {
		s.scheduler.releaser.ledger = must(privacy.Open(s.scheduler.releaser.journal,
			privacy.Config{}))
	}, found: 14},
}

// TestPlantedBugs: each planted bug is found within 1,000 schedules. A short run begins at a
// schedule that finds the bug, and does not shrink it.
func TestPlantedBugs(t *testing.T) {
	for what, p := range bugs {
		t.Run(what, func(t *testing.T) {
			first := p.found
			if p.whole = first > 0; testlevel.Long() {
				first, p.whole = 0, false
			}
			found, _ := search(t, first, 1000, p, inMemory)
			if found == nil {
				t.Fatal("1,000 schedules do not find it")
			}
			t.Log(found)
		})
	}
}

// tornStore commits a sum, and only in a second transaction that the sum contains its bodies.
type tornStore struct{ records.Store }

func (t *tornStore) Update(ctx context.Context, fn func(records.Tx) error) error {
	var late func(records.Tx) error
	err := t.Store.Update(ctx, func(tx records.Tx) error { return fn(&tornTx{tx, &late}) })
	if err == nil && late != nil {
		err = t.Store.Update(ctx, late)
	}
	return err
}

type tornTx struct {
	records.Tx
	late *func(records.Tx) error
}

func (t *tornTx) SetSum(h study.Hash, sum []byte, contributions int,
	folded []records.Contribution) error {
	*t.late = func(tx records.Tx) error { return tx.SetSum(h, sum, contributions, folded) }
	return t.Tx.SetSum(h, sum, contributions, nil)
}

// wastefulStore deletes a kept body once the body is folded.
type wastefulStore struct{ records.Store }

func (w *wastefulStore) Update(ctx context.Context, fn func(records.Tx) error) error {
	return w.Store.Update(ctx, func(tx records.Tx) error { return fn(&wastefulTx{tx}) })
}

type wastefulTx struct{ records.Tx }

func (w *wastefulTx) SetState(h study.Hash, from, s study.State, reason string) error {
	if left := must(w.UnsummedContributions(h, "", 1)); s == study.Summed && len(left) > 0 {
		must(0, w.MarkLost(h, []study.PartyID{left[0].Party}, time.Now()))
	}
	return w.Tx.SetState(h, from, s, reason)
}

// lateStore reports a contribution as stored, but stores it only with the next transaction, if
// there is one.
type lateStore struct {
	records.Store
	late func(records.Tx) error
}

var errLater = errors.New("later")

func (l *lateStore) Update(ctx context.Context, fn func(records.Tx) error) error {
	if late := l.late; late != nil {
		l.late = nil
		_ = l.Store.Update(ctx, late)
	}
	err := l.Store.Update(ctx, func(tx records.Tx) error {
		adding := &addingTx{Tx: tx}
		if err := fn(adding); err != nil || !adding.adds {
			return err
		}
		return errLater
	})
	if errors.Is(err, errLater) {
		l.late, err = fn, nil
	}
	return err
}

type addingTx struct {
	records.Tx
	adds bool
}

func (a *addingTx) AddContribution(r protocol.Receipt, body []byte) error {
	a.adds = true
	return a.Tx.AddContribution(r, body)
}

// hastyStore repeats a failed transaction at once, without reading again.
type hastyStore struct{ records.Store }

func (h *hastyStore) Update(ctx context.Context, fn func(records.Tx) error) error {
	err := h.Store.Update(ctx, fn)
	if errors.Is(err, protocol.ErrUnavailable) {
		err = h.Store.Update(ctx, fn)
	}
	return err
}

// forgetful finds only entries that it appended itself, as if a restart changed the ids.
type forgetful struct {
	privacy.Journal
	own []string
}

func (f *forgetful) Update(ctx context.Context, fn func(privacy.Tx) error) error {
	var added []string
	err := f.Journal.Update(ctx, func(tx privacy.Tx) error {
		return fn(&forgetfulTx{tx, f, &added})
	})
	if err == nil {
		f.own = append(f.own, added...)
	}
	return err
}

type forgetfulTx struct {
	privacy.Tx
	*forgetful
	added *[]string
}

func (f *forgetfulTx) Find(id string) (privacy.Entry, bool, error) {
	if !slices.Contains(f.own, id) {
		return privacy.Entry{}, false, nil
	}
	return f.Tx.Find(id)
}

func (f *forgetfulTx) Append(e privacy.Entry) error {
	*f.added = append(*f.added, e.ID)
	return f.Tx.Append(e)
}
