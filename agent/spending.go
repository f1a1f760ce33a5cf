package agent

import (
	"context"
	"fmt"

	"caucus/privacy"
)

// spending is what was spent under limits of the policy: in all, or in a year.
type spending struct {
	year  string // "" in all
	most  map[privacy.Unit]privacy.Budget
	spent privacy.Totals
}

// spending is what the ledger holds, of all time and of this year.
func (s *state) spending(ctx context.Context) ([]spending, error) {
	spent, err := s.ledger.Totals(ctx)
	if err != nil {
		return nil, err
	}
	year, inYear, err := s.ledger.Period(ctx)
	if err != nil {
		return nil, err
	}
	// The next charge begins a year that has not begun.
	if now := yearOf(s.config.now(), 0); now > year {
		if year != "" {
			inYear = privacy.NewTotals()
		}
		year = now
	}
	return []spending{{"", s.config.Policy.Total, spent}, {year, s.config.Policy.Year, inYear}}, nil
}

func (s spending) after(costs []privacy.Cost) privacy.Totals {
	after := s.spent
	for _, c := range costs {
		after = after.Plus(c)
	}
	return after
}

// objections says which limits a charge would pass, one a line. It is a
// forecast: the ledger decides when it is charged.
func (s spending) objections(costs []privacy.Cost) []string {
	after, when := s.after(costs), ""
	if s.year != "" {
		when = "for " + s.year + " "
	}
	var out []string
	for _, u := range privacy.Units() {
		if most, ok := s.most[u]; ok && !(after[u].Epsilon(most.Delta) <= most.Epsilon) {
			out = append(out, fmt.Sprintf("the ledger has ε = %.3g of %g left %sat unit %s (δ = %g), too little for this study",
				max(0, most.Epsilon-s.spent[u].Epsilon(most.Delta)), most.Epsilon, when, u, most.Delta))
		}
	}
	return out
}
