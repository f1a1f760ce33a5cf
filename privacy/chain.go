package privacy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
)

// LedgerChain verifies a ledger's lines, from the first on.
type LedgerChain struct {
	totals Totals
	last   Line
	hashes map[int64]Digest
	jumps  []jump
	paid   map[Digest][]Cost // what reconciliations charged for lost entries, by the entry's hash
	open   reservations
	period string // id of the last period's line, "" before the first
}

// jump is a gap in the sequence numbers: a reconciliation skipped the lost entries between from and
// to, and charged for them without naming them.
type jump struct {
	from, to int64
	charged  []Cost
}

// NewLedgerChain expects a ledger from its first entry: empty head, totals of zero at each unit.
func NewLedgerChain() *LedgerChain {
	return &LedgerChain{totals: NewTotals(), hashes: map[int64]Digest{}, paid: map[Digest][]Cost{}}
}

// AddLine adds the next line, if its hash, its link to the line before, and its totals (the sum of
// all charges so far) are right. An error leaves the chain unchanged.
func (lc *LedgerChain) AddLine(l Line) error {
	if err := l.Check(); err != nil {
		return err
	}
	switch {
	case l.Prev != lc.last.Hash:
		return errors.New("it does not follow the entry before it: one was changed or removed")
	case l.Sequence <= lc.last.Sequence, l.Sequence != lc.last.Sequence+1 &&
		l.Kind != KindReconcile:
		return fmt.Errorf("its number does not follow %d", lc.last.Sequence)
	}
	switch l.Kind {
	case KindReconcile:
	case KindRelease, KindCharge, KindReservation:
		if len(l.Costs) != 1 {
			return fmt.Errorf("a %s has one cost, this has %d", l.Kind, len(l.Costs))
		}
	case KindPeriod:
		if len(l.Costs) != 0 {
			return errors.New("a period begins at no cost, this has one")
		}
		if l.ID <= lc.period {
			return fmt.Errorf("%s begins after %s: periods only follow each other, or each would have its budget twice", l.ID, lc.period)
		}
	case KindResult:
		if len(l.Costs) != 0 {
			return errors.New("the reservation of an answer was charged, so the answer costs nothing; this has a cost")
		}
	default:
		return fmt.Errorf("unknown kind %q", l.Kind)
	}
	totals := lc.totals
	for _, cost := range l.Costs {
		totals = totals.Plus(cost)
	}
	if _, had := lc.last.Totals[Patient]; had && l.Totals[Patient].Pure == nil {
		return errors.New("it has no totals at unit patient, and the entry before it has: it was changed")
	}
	want, err := encodeTotals(totals.written(l.Totals))
	if err != nil {
		return err
	}
	if have, err := encodeTotals(l.Totals); err != nil || !bytes.Equal(want, have) {
		return errors.New("its totals are not the sum of the charges")
	}
	r, err := l.reconciliation()
	if err != nil {
		return err
	}
	open, err := lc.open.with(l)
	if err != nil {
		return err
	}
	if l.Kind == KindReconcile {
		if r.Costs, err = lc.open.chargedAgain(r.Costs); err != nil {
			return err
		}
	}
	if l.Sequence != lc.last.Sequence+1 {
		lc.jumps = append(lc.jumps, jump{lc.last.Sequence, l.Sequence, r.Costs})
	}
	for _, p := range r.Paid {
		lc.paid[p.Entry] = append(lc.paid[p.Entry], p.Costs...)
	}
	lc.totals, lc.last, lc.open = totals, l, open
	if l.Kind == KindPeriod {
		lc.period = l.ID
	}
	lc.hashes[l.Sequence] = l.Hash
	return nil
}

// Head identifies the last entry that AddLine accepted; the zero Head before the first.
func (lc *LedgerChain) Head() Head { return lc.last.Head() }

