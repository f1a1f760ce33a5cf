package study

import (
	"context"
	"fmt"
	"math/big"

	"caucus/auxdata"
	"caucus/privacy"
)

// Charge is what a plan declares that one of its releases costs a unit, from
// public inputs alone, and by which mechanism.
type Charge struct {
	Output     string
	Mechanism  string
	Parameters map[string]string
	Cost       privacy.Cost
}

// declarer is a kind that knows its charges before anything is drawn.
type declarer interface {
	charges(Plan, *auxdata.Pool) ([]Charge, error)
}

// DeclaredCosts are the charges of a plan. They are never below what its
// releases cost, wherever the noise is added.
func DeclaredCosts(p Plan, pool *auxdata.Pool) ([]Charge, error) {
	kind, err := KindNamed(p.Kind)
	if err != nil {
		return nil, err
	}
	d, ok := kind.(declarer)
	if !ok {
		return nil, planError("kind", "%q does not declare what it costs", p.Kind)
	}
	return d.charges(p, pool)
}

// ChargeAll charges a party's ledger for releases that another makes of what
// the party is about to send. It is idempotent: the same plan is charged once.
func ChargeAll(ctx context.Context, l *privacy.Ledger, plan Hash, charges []Charge) error {
	for _, c := range charges {
		if err := l.Spend(ctx, releaseID(plan, c.Output), c.Cost); err != nil {
			return fmt.Errorf("charge %s of study %s: %w", c.Output, plan, err)
		}
	}
	return nil
}

// charges: the noise of a Gaussian follows from plan and pool. That of output
// also follows from the number of ballots, but is calibrated to ε, which is
// what it is charged at.
func (classify) charges(p Plan, pool *auxdata.Pool) ([]Charge, error) {
	q, err := questionOf(p, pool)
	if err != nil {
		return nil, err
	}
	t, err := q.terms(int64(max(p.Minimum, 1) * max(p.Shards, 1)))
	if err != nil {
		return nil, err
	}
	cost, err := privacy.CostOf(t.Mechanism, t.Bound)
	if err != nil {
		return nil, err
	}
	if cost.Pure != nil {
		cost = privacy.PureCost(cost.Unit, cost.PerParty, new(big.Rat).SetFloat64(p.Epsilon))
	}
	return []Charge{{Output: t.Output, Mechanism: t.Mechanism.Name(), Parameters: privacy.ParametersOf(t.Mechanism), Cost: cost}}, nil
}
