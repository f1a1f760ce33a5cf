package privacy

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

type reservation struct {
	id      string
	request Digest
	cost    Cost
}

// reservations holds the reservations that have no answer yet, in order.
type reservations []reservation

// with returns the open reservations after a line. It fails on an answer to a reservation that is
// not open.
func (r reservations) with(l Line) (reservations, error) {
	switch l.Kind {
	case KindReservation:
		return append(r[:len(r):len(r)], reservation{l.ID, l.Request, l.Costs[0]}), nil
	case KindResult:
		i := slices.IndexFunc(r, func(o reservation) bool {
			return answerID+o.id == l.ID && o.request == l.Request
		})
		if i < 0 {
			return nil, errors.New("it answers what was not reserved on these terms, or was answered already")
		}
		return slices.Delete(slices.Clone(r), i, i+1), nil
	}
	return r, nil
}

// chargedAgain removes the reservations' costs from costs, the charges of a reconciliation that
// name no entry. It fails if a cost is missing.
func (r reservations) chargedAgain(costs []Cost) (rest []Cost, err error) {
	rest = slices.Clone(costs)
	for _, o := range r {
		at := slices.IndexFunc(rest, o.cost.equal)
		if at < 0 {
			return nil, fmt.Errorf("it does not charge reservation %q again, whose answer may be among what was lost", o.id)
		}
		rest = slices.Delete(rest, at, at+1)
	}
	return rest, nil
}

func openReservations(tx Tx) (open reservations, err error) {
	const page = 256
	for last := int64(0); ; {
		entries, err := tx.EntriesAfter(last, page)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			last = e.Sequence
			if e.Kind != KindReservation && e.Kind != KindResult {
				continue
			}
			line, err := e.Line()
			if err != nil {
				return nil, err
			}
			if open, err = open.with(line); err != nil {
				return nil, err
			}
		}
		if len(entries) < page {
			return open, nil
		}
	}
}

// OpenReservations returns, by id, what each reservation without an answer has been charged. It
// reads the whole journal in one exclusive transaction, so no release overlaps it.
func (l *Ledger) OpenReservations(ctx context.Context) (map[string]Cost, error) {
	costs := map[string]Cost{}
	err := l.journal.Update(ctx, func(tx Tx) error {
		open, err := openReservations(tx)
		for _, o := range open {
			costs[o.id] = o.cost
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read reservations: %w", err)
	}
	return costs, nil
}