// CheckHead checks that the chain contains the entry that h remembers, by number and hash or, if h
// has no hash, by number. lost = true, without an error, means that a reconciliation names the
// entry or jumped over its number. Unpaid says whether the reconciliation paid for it.
func (lc *LedgerChain) CheckHead(h Head) (lost bool, err error) {
	hash, there := lc.hashes[h.Sequence]
	switch {
	case h.Sequence == 0 || there && (hash == h.Hash || h.Hash == Digest{}):
		return false, nil
	case lc.named(h.Hash):
		return true, nil
	case there:
		return false, fmt.Errorf("entry %d was %s once and is %s now: the ledger was put back to an older state and went on, or was written anew", h.Sequence, h.Hash, hash)
	}
	for _, j := range lc.jumps {
		if j.from < h.Sequence && h.Sequence < j.to {
			return true, nil
		}
	}
	return false, fmt.Errorf("it ends at entry %d, but was at %d once: its end was cut off, or it was put back to an older state", lc.last.Sequence, h.Sequence)
}

func (lc *LedgerChain) named(h Digest) bool {
	_, named := lc.paid[h]
	return named
}

// UnpaidLines returns those of the given lines that were lost and not charged again in full, each
// once.
func (lc *LedgerChain) UnpaidLines(lines []Line) (unpaid []Line) {
	left := make([][]Cost, len(lc.jumps))
	for i, j := range lc.jumps {
		left[i] = slices.Clone(j.charged)
	}
	seen := map[Digest]bool{}
	for _, l := range lines {
		i := slices.IndexFunc(lc.jumps, func(j jump) bool {
			return j.from < l.Sequence && l.Sequence < j.to
		})
		paid, named := slices.Clone(lc.paid[l.Hash]), lc.named(l.Hash)
		if i < 0 && !named || seen[l.Hash] {
			continue
		}
		seen[l.Hash] = true
		if !named {
			paid = left[i]
		}
		for _, cost := range l.Costs {
			at := slices.IndexFunc(paid, cost.equal)
			if at < 0 {
				unpaid = append(unpaid, l)
				break
			}
			paid = slices.Delete(paid, at, at+1)
		}
		if !named {
			left[i] = paid
		}
	}
	return unpaid
}

// Totals sums the charges of all entries that AddLine accepted. Later calls of AddLine leave the
// returned map as it is.
func (lc *LedgerChain) Totals() Totals { return lc.totals }

// Verify checks a whole journal: sequence numbers, hashes, links, and totals recomputed from every
// charge. It reads each page in its own transaction, so releases can go on meanwhile.
func Verify(ctx context.Context, j Journal) (Totals, error) {
	c, err := VerifyEach(ctx, j, func(Line) error { return nil })
	if err != nil {
		return nil, err
	}
	return c.Totals(), nil
}

// VerifyEach verifies a journal like Verify and calls fn for each good line; an error of fn ends
// the walk.
func VerifyEach(ctx context.Context, j Journal, fn func(Line) error) (*LedgerChain, error) {
	const page = 256
	chain := NewLedgerChain()
	for {
		var entries []Entry
		err := j.Update(ctx, func(tx Tx) (err error) {
			entries, err = tx.EntriesAfter(chain.last.Sequence, page)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("verify ledger: %w", err)
		}
		for _, e := range entries {
			l, err := e.Line()
			if err == nil {
				err = chain.AddLine(l)
			}
			if err == nil {
				err = fn(l)
			}
			if err != nil {
				return nil, fmt.Errorf("verify ledger: entry %d: %w", e.Sequence, err)
			}
		}
		if len(entries) < page {
			return chain, nil
		}
	}
}

// JournalHead returns the head of a journal, or the zero Head if it is empty.
func JournalHead(ctx context.Context, j Journal) (h Head, err error) {
	err = j.Update(ctx, func(tx Tx) error {
		head, _, err := tx.Head()
		h = Head{head.Sequence, head.Hash}
		return err
	})
	if err != nil {
		return Head{}, fmt.Errorf("read ledger: %w", err)
	}
	return h, nil
}

// FindLine finds the line of an id in a journal, without verifying the chain; false if there is
// none.
func FindLine(ctx context.Context, j Journal, id string) (l Line, found bool, err error) {
	err = j.Update(ctx, func(tx Tx) (err error) {
		var e Entry
		if e, found, err = tx.Find(id); err == nil && found {
			l, err = e.Line()
		}
		return err
	})
	if err != nil {
		return Line{}, false, fmt.Errorf("read ledger: %w", err)
	}
	return l, found, nil
}

// FindLine finds the line of a release or charge; false if there is none.
func (l *Ledger) FindLine(ctx context.Context, id string) (Line, bool, error) {
	return FindLine(ctx, l.journal, id)
}
