package classifier

import (
	"fmt"
	"math"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
)

// Coefficients say what a classifier's log-odds hang on, column by column in the
// schema's own units, with intervals where their coverage was shown.
type Coefficients struct {
	// Class is what the log-odds are of: the second of two.
	Class string        `json:"class"`
	Of    []Coefficient `json:"of"`
}

// Coefficient is the mean difference in log-odds that a contrast makes, all else alike.
type Coefficient struct {
	Contrast
	// LogOdds, its standard deviation and its 95 % interval are of privacy noise and of
	// sampling; nil where Untold says why there is none.
	LogOdds *Estimate `json:"log_odds,omitempty"`
	Untold  string    `json:"untold,omitempty"`
}

// Estimate is a number with what it may be off by.
type Estimate struct {
	Value float64 `json:"value"`
	SD    float64 `json:"sd"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// What an interval asks for. They were chosen so that intervals hold what they are of,
// and judged on other data sets: docs/analyst.md.
const (
	// mostBent is how far from 1 the share of a contrast may be that the map keeps.
	mostBent = 0.1
	// mostAgain, of the standard deviation, a second step may move an estimate.
	mostAgain = 0.5
	// leastRows of the pool have a level.
	leastRows = 20
	// mostOdds either way beside 1: an interval that holds 1 and is as wide says
	// nothing.
	mostOdds = 10
)

// NewCoefficients are those of a fit to released sums, nil where it has none: more than
// two classes, or no model better than noise.
func NewCoefficients(p study.Plan, pool *auxdata.Pool, fit aggregation.CrossFit) *Coefficients {
	all := Diagnose(p.Schema, p.Map, pool, fit)
	if all == nil {
		return nil
	}
	out := &Coefficients{Class: p.Schema.Classes()[1]}
	for _, d := range all {
		out.Of = append(out.Of, d.Coefficient)
	}
	return out
}

func (c contrasted) coefficient(along aggregation.Contrast) Coefficient {
	out := Coefficient{Contrast: c.Contrast, Untold: Untold(along, c.kept, c.rows)}
	if out.Untold == "" {
		off := aggregation.Normal95 * along.SD
		out.LogOdds = &Estimate{Value: along.Value, SD: along.SD, Low: along.Value - off, High: along.Value + off}
	}
	return out
}

// Untold says why a contrast has no interval, "" where it has one. The map keeps so much
// of the contrast (1: all), and so many of the pool's rows have what it is about.
func Untold(c aggregation.Contrast, kept float64, rows int) string {
	switch {
	case rows < leastRows:
		return fmt.Sprintf("fewer than %d rows of the pool have it", leastRows)
	case !c.Seen || !(math.Abs(kept-1) <= mostBent):
		return "the study's map does not tell it from other columns"
	case !(math.Abs(c.Again) <= mostAgain*c.SD):
		return "the fit is too far from it for its error to be known"
	}
	return ""
}

// Diagnosed is a contrast with all that decides about its interval, for those who
// measure what intervals hold.
type Diagnosed struct {
	Coefficient
	aggregation.Contrast
	By   []float64
	Kept float64
	Rows int
}

// Diagnose is NewCoefficients with what decided.
func Diagnose(s dataset.Schema, m dataset.Map, pool *auxdata.Pool, fit aggregation.CrossFit) (all []Diagnosed) {
	of, ok := fit.OneStep()
	if !ok {
		return nil
	}
	for _, c := range contrastsOf(s, m, pool) {
		along := of.Along(c.by)
		all = append(all, Diagnosed{c.coefficient(along), along, c.by, c.kept, c.rows})
	}
	return all
}
