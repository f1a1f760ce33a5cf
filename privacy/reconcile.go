package privacy

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
)

// Reconcile brings a ledger that was restored from a backup up to date, whatever its limits. It
// charges the costs in lost, the costs of the lost lines, and once more every reservation without
// an answer, and moves the sequence number beyond Config.LastSequence. Its entry names the lines,
// so that nobody pays for them again. The operator finds lost charges in releases kept elsewhere,
// or else retires the ledger. A lost id may be drawn again and is then charged again, so both
// answers are paid for. Reconcile does nothing if the ledger is not behind.
func (l *Ledger) Reconcile(ctx context.Context, lost []Cost, lines []Line) error {
	r := reconciliation{Costs: lost}
	for _, line := range lines {
		r.Paid = append(r.Paid, Recharge{line.Hash, line.Costs})
	}
	for _, c := range r.all() {
		if err := c.Validate(); err != nil {
			return fmt.Errorf("reconcile ledger: %w", err)
		}
	}
	err := l.journal.Update(ctx, func(tx Tx) error {
		head, found, err := tx.Head()
		if err != nil || head.Sequence >= l.config.LastSequence {
			return err
		}
		open, err := openReservations(tx)
		if err != nil {
			return err
		}
		r.Costs = slices.Clone(lost) // copied, because a retried transaction starts from lost again
		for _, o := range open {
			r.Costs = append(r.Costs, o.cost)
		}
		body, err := r.encode()
		if err != nil {
			return err
		}
		totals, err := totalsOf(head, found)
		if err != nil {
			return err
		}
		for _, c := range r.all() {
			totals = totals.Plus(c)
		}
		e := Entry{Sequence: l.config.LastSequence + 1, Kind: KindReconcile,
			RequestDigest: sha256.Sum256(body)}
		e.ID = fmt.Sprintf("reconcile/%d", e.Sequence)
		return l.append(tx, head, &e, totals, func(int64) ([]byte, error) { return body, nil })
	})
	if err != nil {
		return fmt.Errorf("reconcile ledger: %w", err)
	}
	return nil
}
