package classifier

import (
	"fmt"

	"caucus/aggregation"
	"caucus/study"
)

// Calibration says how a fit's scores were made into probabilities: scores s, one a
// column of Weights, became Slope·s + Intercept. The classifier's Weights hold the
// result already; apply it to nothing.
type Calibration struct {
	// Intercept has one number a column of Weights.
	Intercept []float64 `json:"intercept"`
	Slope     float64   `json:"slope"`
	// SlopeSD is the slope's standard deviation, of privacy noise and of sampling;
	// Low and High are its 95 % interval.
	SlopeSD float64 `json:"slope_sd"`
	Low     float64 `json:"slope_low"`
	High    float64 `json:"slope_high"`
}

// NotProbabilities begins the warning that says why a calibration failed.
const NotProbabilities = "the classifier gives scores, not probabilities: "

// mostSlopeSD is how unsure a slope may be, of itself, for numbers to be called
// probabilities: with twice that a fifth is taken for a quarter.
const mostSlopeSD = 0.15

// WhyScores says why a classifier whose slope is known to so much of itself gives no
// probabilities, "" where it does; 0 is no slope at all. from says what was released.
func WhyScores(from string, slopeError float64) string {
	switch {
	case !(slopeError > 0):
		return from + " leave no slope that makes its numbers into them"
	case slopeError > mostSlopeSD:
		return fmt.Sprintf("by noise and sampling the slope that makes its numbers into them is known to %.2g of itself only, %.2g is asked for. Use more records or a larger ε", slopeError, mostSlopeSD)
	}
	return ""
}

// NewScores is the classifier of a fit that gives scores, and says why no probabilities.
func NewScores(p study.Plan, fit aggregation.Fit, why string) (Classifier, []string) {
	c, warnings := New(p, fit, Score)
	if fit.Lambda > 0 { // else that was said
		warnings = append(warnings, NotProbabilities+why)
	}
	return c, warnings
}

// NewCalibrated is the classifier of a fit made to give probabilities, or its scores where
// the slope is not known well enough (WhyScores); of is nil where there is none, from
// what was released, and last the last number of every mapped row.
func NewCalibrated(p study.Plan, fit aggregation.Fit, of *aggregation.Calibration, from string, last float64) (Classifier, []string) {
	if why := WhyScores(from, of.Error()); why != "" {
		return NewScores(p, fit, why)
	}
	fit.Model = of.Apply(fit.Model, last)
	c, warnings := New(p, fit, Probability)
	c.Calibration = calibrationOf(*of)
	return c, warnings
}

func calibrationOf(of aggregation.Calibration) *Calibration {
	return &Calibration{Intercept: of.Intercept, Slope: of.Slope, SlopeSD: of.SlopeSD, Low: of.Low, High: of.High}
}
