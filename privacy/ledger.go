package privacy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"unicode/utf8"
)

// Config of a ledger. The zero Config limits nothing and expects nothing.
type Config struct {
	// Limits holds what may be spent in all, per unit. A unit without one is
	// not limited, but still counted. A release that proves nothing at a
	// limited unit is refused.
	Limits map[Unit]Budget
	// PeriodLimits holds what may be spent in one period, per unit, beside
	// Limits: see Begin.
	PeriodLimits map[Unit]Budget
	// LastSequence is the highest sequence number known to have been
	// published, kept outside the journal. A journal whose head is below it
	// was restored from a backup and has forgotten charges: the ledger then
	// releases nothing until Reconcile.
	LastSequence int64
}

// Validate says which field is wrong.
func (c Config) Validate() error {
	if c.LastSequence < 0 {
		return fmt.Errorf("check ledger: last sequence is %d, give 0 or the highest published number", c.LastSequence)
	}
	for _, limits := range []map[Unit]Budget{c.Limits, c.PeriodLimits} {
		for u, g := range limits {
			if !u.Valid() {
				return fmt.Errorf("check ledger: limit for %v, use label, record or party", u)
			}
			if err := g.Validate(); err != nil {
				return fmt.Errorf("check ledger: limit for %v: %w", u, err)
			}
		}
	}
	return nil
}

// Ledger is the door: the only way out of a Sensitive. It is safe for use by
// many goroutines; its journal makes them take turns.
type Ledger struct {
	journal Journal
	config  Config
	rules   map[Unit][]rule
	inTime  map[Unit][]rule // of a period
	period  *period
	seed    *uint64 // of a simulation; nil: the noise is the operating system's
}

// Open opens a ledger on a journal. Its noise comes from the operating system
// (see system): there is no field, argument or setting that could put another
// stream in its place.
func Open(j Journal, c Config) (*Ledger, error) {
	if j == nil {
		return nil, errors.New("open ledger: no journal given")
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	c.Limits, c.PeriodLimits = maps.Clone(c.Limits), maps.Clone(c.PeriodLimits)
	l := &Ledger{journal: j, config: c, rules: map[Unit][]rule{}, inTime: map[Unit][]rule{}, period: new(period)}
	for u, g := range c.Limits {
		l.rules[u] = rules(g)
	}
	for u, g := range c.PeriodLimits {
		l.inTime[u] = rules(g)
	}
	return l, nil
}

// Simulation opens a ledger in memory without limits, whose noise repeats for
// the same seed and id, whatever the order of releases. What it publishes is
// stamped simulated and never leaves: MarshalBinary refuses it.
func Simulation(seed uint64) *Ledger {
	return &Ledger{journal: NewMemory(), period: new(period), seed: &seed}
}

// simulated is true of a ledger made by Simulation. What it publishes is stamped
// by the same field that seeds its noise, so seeded noise cannot go unstamped.
func (l *Ledger) simulated() bool { return l.seed != nil }

// dice are fresh ones for one release.
func (l *Ledger) dice(id string) dice {
	if !l.simulated() {
		return newDice(system{})
	}
	return newDice(rand.NewChaCha8(sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, *l.seed), id...))))
}

