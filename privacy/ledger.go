package privacy

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"unicode/utf8"
)

// Config limits a ledger. The zero Config has no limits.
type Config struct {
	// Limits holds what may be spent in total, per unit. A unit without a limit is still counted. A
	// release that proves nothing at a limited unit is refused.
	Limits map[Unit]Budget
	// PeriodLimits holds what may be spent in one period, per unit, beside Limits: see Begin.
	PeriodLimits map[Unit]Budget
	// LastSequence is the highest sequence number known to be published, remembered outside the
	// journal. A journal whose head is lower was restored from a backup and has forgotten charges:
	// the ledger then releases nothing until Reconcile.
	LastSequence int64
}

// Validate checks LastSequence ≥ 0, and each limit's unit and budget. It names the field at fault.
func (c Config) Validate() error {
	if c.LastSequence < 0 {
		return fmt.Errorf("check ledger: last sequence is %d, give 0 or the highest published number", c.LastSequence)
	}
	for _, limits := range []map[Unit]Budget{c.Limits, c.PeriodLimits} {
		for u, g := range limits {
			if !u.Valid() {
				return fmt.Errorf("check ledger: limit for %v, use label, record, patient or party", u)
			}
			if err := g.Validate(); err != nil {
				return fmt.Errorf("check ledger: limit for %v: %w", u, err)
			}
		}
	}
	return nil
}

// Ledger is the only way out of a Sensitive. Its journal makes concurrent goroutines take turns.
type Ledger struct {
	journal Journal
	config  Config
	rules   map[Unit][]rule
	inTime  map[Unit][]rule // rules of PeriodLimits
	period  *period
	seed    *uint64 // makes a simulation's noise; nil: noise comes from the operating system
}

// Open opens a ledger on a journal. Its noise comes from the operating system (see system): no
// field, argument or setting can replace it.
func Open(j Journal, c Config) (*Ledger, error) {
	if j == nil {
		return nil, errors.New("open ledger: no journal given")
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	c.Limits, c.PeriodLimits = maps.Clone(c.Limits), maps.Clone(c.PeriodLimits)
	l := &Ledger{journal: j, config: c, rules: map[Unit][]rule{}, inTime: map[Unit][]rule{},
		period: new(period)}
	for u, g := range c.Limits {
		l.rules[u] = rules(g)
	}
	for u, g := range c.PeriodLimits {
		l.inTime[u] = rules(g)
	}
	return l, nil
}

// NewSimulation opens a ledger in memory, without limits, whose noise repeats for the same seed and
// id, whatever the order of releases. Its answers are marked simulated and do not marshal.
func NewSimulation(seed uint64) *Ledger {
	return &Ledger{journal: NewMemoryJournal(), period: new(period), seed: &seed}
}

// simulated reports whether a seed makes the noise. Every answer of such a ledger is marked
// simulated.
func (l *Ledger) simulated() bool { return l.seed != nil }

func (l *Ledger) dice(id string) dice {
	if !l.simulated() {
		return newDice(system{})
	}
	return newDice(rand.NewChaCha8(sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, *l.seed),
		id...))))
}

// enter returns the entry of id, or appends a new one. body makes the new entry's body, after every
// check.
func (l *Ledger) enter(tx Tx, id, kind string, request asked, c Cost,
	body func(sequence int64) ([]byte, error)) (Entry, error) {
	if id == "" || len(id) > maxID || !utf8.ValidString(id) {
		return Entry{}, fmt.Errorf("the id has %d bytes, give 1 to %d of UTF-8", len(id), maxID)
	}
	if e, found, err := tx.Find(id); err != nil {
		return Entry{}, err
	} else if found {
		if e.Kind != kind || e.RequestDigest != request.under(e.Salt) {
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
	e := Entry{Sequence: head.Sequence + 1, ID: id, Kind: kind, Salt: request.salt(l.simulated())}
	e.RequestDigest = request.under(e.Salt)
	err = l.append(tx, head, &e, totals, body)
	return e, err
}

func (l *Ledger) allow(tx Tx, c Cost, totals Totals) error {
	if err := keepLimits(l.config.Limits, l.rules, c, totals, "in all"); err != nil ||
		len(l.config.PeriodLimits) == 0 {
		return err
	}
	name, spent, err := l.inPeriod(tx, totals)
	if err != nil {
		return err
	}
	return keepLimits(l.config.PeriodLimits, l.inTime, c, spent, fmt.Sprintf("in period %q", name))
}

func keepLimits(limits map[Unit]Budget, rules map[Unit][]rule, c Cost, spent Totals,
	when string) error {
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

// maxID limits the bytes of an id. Any database can index keys of this length.
const maxID = 256

func (l *Ledger) append(tx Tx, head Entry, e *Entry, totals Totals,
	body func(int64) ([]byte, error)) (err error) {
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

func (l *Ledger) inPeriod(tx Tx, totals Totals) (name string, spent Totals, err error) {
	l.period.mu.Lock()
	defer l.period.mu.Unlock()
	if err := l.period.find(tx); err != nil {
		return "", nil, err
	}
	return l.period.name, totals.since(l.period.before), nil
}

// ready returns the last entry and the totals so far, or ErrBehind.
func (l *Ledger) ready(tx Tx) (head Entry, totals Totals, err error) {
	head, found, err := tx.Head()
	if err != nil {
		return Entry{}, nil, err
	}
	if head.Sequence < l.config.LastSequence {
		return Entry{}, nil, fmt.Errorf("its last entry is %d, but %d was published: %w",
			head.Sequence, l.config.LastSequence, ErrBehind)
	}
	totals, err = totalsOf(head, found)
	return head, totals, err
}
