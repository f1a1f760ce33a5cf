package privacy

import (
	"context"
	"errors"
	"fmt"
)

// Terms say what a release is made under, all of it public: with the same
// terms Release completes what Reserve charged.
type Terms struct {
	Mechanism Mechanism
	Bound     Bound
	Length    int // coordinates of the vector
	// Source is what the vector is made from beyond that, as Sensitive.From says.
	Source Digest
}

// numberSteps is what it takes to draw one number and to write it down: under
// 1,000 were measured for Gaussian, Laplace, K-norm and response on long vectors.
const numberSteps = 5000

// laborious is a mechanism that takes longer for a vector than its length says.
type laborious interface{ steps(b Bound, n int) float64 }

// Steps bounds what it takes to draw a release under these terms and to write it
// down, whatever is in the vector; a step is about a multiplication and an
// addition (learners.Reference).
func (t Terms) Steps() float64 {
	steps := numberSteps * float64(t.Length)
	if m, ok := t.Mechanism.(laborious); ok {
		steps += m.steps(t.Bound, t.Length)
	}
	return steps
}

// Reserve charges what Release under these terms will cost, before there is
// anything to release. The same id and terms again, also after the release,
// charge nothing more; other terms are ErrConflict; ErrBudget and the fate of
// errors are as for Release.
//
// A reservation is a charge made before the data are read. Whether it is
// granted, and everything that a refusal shows, then follows from public terms
// and the ledger alone: nothing that the data decide has been computed yet.
//
// Proof note. Claim: the answers that were ever drawn are covered by what was
// charged, at every time and after every restore.
//   - One reservation, one answer. A reservation's entry has the id of the
//     release, its answer the id answerID + that id. A journal has an id once,
//     and finding and appending are in one exclusive transaction: of two
//     completions that race, one draws and the other gets its answer.
//   - At the reserved price. An answer has the digest of the terms that its
//     reservation has, and they include the cost; other terms are ErrConflict.
//   - In time. A limit is held against the sum of all reservations and charges,
//     which is at no time less than the sum over the answers drawn so far. The
//     parameters of each answer are fixed before it is drawn, so the filters'
//     theorem holds for the answers in the order of their drawing. An answer
//     counts to the period of its reservation.
//   - After a restore. A journal put back to between a reservation and its
//     answer has forgotten an answer, and not the reservation. It is behind
//     (Config.LastSequence), so nothing is completed until Reconcile, which
//     charges every reservation that is still open again, since its answer may
//     be among what was lost; a Chain holds it to that. So it is paid for when
//     it is drawn anew. Reservations that were lost themselves, and earlier
//     reconciliations, are the caller's to name, as lost releases are.
//
// A crash between the two leaves a charge, which the same terms complete later.
func (l *Ledger) Reserve(ctx context.Context, id string, t Terms) error {
	fail := func(err error) error { return fmt.Errorf("reserve %q: %w", id, err) }
	if t.Mechanism == nil || t.Length < 1 {
		return fail(errors.New("no mechanism given, or no coordinates"))
	}
	if t.Mechanism.simulationOnly() && !l.simulated() {
		return fail(fmt.Errorf("%s: %w", t.Mechanism.Name(), ErrSimulationOnly))
	}
	if err := t.Bound.Validate(t.Length); err != nil {
		return fail(err)
	}
	if err := fits(t.Mechanism, t.Length); err != nil {
		return fail(err)
	}
	cost, err := t.Mechanism.cost(t.Bound)
	if err != nil {
		return fail(err)
	}
	body, err := encodeCosts([]Cost{cost})
	if err != nil {
		return fail(err)
	}
	request := requestOf(l.draft(id, t, cost), shapeOf(t.Length, false), t.Source)
	err = l.journal.Update(ctx, func(tx Tx) error {
		if len(answerID+id) > maxID {
			return fmt.Errorf("the id has %d bytes, give at most %d", len(id), maxID-len(answerID))
		}
		if e, found, err := tx.Find(id); err == nil && found && e.Kind == KindRelease && e.Request == request.under(e.Salt) {
			return nil
		}
		_, err := l.enter(tx, id, KindReservation, request, cost, func(int64) ([]byte, error) { return body, nil })
		return err
	})
	if err != nil {
		return fail(err)
	}
	return nil
}

// draft is an answer without its values and its number.
func (l *Ledger) draft(id string, t Terms, c Cost) Published {
	return Published{ID: id, Mechanism: t.Mechanism.Name(), Parameters: t.Mechanism.parameters(), Bound: t.Bound, Cost: c, Simulated: l.simulated()}
}
