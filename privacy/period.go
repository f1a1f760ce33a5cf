package privacy

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/big"
	"sync"
	"unicode/utf8"
)

// A period is a stretch of a ledger, such as a year: what is charged after it
// began and before the next one. The ledger reads no clock; whoever holds it
// says when a period begins, and the entry that says so is in the chain. So the
// date of a charge is as durable, and as hard to change, as the charge.
//
// Proof note. A limit (ε,δ) of a period is held by the same filters as the
// limit of the whole (see rules), started from nothing where the period begins.
// A filter holds for charges that are chosen adaptively, given any past; so the
// releases of one period together are (ε,δ), wherever it begins. Periods only
// follow each other in the order of their names, which is decided inside the
// exclusive transaction: a clock that is put back begins nothing, and gives
// nothing back.
//
// What Reconcile names is charged to the period under way when it is called and,
// because the entry that began the next one may be among what was lost, also to
// a period that begins right after it.
type period struct {
	mu     sync.Mutex
	upTo   int64  // entries up to this one were looked at
	name   string // of the last period among them, "" if none
	before Totals // what was spent before it
	last   []byte // totals of the last entry
	held   []byte // totals before the reconciliations that the last entries are, nil if they are none
}

// periodID is the id of the entry that begins a period.
const periodID = "period/"

// find looks at the entries since it last did.
func (p *period) find(tx Tx) error {
	const page = 256
	if p.before == nil {
		p.before = NewTotals()
	}
	for {
		entries, err := tx.After(p.upTo, page)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Kind == KindPeriod {
				if p.name != "" { // what has no date is of the first period
					before := e.Totals
					if p.held != nil {
						before = p.held
					}
					if p.before, err = decodeTotals(before); err != nil {
						return err
					}
				}
				p.name = e.ID[len(periodID):]
			}
			switch {
			case e.Kind != KindReconcile:
				p.held = nil
			case p.held == nil:
				p.held = p.last
			}
			p.last, p.upTo = e.Totals, e.Sequence
		}
		if len(entries) < page {
			return nil
		}
	}
}

// Begin begins a period, unless it or one of a later name, in the order of
// strings, has begun: "2026" after "2025". It returns the name of the one under
// way. It charges nothing. What was charged before the first period began
// counts to that one.
func (l *Ledger) Begin(ctx context.Context, name string) (under string, err error) {
	fail := func(err error) (string, error) { return "", fmt.Errorf("begin period %q: %w", name, err) }
	if name == "" || len(periodID+name) > maxID || !utf8.ValidString(name) {
		return fail(fmt.Errorf("give a name of 1 to %d bytes of UTF-8", maxID-len(periodID)))
	}
	err = l.journal.Update(ctx, func(tx Tx) error {
		l.period.mu.Lock()
		defer l.period.mu.Unlock()
		if err := l.period.find(tx); err != nil {
			return err
		}
		if under = l.period.name; under >= name {
			return nil
		}
		head, totals, err := l.ready(tx)
		if err != nil {
			return err
		}
		body := []byte(name)
		under = name
		e := Entry{Sequence: head.Sequence + 1, ID: periodID + name, Kind: KindPeriod, Request: sha256.Sum256(body)}
		return l.append(tx, head, &e, totals, func(int64) ([]byte, error) { return body, nil })
	})
	if err != nil {
		return fail(err)
	}
	return under, nil
}

// Period returns the period under way, "" before the first, and what was spent
// in it.
func (l *Ledger) Period(ctx context.Context) (name string, spent Totals, err error) {
	err = l.journal.Update(ctx, func(tx Tx) error {
		head, found, err := tx.Head()
		if err != nil {
			return err
		}
		totals, err := totalsOf(head, found)
		if err != nil {
			return err
		}
		name, spent, err = l.inPeriod(tx, totals)
		return err
	})
	if err != nil {
		return "", nil, fmt.Errorf("read period: %w", err)
	}
	return name, spent, nil
}

// inPeriod is what of these totals was spent in the period under way.
func (l *Ledger) inPeriod(tx Tx, totals Totals) (name string, spent Totals, err error) {
	l.period.mu.Lock()
	defer l.period.mu.Unlock()
	if err := l.period.find(tx); err != nil {
		return "", nil, err
	}
	return l.period.name, totals.since(l.period.before), nil
}

// since is what was spent after earlier totals of the same ledger. It is exact:
// both are sums of the same terms.
func (t Totals) since(before Totals) Totals {
	minus := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }
	spent := Totals{}
	for _, u := range Units() {
		a, b := t[u], before[u]
		spent[u] = Total{
			Charges: a.Charges - b.Charges, Unproven: a.Unproven - b.Unproven, Pure: minus(a.Pure, b.Pure),
			Rho: minus(a.Rho, b.Rho), RestRho: minus(a.RestRho, b.RestRho), Delta: minus(a.Delta, b.Delta),
		}
	}
	return spent
}
