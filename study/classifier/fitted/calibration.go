package fitted

import (
	"fmt"

	"caucus/aggregation/fitting"
	"caucus/study"
	"caucus/study/classifier"
)

// NotProbabilities begins the warning that says why a calibration failed.
const NotProbabilities = "the classifier gives scores, not probabilities: "

// mostSlopeSD bounds the slope's relative standard deviation. At twice this bound, a probability of
// 0.20 could be reported as 0.25.
const mostSlopeSD = 0.15

// WhyOnlyScores says why a slope gives no probabilities, "" if the slope gives them. slopeError is
// the slope's relative standard deviation, 0 if there is no slope. from names the released numbers,
// for the text.
func WhyOnlyScores(from string, slopeError float64) string {
	switch {
	case !(slopeError > 0):
		return from + " leave no slope that makes its numbers into them"
	case slopeError > mostSlopeSD:
		return fmt.Sprintf("by noise and sampling the slope that makes its numbers into them is known to %.2g of itself only, %.2g is asked for. Use more records or a larger ε", slopeError, mostSlopeSD)
	}
	return ""
}

// NewScores returns the classifier of a fit that gives scores, and a warning that says why.
func NewScores(p study.Plan, fit fitting.Fit, why string) (classifier.Classifier, []string) {
	c, warnings := New(p, fit, classifier.Score)
	if fit.Lambda > 0 { // with λ = 0, New has already warned that noise left nothing
		warnings = append(warnings, NotProbabilities+why)
	}
	return c, warnings
}

// NewCalibrated returns the classifier of a calibrated fit. It gives scores if the calibration is
// missing (nil) or too uncertain (WhyOnlyScores). from names the released numbers, for a warning.
// last is the constant in the last column of mapped rows.
func NewCalibrated(p study.Plan, fit fitting.Fit, of *fitting.Calibration, from string,
	last float64) (classifier.Classifier, []string) {
	if why := WhyOnlyScores(from, of.RelativeSlopeSD()); why != "" {
		return NewScores(p, fit, why)
	}
	fit.Model = of.Apply(fit.Model, last)
	c, warnings := New(p, fit, classifier.Probability)
	c.Calibration = &classifier.Calibration{Intercept: of.Intercept, Slope: of.Slope,
		SlopeSD: of.SlopeSD, Low: of.Low, High: of.High}
	return c, warnings
}
