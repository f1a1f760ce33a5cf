package site

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"caucus/privacy"
	"caucus/protocol"
	"caucus/study"
)

// Spending compares the ledger's totals with the policy's limits: for all time, or for a year.
type Spending struct {
	Year  string // "" for all time
	Most  map[privacy.Unit]privacy.Budget
	Spent privacy.Totals
}

// TotalsAfter predicts the totals with these costs added. It charges nothing.
func (s Spending) TotalsAfter(costs []privacy.Cost) privacy.Totals {
	after := s.Spent
	for _, c := range costs {
		after = after.Plus(c)
	}
	return after
}

// Objections predicts which limits a charge would exceed, one on each line. The ledger decides at
// the charge.
func (s Spending) Objections(costs []privacy.Cost) []string {
	after, when := s.TotalsAfter(costs), ""
	if s.Year != "" {
		when = "for " + s.Year + " "
	}
	var out []string
	for _, u := range privacy.Units() {
		if most, ok := s.Most[u]; ok && !(after[u].Epsilon(most.Delta) <= most.Epsilon) {
			out = append(out, fmt.Sprintf("the ledger has ε = %.3g of %g left %sat unit %s (δ = %g), too little for this study",
				max(0, most.Epsilon-s.Spent[u].Epsilon(most.Delta)), most.Epsilon, when, u,
				most.Delta))
		}
	}
	return out
}

// Spending returns the spending of all time, and of this year.
func (s *Site) Spending(ctx context.Context) ([]Spending, error) {
	spent, err := s.Ledger.Totals(ctx)
	if err != nil {
		return nil, err
	}
	year, inYear, err := s.Ledger.CurrentPeriod(ctx)
	if err != nil {
		return nil, err
	}
	// The next charge begins a new year.
	if now := YearOf(s.Config.Now(), 0); now > year {
		if year != "" {
			inYear = privacy.NewTotals()
		}
		year = now
	}
	return []Spending{{"", s.Config.Policy.TotalLimit, spent},
		{year, s.Config.Policy.YearLimit, inYear}}, nil
}

// MaxYearSkew is the largest difference between this machine's clock and the coordinator's at
// which a charge is dated. So a coordinator can move the end of a year by at most this much.
const MaxYearSkew = time.Hour

// YearOf is the UTC year on which this clock and the coordinator's agree. Around a new year it is
// the earlier one, so that a fast clock begins no year early. It is "" if the clocks differ by more
// than MaxYearSkew. Without this bound, a coordinator whose clock is years behind could begin one
// old year after another, each with its own budget. Setting a clock back returns no budget
// (privacy.Ledger.BeginPeriod).
func YearOf(now time.Time, skew time.Duration) string {
	if skew.Abs() > MaxYearSkew {
		return ""
	}
	return fmt.Sprintf("%04d", min(now.UTC().Year(), now.Add(skew).UTC().Year()))
}

type dayTaken struct {
	Day     string       `json:"day"` // UTC
	Studies []study.Hash `json:"studies"`
}

// CountStudyToday counts a study among this day's studies, once. Call it before the study is
// charged. It returns false if the policy allows no more studies today. Days are this machine's,
// and setting its clock back repeats none.
func (s *Site) CountStudyToday(d StudyFolder, h study.Hash) (bool, error) {
	if d.Has(FileRecords) { // counted on another day, and now prepared again
		return true, nil
	}
	file := filepath.Join(s.Config.State, "day.json")
	var t dayTaken
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &t)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("read how many studies were taken up today, %s: %w: remove it if that stays so", file, err)
	}
	if today := s.Config.Now().UTC().Format(time.DateOnly); today > t.Day {
		t = dayTaken{Day: today}
	}
	if slices.Contains(t.Studies, h) {
		return true, nil
	}
	if len(t.Studies) >= s.Config.Policy.DailyLimit() {
		return false, nil
	}
	t.Studies = append(t.Studies, h)
	if b, err = json.Marshal(t); err != nil {
		return false, err
	}
	return true, protocol.WriteSecret(file, append(b, '\n'))
}
