package fitted

import (
	"fmt"
	"math"

	"caucus/aggregation"
	"caucus/aggregation/fitting"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
)

// Coefficients explain a classifier's log-odds column by column, in the schema's units. A
// coefficient has an interval only under the conditions below, for which the coverage of intervals
// was measured.
type Coefficients struct {
	Class string        `json:"class"` // the class that the log-odds are for, the second of two
	Of    []Coefficient `json:"of"`
}

// Coefficient is the mean change in log-odds when a record changes by a contrast, all else equal.
type Coefficient struct {
	Contrast
	// with errors from noise and sampling; nil if UnknownReason gives a reason
	LogOdds       *Estimate `json:"log_odds,omitempty"`
	UnknownReason string    `json:"untold,omitempty"`
}

// Estimate is a number with its standard deviation and 95 % interval.
type Estimate struct {
	Value float64 `json:"value"`
	SD    float64 `json:"sd"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// Conditions for an interval. They were chosen on some data sets so that intervals cover the truth,
// and tested on other data sets (docs/analyst.md).
const (
	mostBent = 0.1 // largest distance of contrasted.kept from 1
	// largest change of an estimate by a second Newton step, in the estimate's standard deviations
	mostAgain = 0.5
	leastRows = 20 // fewest pool rows with a contrast's level
	mostOdds  = 10 // an interval that includes 1 and is wider than 1/10 to 10 is useless
)

// NewCoefficients returns nil for more than two classes, and for noise so large that no model is
// useful.
func NewCoefficients(p study.Plan, pool *auxdata.Pool, fit fitting.CrossFit) *Coefficients {
	all := DiagnoseContrasts(p.Schema, p.Map, pool, fit)
	if all == nil {
		return nil
	}
	out := &Coefficients{Class: p.Schema.Classes()[1]}
	for _, d := range all {
		out.Of = append(out.Of, d.Coefficient)
	}
	return out
}

func (c contrasted) coefficient(along fitting.Contrast) Coefficient {
	out := Coefficient{Contrast: c.Contrast, UnknownReason: ReasonWithoutInterval(along, c.kept,
		c.rows)}
	if out.UnknownReason == "" {
		off := aggregation.Normal95 * along.SD
		out.LogOdds = &Estimate{Value: along.Value, SD: along.SD, Low: along.Value - off,
			High: along.Value + off}
	}
	return out
}

// MapLosesContrast is the reason for no interval if the study's map loses the contrast.
const MapLosesContrast = "the study's map does not tell it from other columns"

// ReasonWithoutInterval says why a contrast has no interval, "" if it has one. kept and rows are as
// in contrasted.
func ReasonWithoutInterval(c fitting.Contrast, kept float64, rows int) string {
	switch {
	case rows < leastRows:
		return fmt.Sprintf("fewer than %d rows of the pool have it", leastRows)
	case !c.VariesInPool || !(math.Abs(kept-1) <= mostBent):
		return MapLosesContrast
	case !(math.Abs(c.SecondStepChange) <= mostAgain*c.SD):
		return "the fit is too far from it for its error to be known"
	}
	return ""
}

// ContrastDiagnosis is a contrast with the numbers that decide whether it has an interval, for
// measurements of coverage.
type ContrastDiagnosis struct {
	Coefficient
	fitting.Contrast
	By   []float64
	Kept float64
	Rows int
}

// DiagnoseContrasts returns what NewCoefficients computes for each contrast, with its intermediate
// values; nil without a one-step estimate.
func DiagnoseContrasts(s dataset.Schema, m dataset.Map, pool *auxdata.Pool,
	fit fitting.CrossFit) (all []ContrastDiagnosis) {
	of, ok := fit.OneStep()
	if !ok {
		return nil
	}
	for _, c := range contrastsOf(s, m, pool) {
		along := of.EstimateContrast(c.change)
		all = append(all, ContrastDiagnosis{c.coefficient(along), along, c.change, c.kept, c.rows})
	}
	return all
}

// ForecastContrasts lists the contrasts that NewCoefficients will have. It sets Untold where map
// and pool rule out an interval.
func ForecastContrasts(s dataset.Schema, m dataset.Map, pool *auxdata.Pool) (all []Coefficient) {
	for _, c := range contrastsOf(s, m, pool) {
		all = append(all, Coefficient{Contrast: c.Contrast,
			UnknownReason: ReasonWithoutInterval(fitting.Contrast{VariesInPool: true}, c.kept,
				c.rows)})
	}
	return all
}
