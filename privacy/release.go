package privacy

import (
	"context"
	"errors"
	"fmt"
)

// answer returns the answer stored under an id, or makes it. A reservation of the same id and
// terms pays for a new answer; without one, the answer is charged.
func (l *Ledger) answer(tx Tx, id string, request asked, c Cost,
	body func(int64) ([]byte, error)) (Entry, error) {
	held, found, err := tx.Find(id)
	if err != nil {
		return Entry{}, err
	}
	if !found || held.Kind != KindReservation {
		return l.enter(tx, id, KindRelease, request, c, body)
	}
	e, found, err := tx.Find(answerID + id)
	switch {
	case err != nil:
		return Entry{}, err
	case held.RequestDigest != request.under(held.Salt), found &&
		(e.Kind != KindResult || e.RequestDigest != held.RequestDigest):
		return Entry{}, ErrConflict
	case found:
		return e, nil
	}
	head, totals, err := l.ready(tx)
	if err != nil {
		return Entry{}, err
	}
	e = Entry{Sequence: head.Sequence + 1, ID: answerID + id, Kind: KindResult,
		RequestDigest: held.RequestDigest, Salt: held.Salt}
	err = l.append(tx, head, &e, totals, body)
	return e, err
}

// Release adds m's noise to s and publishes the result under id, at most once.
//
// It runs in one exclusive transaction, in this order. The same id with the same terms (mechanism,
// parameters, bound, length, source; not values) returns the first answer, without a draw; other
// terms are ErrConflict. A charge beyond a limit is ErrBudget. Only then is noise drawn, and charge
// and answer are written together; a charge by Reserve on the same terms is not repeated. Release
// returns the answer after the commit. An error before the commit spends nothing and reveals
// nothing. If the commit's fate is unknown, ask again with the same id.
//
// No error depends on the values.
func (l *Ledger) Release(ctx context.Context, id string, s Sensitive,
	m Mechanism) (Published, error) {
	fail := func(err error) (Published, error) {
		return Published{}, fmt.Errorf("release %q: %w", id, err)
	}
	if !s.given() || m == nil {
		return fail(errors.New("no vector or no mechanism given"))
	}
	secret := s.open()
	if err := l.takes(secret, m); err != nil {
		return fail(err)
	}
	if err := fits(m, s.Len()); err != nil {
		return fail(err)
	}
	cost, err := costUnder(m, secret.bound)
	if err != nil {
		return fail(err)
	}
	draft := l.draft(id, Terms{Mechanism: m, Bound: s.Bound()}, cost)
	var out Published
	err = l.journal.Update(ctx, func(tx Tx) error {
		e, err := l.answer(tx, id, requestOf(draft, secret.shape(), secret.source), cost,
			func(sequence int64) ([]byte, error) {
				answer := draft
				answer.Sequence = sequence
				if secret.residues != nil {
					answer.Residues = drawShare(m, secret, l.dice(id))
					return encodePublished(answer), nil
				}
				answer.Values, answer.Reals = m.draw(secret, l.dice(id))
				return encodePublished(answer), nil
			})
		if err != nil {
			return err
		}
		out, err = e.published()
		return err
	})
	if err != nil {
		return fail(err)
	}
	return out, nil
}

// takes refuses a mechanism that has no proof for this kind of vector.
func (l *Ledger) takes(s *secret, m Mechanism) error {
	_, adds := m.(additive)
	switch {
	case s.residues != nil && !adds:
		return fmt.Errorf("%s of a share is not noise that is added to it: %w", m.Name(), ErrUnproven)
	case s.residues != nil:
		return nil
	case !l.simulated() && (m.simulationOnly() || s.values == nil):
		return fmt.Errorf("%s of this vector: %w", m.Name(), ErrSimulationOnly)
	case s.values == nil && !m.simulationOnly():
		return fmt.Errorf("%s needs an integer vector: %w", m.Name(), ErrUnproven)
	}
	return nil
}

// Spend charges c under id without a draw, for a ballot to which another server adds the noise.
// The same id and cost again charge nothing; another cost is ErrConflict. A charge beyond a limit
// is ErrBudget. Errors before and after the commit mean the same as for Release.
func (l *Ledger) Spend(ctx context.Context, id string, c Cost) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("spend %q: %w", id, err)
	}
	body, err := encodeCosts([]Cost{c})
	if err != nil {
		return fmt.Errorf("spend %q: %w", id, err)
	}
	err = l.journal.Update(ctx, func(tx Tx) error {
		_, err := l.enter(tx, id, KindCharge, asked{terms: body}, c, func(int64) ([]byte, error) {
			return body, nil
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("spend %q: %w", id, err)
	}
	return nil
}
