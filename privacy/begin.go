package privacy

import (
	"context"
	"crypto/sha256"
	"fmt"
	"unicode/utf8"
)

// BeginPeriod starts a period and returns the name of the current period. It charges nothing. If
// this period or a later one has begun already (string order: "2026" after "2025"), BeginPeriod
// changes nothing. Charges before the first period count to the first.
func (l *Ledger) BeginPeriod(ctx context.Context, name string) (under string, err error) {
	fail := func(err error) (string, error) {
		return "", fmt.Errorf("begin period %q: %w", name, err)
	}
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
		e := Entry{Sequence: head.Sequence + 1, ID: periodID + name, Kind: KindPeriod,
			RequestDigest: sha256.Sum256(body)}
		return l.append(tx, head, &e, totals, func(int64) ([]byte, error) { return body, nil })
	})
	if err != nil {
		return fail(err)
	}
	return under, nil
}

// CurrentPeriod returns the name of the current period ("" before the first) and what was spent in
// it.
func (l *Ledger) CurrentPeriod(ctx context.Context) (name string, spent Totals, err error) {
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