// Release adds m's noise to s and publishes the result under id, at most once.
//
// Order, inside one exclusive transaction: the same id with the same terms
// (mechanism, parameters, bound, length, source; not values) gets the first answer
// again, without a draw; other terms are ErrConflict. A limit that the charge
// would pass is ErrBudget. Only then is noise drawn, and charge and answer are
// written together; what Reserve charged on the same terms is not charged again. Release returns the answer after the commit. An error
// before the commit spends nothing and reveals nothing; if the commit's fate is
// unknown, ask again with the same id.
//
// No error depends on the values.
func (l *Ledger) Release(ctx context.Context, id string, s Sensitive, m Mechanism) (Published, error) {
	fail := func(err error) (Published, error) {
		return Published{}, fmt.Errorf("release %q: %w", id, err)
	}
	if !s.given() || m == nil {
		return fail(errors.New("no vector or no mechanism given"))
	}
	secret := s.open()
	if !l.simulated() && (m.simulationOnly() || secret.values == nil) {
		return fail(fmt.Errorf("%s of this vector: %w", m.Name(), ErrSimulationOnly))
	}
	if secret.values == nil && !m.simulationOnly() {
		return fail(fmt.Errorf("%s needs an integer vector: %w", m.Name(), ErrUnproven))
	}
	if err := fits(m, s.Len()); err != nil {
		return fail(err)
	}
	cost, err := m.cost(secret.bound)
	if err != nil {
		return fail(err)
	}
	draft := l.draft(id, Terms{Mechanism: m, Bound: s.Bound()}, cost)
	var out Published
	err = l.journal.Update(ctx, func(tx Tx) error {
		e, err := l.answer(tx, id, requestOf(draft, s.Len(), secret.values == nil, secret.source), cost, func(sequence int64) ([]byte, error) {
			answer := draft
			answer.Sequence = sequence
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

// Spend charges c under id without a draw: for a ballot sent to where another
// adds the noise. The same id and cost again charge nothing more; another cost
// is ErrConflict; ErrBudget and the fate of errors are as for Release.
func (l *Ledger) Spend(ctx context.Context, id string, c Cost) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("spend %q: %w", id, err)
	}
	body, err := encodeCosts([]Cost{c})
	if err != nil {
		return fmt.Errorf("spend %q: %w", id, err)
	}
	err = l.journal.Update(ctx, func(tx Tx) error {
		_, err := l.enter(tx, id, KindCharge, asked{terms: body}, c, func(int64) ([]byte, error) { return body, nil })
		return err
	})
	if err != nil {
		return fmt.Errorf("spend %q: %w", id, err)
	}
	return nil
}

// enter finds the entry of id or appends a new one, whose body is made last,
// after every check.
func (l *Ledger) enter(tx Tx, id, kind string, request asked, c Cost, body func(sequence int64) ([]byte, error)) (Entry, error) {
	if id == "" || len(id) > maxID || !utf8.ValidString(id) {
		return Entry{}, fmt.Errorf("the id has %d bytes, give 1 to %d of UTF-8", len(id), maxID)
	}
	if e, found, err := tx.Find(id); err != nil {
		return Entry{}, err
	} else if found {
		if e.Kind != kind || e.Request != request.under(e.Salt) {
			return Entry{}, ErrConflict
		}
		return e, nil
	}
	head, totals, err := l.ready(tx)
	if err != nil {
		return Entry{}, err
	}
	totals = totals.Plus(c)
	if err := l.allow(tx, c, totals); err != nil {
		return Entry{}, err
	}
	e := Entry{Sequence: head.Sequence + 1, ID: id, Kind: kind, Salt: l.salt(request)}
	e.Request = request.under(e.Salt)
	err = l.append(tx, head, &e, totals, body)
	return e, err
}

// allow says whether a charge may be made that leads to these totals.
func (l *Ledger) allow(tx Tx, c Cost, totals Totals) error {
	if err := keepLimits(l.config.Limits, l.rules, c, totals, "in all"); err != nil || len(l.config.PeriodLimits) == 0 {
		return err
	}
	name, spent, err := l.inPeriod(tx, totals)
	if err != nil {
		return err
	}
	return keepLimits(l.config.PeriodLimits, l.inTime, c, spent, fmt.Sprintf("in period %q", name))
}

// keepLimits says whether what was spent, c last, keeps limits, given their
// rules.
func keepLimits(limits map[Unit]Budget, rules map[Unit][]rule, c Cost, spent Totals, when string) error {
	for _, u := range Units() {
		g, limited := limits[u]
		if !limited {
			continue
		}
		if _, ok := c.At(u); !ok {
			return fmt.Errorf("it guarantees nothing at unit %v, which this ledger limits: %w", u, ErrUnproven)
		}
		if !spent[u].keep(rules[u]) {
			return fmt.Errorf("unit %v is limited to epsilon %g at delta %g %s: %w", u, g.Epsilon, g.Delta, when, ErrBudget)
		}
	}
	return nil
}

// maxID keeps ids to what any database indexes.
const maxID = 256

// append completes e and writes it.
func (l *Ledger) append(tx Tx, head Entry, e *Entry, totals Totals, body func(int64) ([]byte, error)) (err error) {
	if e.Totals, err = encodeTotals(totals); err != nil {
		return err
	}
	if e.Body, err = body(e.Sequence); err != nil {
		return err
	}
	e.Prev = head.Hash
	e.Hash = e.seal()
	return tx.Append(*e)
}

// Reconcile brings a ledger restored from a backup up to date: it charges the
// lost costs, those of the lost lines, and every reservation without an answer
// again, whatever the limits say, and moves the sequence number beyond Config.LastSequence. It names the lines, so that nobody
// pays for them again. The operator says what was lost (from releases kept
// elsewhere), or retires the ledger. An id that was lost may be drawn again,
// and is then charged again, so that both answers are paid for. On a ledger
// that is not behind it does nothing.
func (l *Ledger) Reconcile(ctx context.Context, lost []Cost, lines []Line) error {
	r := reconciliation{Costs: lost}
	for _, line := range lines {
		r.Paid = append(r.Paid, Paid{line.Hash, line.Costs})
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
		r.Costs = slices.Clone(lost) // a transaction may be tried again
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
		e := Entry{Sequence: l.config.LastSequence + 1, Kind: KindReconcile, Request: sha256.Sum256(body)}
		e.ID = fmt.Sprintf("reconcile/%d", e.Sequence)
		return l.append(tx, head, &e, totals, func(int64) ([]byte, error) { return body, nil })
	})
	if err != nil {
		return fmt.Errorf("reconcile ledger: %w", err)
	}
	return nil
}

// Totals returns what was spent so far, per unit.
func (l *Ledger) Totals(ctx context.Context) (Totals, error) {
	var t Totals
	err := l.journal.Update(ctx, func(tx Tx) error {
		head, found, err := tx.Head()
		if err == nil {
			t, err = totalsOf(head, found)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read ledger totals: %w", err)
	}
	return t, nil
}

// Line finds the line of a release or charge; false if there is none.
func (l *Ledger) Line(ctx context.Context, id string) (Line, bool, error) {
	return LineOf(ctx, l.journal, id)
}
