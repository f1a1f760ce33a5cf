package simulate_test

import (
	"context"
	"testing"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify/trained"
	"caucus/study/conformance"
)

// TestUnlabelled: unlabelled records cause no warning of drift and do not shrink the classifier.
func TestUnlabelled(t *testing.T) {
	schema, records := hospital(t, 8000)
	run := func(every int) simulate.ClassifySummary {
		r := records.Select(conformance.Seq(0, records.Len()))
		for i := range r.Y {
			if i%every == 0 {
				r.Y[i] = -1
			}
		}
		test := records.Select(conformance.Seq(0, 1000))
		s, err := simulate.Classify{
			Split:    simulate.Split{Schema: schema, Train: r.AsTable(), Test: test.AsTable(), PoolFraction: .25, Parties: 5, Seed: 1},
			Proposal: study.Proposal{Name: "s", Epsilon: 3, KindTerms: []byte(`{"tilt":true}`), Map: dataset.Components{Project: 12}}, Repeats: 1,
		}.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all, half := run(1<<30), run(2)
	if half.Accuracy.Unperturbed < all.Accuracy.Unperturbed-0.02 {
		t.Errorf("half without a label: unperturbed %.3f, all labelled %.3f", half.Accuracy.Unperturbed, all.Accuracy.Unperturbed)
	}
	var r trained.Result
	if err := half.Release.Result.DecodeBody(&r); err != nil || r.Drift.Significant() {
		t.Errorf("half without a label: drift %+v is found, error %v", r.Drift, err)
	}
}

// TestMeansBeatVotesOfSmallParties: with few records per party, whose own classifiers are poor,
// means are more accurate than votes at the same ε and unit; pure ε works too.
func TestMeansBeatVotesOfSmallParties(t *testing.T) {
	schema, records := hospital(t, 8000)
	run := func(mechanism string, delta float64) float64 {
		s, err := simulate.Classify{
			Split: simulate.Split{Schema: schema, Train: records.AsTable(), PoolFraction: .2, PoolRows: 500, Parties: 400, Seed: 1},
			Proposal: study.Proposal{
				Name: "s", Unit: privacy.Party, Epsilon: 1, Delta: &delta, Mechanism: mechanism, Map: dataset.Components{Project: 12},
			},
			Repeats: 1,
		}.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if s.Mechanism != mechanism {
			t.Errorf("%s: summary of %s", mechanism, s.Mechanism)
		}
		return s.Accuracy.Released
	}
	means, votes, pure := run("means", 1e-6), run("tally", 1e-6), run("means", 0)
	t.Logf("means %.3f, votes %.3f, means at pure ε %.3f", means, votes, pure)
	if means < votes+.01 {
		t.Errorf("means reach %.3f, votes %.3f", means, votes)
	}
}
