package study

import (
	"context"
	"fmt"

	"caucus/auxdata"
	"caucus/privacy"
)

// Conclude releases a folded sum's asks through the aggregator's ledger and
// makes the release document. Repeating it after a crash gives the same
// publications and spends nothing more. Plan bytes are the caller's to fill in.
func Conclude(ctx context.Context, s *Study, kind Kind, pool *auxdata.Pool, sum Sum, ledger *privacy.Ledger) (Release, error) {
	m := len(s.Received)
	asks, err := sum.Asks(m)
	if err != nil {
		return Release{}, fmt.Errorf("conclude study: %w", err)
	}
	published, err := Settle(ctx, ledger, s.Hash, asks)
	if err != nil {
		return Release{}, fmt.Errorf("conclude study: %w", err)
	}
	result, err := kind.Finish(s.Plan, pool, m, sum, published)
	if err != nil {
		return Release{}, fmt.Errorf("conclude study: %w", err)
	}
	contributed, missing := s.Contributors()
	r := Release{
		PlanHash: s.Hash, Parties: m, Contributed: contributed, Missing: missing,
		Simulated: s.Plan.Simulated, Result: result,
	}
	if s.Plan.Weights != nil {
		r.Result.Totals = s.Plan.Totals()
	} else if pool.Weight != nil {
		r.Result.Warnings = append(r.Result.Warnings, "the pool has weights and the plan does not say where they come from: if they were made of private records, what they cost is not counted here")
	}
	for i, p := range published {
		if p.Simulated != s.Plan.Simulated {
			return Release{}, fmt.Errorf("conclude study: a simulated ledger and a real plan do not go together")
		}
		r.Costs = append(r.Costs, costOf(asks[i].Output, p, s.Plan))
	}
	if len(published) == 0 { // every party released its own part
		charges, err := DeclaredCosts(s.Plan, pool)
		if err != nil {
			return Release{}, fmt.Errorf("conclude study: %w", err)
		}
		for _, c := range charges {
			r.Costs = append(r.Costs, costOf(c.Output, privacy.Published{Mechanism: c.Mechanism, Parameters: c.Parameters, Cost: c.Cost, Bound: privacy.Bound{Unit: c.Cost.Unit}}, s.Plan))
		}
	}
	if len(missing) > 0 {
		r.Result.Warnings = append(r.Result.Warnings, fmt.Sprintf("%d of %d parties did not contribute: the result stands for those that did", len(missing), len(s.Plan.Roster)))
	}
	return r, nil
}

// costOf describes a publication at the plan's budget.
func costOf(output string, p privacy.Published, plan Plan) ReleaseCost {
	c := ReleaseCost{
		Output: output, Mechanism: p.Mechanism, Parameters: p.Parameters, Unit: p.Bound.Unit,
		Epsilon: plan.Epsilon, Delta: plan.Delta,
	}
	if p.Cost.Rho != nil {
		c.Rho, _ = p.Cost.Rho.Float64()
	}
	if p.Cost.Pure != nil {
		c.Delta = 0
	}
	return c
}
