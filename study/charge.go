package study

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
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
	// Bound is what the noise is proved under, Exact what it then costs.
	Bound privacy.Bound
	Exact privacy.Cost
	// Matrix is the digest of public integers that the contributions are
	// multiplied by, zero where there are none.
	Matrix privacy.Digest
	// Cost is what is charged: never below Exact.
	Cost privacy.Cost
}

// declarer is a kind that knows its charges before anything is drawn.
type declarer interface {
	// charges also follow from the public weight of what was contributed, where
	// that is known; 0 is before.
	charges(p Plan, pool *auxdata.Pool, weight int64) ([]Charge, error)
}

// DeclaredCosts are the charges of a plan. They are never below what its
// releases cost, wherever the noise is added.
func DeclaredCosts(p Plan, pool *auxdata.Pool) ([]Charge, error) {
	return chargesOf(p, pool, 0)
}

// chargesOf are the charges for a public weight of contributions, ballots or
// records; 0 where it is not known yet.
func chargesOf(p Plan, pool *auxdata.Pool, weight int64) ([]Charge, error) {
	kind, err := KindNamed(p.Kind)
	if err != nil {
		return nil, err
	}
	d, ok := kind.(declarer)
	if !ok {
		return nil, planError("kind", "%q does not declare what it costs", p.Kind)
	}
	return d.charges(p, pool, weight)
}

// TermsOf digests what a plan's releases are made under: outputs, bounds,
// mechanisms, their parameters and matrices, as this machine computes them from plan and
// pool. Some follow from floating-point sums over the pool, which two kinds of
// processor may round differently.
func TermsOf(p Plan, pool *auxdata.Pool) (string, error) {
	charges, err := DeclaredCosts(p, pool)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, c := range charges {
		b, err := json.Marshal([]any{c.Output, c.Mechanism, c.Parameters, c.Bound, c.Matrix})
		if err != nil {
			return "", fmt.Errorf("digest terms: %w", err)
		}
		h.Write(append(b, '\n'))
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// CheckTerms refuses a plan that was made under other terms than this machine
// computes: what is released here would not be accepted there. It is asked
// before anything is charged.
func CheckTerms(p Plan, pool *auxdata.Pool) error {
	terms, err := TermsOf(p, pool)
	if err != nil {
		return err
	}
	if terms != p.Terms {
		return planError("terms", "this machine computes another bound or noise from plan and pool than the plan was made with: another version, or a processor that rounds differently; run the same version on the same kind of processor")
	}
	return nil
}

// ChargeAll charges a party's ledger for releases that another makes of what
// the party is about to send. It is idempotent: the same plan is charged once.
func ChargeAll(ctx context.Context, l *privacy.Ledger, plan Hash, charges []Charge) error {
	for _, c := range charges {
		if err := l.Spend(ctx, ReleaseID(plan, c.Output), c.Cost); err != nil {
			return fmt.Errorf("charge %s of study %s: %w", c.Output, plan, err)
		}
	}
	return nil
}

// charges: the noise of a Gaussian follows from plan and pool. That of output
// also follows from the number of ballots, but is calibrated to ε, which is
// what it is charged at.
func (classify) charges(p Plan, pool *auxdata.Pool, weight int64) ([]Charge, error) {
	q, err := questionOf(p, pool)
	if err != nil {
		return nil, err
	}
	if weight < 1 {
		weight = int64(max(p.Minimum, 1) * max(p.Shards, 1))
	}
	t, err := q.terms(weight)
	if err != nil {
		return nil, err
	}
	cost, err := privacy.CostOf(t.Mechanism, t.Bound)
	if err != nil {
		return nil, err
	}
	exact := cost
	if cost.Pure != nil {
		cost = privacy.PureCost(cost.Unit, cost.PerParty, new(big.Rat).SetFloat64(p.Epsilon))
	}
	return []Charge{{Output: t.Output, Mechanism: t.Mechanism.Name(), Parameters: privacy.ParametersOf(t.Mechanism), Bound: t.Bound, Exact: exact, Matrix: t.Matrix, Cost: cost}}, nil
}
