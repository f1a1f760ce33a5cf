package main

import (
	"testing"

	"caucus/aggregation/fitting"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
	"caucus/study/classify/trained"
	"caucus/study/kinds/results"
	"caucus/study/labels/learned"
)

// TestWithClassifier: a release with a recalibrated classifier still has its kind's form, so that
// it can be exported, and no words about the old numbers.
func TestWithClassifier(t *testing.T) {
	old := classifier.Classifier{Classes: []string{"no", "yes"}, Weights: [][]float64{{1}, {2}},
		Output: classifier.Score, Lambda: .1}
	line := &classifier.Calibration{Intercept: []float64{.5}, Slope: 2, SlopeSD: .1, Low: 1.8,
		High: 2.2}
	recalibrated := classifier.Classifier{Classes: old.Classes, Weights: [][]float64{{2}, {4.5}},
		Output: classifier.Probability, Calibration: line, Lambda: .1}
	shares := fitting.LabelShares{Share: []float64{.5, .5}, Projected: []float64{.5, .5},
		Error: []float64{.1, .1}}
	for kind, body := range map[string]any{
		"classify": trained.Result{Classifier: old, Coefficients: &fitted.Coefficients{Class: "yes"}},
		"labels":   learned.Result{Classifier: old, Records: 10, Keep: .7, Loss: "logistic", Risk: "accuracy", Correction: "backward", Shares: shares, SlopeError: .2},
	} {
		result, err := study.NewResult(body, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := study.Release{Manifest: study.Manifest{Kind: kind}, Result: result}
		if r.Result, err = withClassifier(r, recalibrated, []string{"why"}); err != nil {
			t.Fatal(err)
		}
		named, err := results.FindResults(kind)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Result.DecodeBody(named.Body()); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
		if c, ok := classifier.Of(r.Result); !ok || c.Output != classifier.Probability ||
			c.Weights[1][0] != 4.5 {
			t.Errorf("%s: %+v", kind, c)
		}
		if trained.CoefficientsOf(r) != nil {
			t.Errorf("%s: coefficients of another classifier", kind)
		}
	}
}
