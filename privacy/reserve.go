package privacy

import (
	"context"
	"errors"
	"fmt"
)

// Terms are a release's public terms. With the same terms Release completes what Reserve charged.
type Terms struct {
	Mechanism Mechanism
	Bound     Bound
	Length    int // coordinates of the vector
	// SourceDigest identifies what the vector is made from, as in Sensitive.WithSource.
	SourceDigest Digest
}

// numberSteps bounds the steps to draw and write one number. Measured for Gaussian, Laplace,
// K-norm and response on long vectors: fewer than 1,000.
const numberSteps = 5000

// laborious is a mechanism that takes more than numberSteps steps a number.
type laborious interface{ steps(b Bound, n int) float64 }

// Steps bounds the work to draw and write a release under these terms, for any values. A step is
// about one multiplication and addition (learners.RunReference).
func (t Terms) Steps() float64 {
	steps := numberSteps * float64(t.Length)
	if m, ok := t.Mechanism.(laborious); ok {
		steps += m.steps(t.Bound, t.Length)
	}
	return steps
}

// Reserve charges the cost of a later Release under these terms, before there is anything to
// release. The same id and terms again, even after the release, charge nothing more; other terms
// are ErrConflict. A charge beyond a limit is ErrBudget. Errors before and after the commit mean
// the same as for Release.
//
// A reservation is charged before the data are read. So whether it is granted, and everything that
// a refusal shows, follows from public terms and the ledger alone.
//
// Proof note. Claim: at every time, after every restore, the charges cover all answers ever drawn.
//   - One reservation, one answer. A reservation's entry has the id of the release; its answer's
//     entry has answerID + that id. A journal holds an id once, and finding and appending happen in
//     one exclusive transaction: of two racing completions, one draws and the other gets its
//     answer.
//   - At the reserved price. The answer has the same digest of terms as its reservation, and the
//     terms include the cost; other terms are ErrConflict.
//   - In time. Limits hold for the sum of all reservations and charges, which is never less than
//     the sum over the answers drawn so far. The parameters of each answer are fixed before it is
//     drawn, so the filters' theorem holds for the answers in the order they are drawn. An answer
//     counts to the period of its reservation.
//   - After a restore. A journal rolled back to between a reservation and its answer has forgotten
//     the answer, but not the reservation. It is behind (Config.LastSequence), so nothing is
//     completed until Reconcile. That charges every open reservation again, since its answer may be
//     among the lost ones, and a LedgerChain checks it. So an answer drawn anew is paid for. The
//     caller must name reservations that were lost themselves, and earlier reconciliations, as it
//     names lost releases.
//
// A crash between reservation and answer leaves a charge, which the same terms complete later.
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
	cost, err := costUnder(t.Mechanism, t.Bound)
	if err != nil {
		return fail(err)
	}
	body, err := encodeCosts([]Cost{cost})
	if err != nil {
		return fail(err)
	}
	request := requestOf(l.draft(id, t, cost), shapeOf(t.Length, false), t.SourceDigest)
	err = l.journal.Update(ctx, func(tx Tx) error {
		if len(answerID+id) > maxID {
			return fmt.Errorf("the id has %d bytes, give at most %d", len(id), maxID-len(answerID))
		}
		if e, found, err := tx.Find(id); err == nil && found && e.Kind == KindRelease &&
			e.RequestDigest == request.under(e.Salt) {
			return nil
		}
		_, err := l.enter(tx, id, KindReservation, request, cost, func(int64) ([]byte, error) {
			return body, nil
		})
		return err
	})
	if err != nil {
		return fail(err)
	}
	return nil
}

func (l *Ledger) draft(id string, t Terms, c Cost) Published {
	return Published{ID: id, Mechanism: t.Mechanism.Name(), Parameters: t.Mechanism.parameters(),
		Bound: t.Bound, Cost: c, Simulated: l.simulated()}
}
