package site

import (
	"context"
	"fmt"
	"time"

	"caucus/privacy"
)

// Spending is what was spent under limits of the policy: in all, or in a year.
type Spending struct {
	Year  string // "" in all
	Most  map[privacy.Unit]privacy.Budget
	Spent privacy.Totals
}

func (s Spending) After(costs []privacy.Cost) privacy.Totals {
	after := s.Spent
	for _, c := range costs {
		after = after.Plus(c)
	}
	return after
}

// Objections says which limits a charge would pass, one a line. It is a
// forecast: the ledger decides when it is charged.
func (s Spending) Objections(costs []privacy.Cost) []string {
	after, when := s.After(costs), ""
	if s.Year != "" {
		when = "for " + s.Year + " "
	}
	var out []string
	for _, u := range privacy.Units() {
		if most, ok := s.Most[u]; ok && !(after[u].Epsilon(most.Delta) <= most.Epsilon) {
			out = append(out, fmt.Sprintf("the ledger has ε = %.3g of %g left %sat unit %s (δ = %g), too little for this study",
				max(0, most.Epsilon-s.Spent[u].Epsilon(most.Delta)), most.Epsilon, when, u, most.Delta))
		}
	}
	return out
}

// Spending is what the ledger holds, of all time and of this year.
func (s *Site) Spending(ctx context.Context) ([]Spending, error) {
	spent, err := s.Ledger.Totals(ctx)
	if err != nil {
		return nil, err
	}
	year, inYear, err := s.Ledger.Period(ctx)
	if err != nil {
		return nil, err
	}
	// The next charge begins a year that has not begun.
	if now := YearOf(s.Config.Now(), 0); now > year {
		if year != "" {
			inYear = privacy.NewTotals()
		}
		year = now
	}
	return []Spending{{"", s.Config.Policy.Total, spent}, {year, s.Config.Policy.Year, inYear}}, nil
}

// MaxDatedSkew is how far the clocks may be apart for a charge to be dated. A
// coordinator can move the end of a year by so much and by no more.
const MaxDatedSkew = time.Hour

// YearOf is the year in UTC that this clock and the coordinator's agree on: the
// earlier one where they differ around a new year, so that a clock that runs
// ahead begins no year early, and "" where they are further apart. Otherwise a
// coordinator whose clock is years behind could open one old year after the
// other, each with its budget. That a clock is put back gives nothing back is
// the ledger's doing: see privacy.Ledger.Begin.
func YearOf(now time.Time, skew time.Duration) string {
	if skew.Abs() > MaxDatedSkew {
		return ""
	}
	return fmt.Sprintf("%04d", min(now.UTC().Year(), now.Add(skew).UTC().Year()))
}
