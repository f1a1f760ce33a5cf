package forecast

import (
	"fmt"
	"slices"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/classifier/fitted"
	"caucus/study/classify/trained"
)

// Coefficients say which odds ratios of a plan's release will have an interval, and how wide.
type Coefficients struct {
	NoneReason string `json:"none,omitempty"` // why no release of the plan can have odds ratios
	// share of draws whose classifier gives probabilities; only these have odds ratios
	ProbabilityShare float64       `json:"known"`
	Of               []Coefficient `json:"of,omitempty"`
}

// Coefficient is the forecast for one coefficient. If map and pool rule out an interval, no release
// has one. Else the records and the noise decide.
type Coefficient struct {
	fitted.Contrast
	Interval      bool    `json:"interval"` // at least half of the draws gave an interval
	IntervalShare float64 `json:"chance"`   // share of the draws that gave an interval
	// half the width of the interval of log-odds, median of the draws
	HalfWidth        float64 `json:"half_width,omitempty"`
	NoIntervalReason string  `json:"because,omitempty"` // why there is no interval
	TermToChange     string  `json:"change,omitempty"`  // what would change that
}

const (
	changeNoise = "more records or a larger epsilon" // of an interval that is too wide
	changePool  = "a pool with more rows of it"
	// changeKind is for what neither map nor pool nor records surely mend: rows that the map bends,
	// and scores of a rare class, whose calibration the pool limits.
	changeKind = "kind regress, of few columns, where its forecast has an interval"
)

// newCoefficients makes the forecast from the draws, and what map and pool rule out
// (fitted.ForecastContrasts).
func newCoefficients(p study.Plan, pool *auxdata.Pool, draws []drawn) *Coefficients {
	out := &Coefficients{NoneReason: trained.NoCoefficients(p)}
	if out.NoneReason != "" {
		return out
	}
	all, whole := fitted.ForecastContrasts(p.Schema, p.Map, pool), []fitted.Coefficient(nil)
	// a map that keeps every direction
	every := dataset.Components{Project: dataset.ComponentCount(p.Schema.Dim())}
	if m, err := every.Fit(p.Schema, pool.Encoded); err == nil {
		whole = fitted.ForecastContrasts(p.Schema, m, auxdata.NewSimulated(pool.Encoded, m))
	}
	for _, d := range draws {
		if d.coefficients != nil {
			out.ProbabilityShare += 1 / float64(len(draws))
		}
	}
	for i, f := range all {
		c := Coefficient{Contrast: f.Contrast, NoIntervalReason: f.UnknownReason,
			TermToChange: changePool}
		switch {
		case f.UnknownReason == "":
			c.expect(i, draws)
		case f.UnknownReason == fitted.MapLosesContrast && whole != nil &&
			whole[i].UnknownReason == "":
			c.TermToChange = fmt.Sprintf("map.project: %d", every.Project)
		case f.UnknownReason == fitted.MapLosesContrast:
			c.TermToChange = changeKind
		}
		out.Of = append(out.Of, c)
	}
	return out
}

// expect summarises the draws of the i-th coefficient, for which map and pool allow an interval.
func (c *Coefficient) expect(i int, draws []drawn) {
	var widths []float64
	why := "its release gives scores, which have no odds ratio"
	for _, d := range draws {
		if d.coefficients == nil {
			continue
		}
		if e := d.coefficients.Of[i]; e.LogOdds != nil {
			widths = append(widths, (e.LogOdds.High-e.LogOdds.Low)/2)
		} else {
			why = e.UnknownReason
		}
	}
	c.TermToChange, c.IntervalShare = "", float64(len(widths))/float64(len(draws))
	if slices.Sort(widths); len(widths) > 0 {
		c.HalfWidth = widths[len(widths)/2]
	}
	if c.Interval = c.IntervalShare >= .5; !c.Interval {
		c.NoIntervalReason, c.TermToChange = why, changeKind
	} else if (fitted.Estimate{Low: -c.HalfWidth, High: c.HalfWidth}).Noise() {
		c.TermToChange = changeNoise
	}
}

// Words says how many coefficients are expected to have an interval.
func (of *Coefficients) Words() string {
	if of.NoneReason != "" {
		return "none: " + of.NoneReason
	}
	told := 0
	for _, c := range of.Of {
		if c.Interval {
			told++
		}
	}
	words := fmt.Sprintf("%d of %d are expected to have a 95 %% interval", told, len(of.Of))
	if scores := 100 * (1 - of.ProbabilityShare); scores > .5 {
		words += fmt.Sprintf("; in %.0f %% of the draws the release gave scores, which have no odds ratio", scores)
	}
	if told < len(of.Of) {
		words += "; for others " + fitted.UseRegress
	}
	return words
}

// Rows make a table of the coefficients: the contrast, its interval or why it has none, and the
// term to change. Levels without an interval for the same reason share a row.
func (of *Coefficients) Rows() (rows [][]string) {
	at, count := map[string]int{}, map[string]int{}
	for _, c := range of.Of {
		row, same := []string{c.Words(), "", c.NoIntervalReason, c.TermToChange},
			c.Column+"\n"+c.NoIntervalReason
		if c.Interval {
			same, row[1] = c.Words(), fmt.Sprintf("odds ratio ÷ %[1]s to odds ratio × %[1]s",
				fitted.OddsText(c.HalfWidth))
			if c.IntervalShare < 1 {
				row[1] += fmt.Sprintf(", in %.0f %% of draws", 100*c.IntervalShare)
			}
		}
		if same += c.TermToChange; count[same] == 0 {
			at[same], rows = len(rows), append(rows, row)
		} else {
			rows[at[same]][0] = fmt.Sprintf("%s (%d differences)", c.Column, count[same]+1)
		}
		count[same]++
	}
	return rows
}
