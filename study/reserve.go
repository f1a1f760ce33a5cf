package study

import (
	"context"
	"fmt"

	"caucus/auxdata"
	"caucus/privacy"
)

// Reservation is a release that a party is going to make itself, on terms that
// are known before it has read a record.
type Reservation struct {
	Output string
	Terms  privacy.Terms
}

// reserver is a kind whose releases at the party follow from public numbers.
type reserver interface {
	// reservations are what Draft asks of exactly so many records.
	reservations(p Plan, pool *auxdata.Pool, records int) ([]Reservation, error)
}

// Reservations are what Draft is going to ask of a party with so many records,
// from plan, pool and that public number alone: outputs, mechanisms, bounds and
// lengths; none where the party itself releases nothing.
func Reservations(p Plan, pool *auxdata.Pool, records int) ([]Reservation, error) {
	kind, err := KindNamed(p.Kind)
	if err != nil {
		return nil, err
	}
	r, ok := kind.(reserver)
	if !ok {
		return nil, planError("kind", "%q does not say what a party releases before it has read its records", p.Kind)
	}
	return r.reservations(p, pool, records)
}

// Reserve charges a party's ledger for a plan before its records are read: for
// what the party releases itself and, where another adds the noise, for what
// that one's releases cost. It is idempotent: the same plan is charged once.
// Settle then completes the reservations.
func Reserve(ctx context.Context, l *privacy.Ledger, plan Hash, reserved []Reservation, charges []Charge) error {
	if len(reserved) == 0 {
		return ChargeAll(ctx, l, plan, charges)
	}
	for _, r := range reserved {
		if err := l.Reserve(ctx, ReleaseID(plan, r.Output), r.Terms); err != nil {
			return fmt.Errorf("charge %s of study %s: %w", r.Output, plan, err)
		}
	}
	return nil
}

func (t terms) reserve(length int) []Reservation {
	return []Reservation{{t.Output, privacy.Terms{Mechanism: t.Mechanism, Bound: t.Bound, Length: length, Source: t.Matrix}}}
}

func (classify) reservations(p Plan, pool *auxdata.Pool, _ int) ([]Reservation, error) {
	q, err := questionOf(p, pool)
	if err != nil || p.Noise == NoiseCoordinator {
		return nil, err
	}
	t, err := q.terms(1) // those of a mechanism that sites release do not depend on the weight
	if err != nil {
		return nil, err
	}
	return t.reserve(q.releasedCells()), nil
}

func (reweigh) reservations(p Plan, pool *auxdata.Pool, _ int) ([]Reservation, error) {
	w, err := weighOf(p, pool)
	if err != nil || p.Noise == NoiseCoordinator {
		return nil, err
	}
	t, err := w.terms(1)
	if err != nil {
		return nil, err
	}
	return t.reserve(w.cells()), nil
}

// reservations of labels: a number for each record that is sent.
func (labels) reservations(p Plan, pool *auxdata.Pool, records int) ([]Reservation, error) {
	if err := samePool(p, pool); err != nil {
		return nil, err
	}
	n := min(records, p.Labels.MaxRecords)
	t, err := labelTerms(p)
	if err != nil || n < 1 {
		return nil, err
	}
	return t.reserve(n), nil
}

func (ratioKind) reservations(p Plan, pool *auxdata.Pool, _ int) ([]Reservation, error) {
	if err := samePool(p, pool); err != nil {
		return nil, err
	}
	d, err := ratioTerms(p)
	if err != nil {
		return nil, err
	}
	sets := p.Ratio.sets(d.classes)
	d.Bound = d.boundFor(sets)
	return d.reserve(sets * d.block), nil
}

// sets is how many sets each party sends, from the plan alone: where the values
// of a column name them, those that a party lacks are sent empty, so that what
// it releases, and is charged, is known before its records are.
func (t RatioTerms) sets(classes int) int {
	switch t.Sets {
	case SetsColumn:
		return t.MaxSets
	case SetsMade:
		return classes
	}
	return 1
}
