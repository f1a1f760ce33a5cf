package simulate_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/conformance"
)

// TestLabelSimulation: with two and more classes, rr is better than em, and both than the largest
// class; the release predicts; the result depends on the seed alone.
func TestLabelSimulation(t *testing.T) {
	schema, all := hospital(t, 8000)
	run := func(mechanism string, epsilon float64) simulate.LabelsSummary {
		s, err := simulate.Labels{
			Split: simulate.Split{Schema: schema, Train: all.AsTable(), PoolFraction: 0.1, Parties: 4, Seed: 3},
			Proposal: study.Proposal{
				Name: "test", Kind: "labels", Mechanism: mechanism, Epsilon: epsilon,
				Map: dataset.Components{Project: 15, Whiten: 0.5, Analysis: dataset.PCA},
			},
			Repeats: 1,
		}.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	rr, em := run("rr", 1), run("em", 1)
	if rr.Accuracy < 0.79 || rr.Accuracy < rr.MajorityClass+0.08 {
		t.Errorf("rr: %+v", rr)
	}
	if em.Accuracy > rr.Accuracy {
		t.Errorf("em %.4f is above rr %.4f", em.Accuracy, rr.Accuracy)
	}
	for k, share := range rr.Shares.Share {
		if math.Abs(share-rr.TrueShares[k]) > 6*rr.Shares.Error[k] {
			t.Errorf("share %d is %g ± %g, true %g", k, share, rr.Shares.Error[k], rr.TrueShares[k])
		}
	}
	if rr.UploadBytes <= 0 || !rr.Release.Simulated {
		t.Errorf("%g bytes", rr.UploadBytes)
	}
	if again := run("rr", 1); again.Accuracy != rr.Accuracy {
		t.Error("another answer for the same seed")
	}
	labels, _, err := classifier.Predict(*rr.Release, all.Select(conformance.Seq(0, 10)))
	if err != nil || len(labels) != 10 {
		t.Errorf("predict: %v, %v", labels, err)
	}
	one := all.Select(conformance.Seq(0, 500))
	for i := range one.Y {
		one.Y[i] = 0
	}
	_, err = simulate.Labels{
		Split:    simulate.Split{Schema: schema, Train: one.AsTable(), PoolFraction: 0.1, Parties: 4},
		Proposal: study.Proposal{Name: "test", Kind: "labels"}, Repeats: 1,
	}.Run(context.Background())
	if err == nil || !strings.Contains(err.Error(), "at least two classes") {
		t.Errorf("one class only: %v", err)
	}
}

// TestLabelMeasures: test records of a single class are an error; a class without test records is
// left out, with a warning.
func TestLabelMeasures(t *testing.T) {
	schema, all := hospital(t, 1100)
	schema.Label.Classes = append(schema.Label.Classes, "unseen")
	measured := func(test *dataset.Records) (simulate.LabelsSummary, error) {
		return simulate.Labels{
			Split:    simulate.Split{Schema: schema, Train: all.AsTable(), Test: test.AsTable(), PoolFraction: 0.1, Parties: 2},
			Proposal: study.Proposal{Name: "test", Kind: "labels", Lambda: 0.01, Map: dataset.Components{Project: 5}}, Repeats: 1,
		}.Run(context.Background())
	}
	test := all.Select(conformance.Seq(0, 200))
	s, err := measured(test)
	if err != nil {
		t.Fatal(err)
	}
	if last := s.Warnings[len(s.Warnings)-1]; !strings.Contains(last, `"unseen"`) || !(s.BER > 0 && s.BER < 1 && s.AUC > 0 && s.AUC < 1) {
		t.Errorf("%q, %+v", last, s.Measures)
	}
	for y, says := range map[int]string{0: "compare at least two classes",
		-1: "give records with their labels"} {
		for i := range test.Y {
			test.Y[i] = y
		}
		if _, err := measured(test); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("all test labels %d: %v, want %q", y, err, says)
		}
	}
}
