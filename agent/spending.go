package agent

import (
	"fmt"

	"caucus/privacy"
)

// spending is what was spent under limits of the policy: in all, or in a year.
type spending struct {
	year  string // "" in all
	most  map[privacy.Unit]privacy.Budget
	spent privacy.Totals
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
