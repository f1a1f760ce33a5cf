package simulate_test

import (
	"context"
	"testing"

	"caucus/analyst/simulate"
	"caucus/internal/testlevel"
	"caucus/study"
	studyratio "caucus/study/ratio"
)

// TestRatioSimulation: private counts cost little, every mechanism runs, and the result depends on
// the seed alone.
func TestRatioSimulation(t *testing.T) {
	schema, records := hospital(t, 6000)
	terms := studyratio.DefaultTerms()
	terms.Fourier = 200
	delta := 1e-5
	s := simulate.Ratio{
		Split:    simulate.Split{Schema: schema, Train: records.AsTable(), PoolFraction: .2, Seed: 5},
		Proposal: study.Proposal{Name: "s", Kind: "ratio", Epsilon: 1, Delta: &delta}, Terms: terms,
		Sets: 6, SetSize: 300, Skew: .7, Targets: testlevel.N(t, 5, 10), TargetSize: 300,
		Repeats: 1,
	}
	for _, mechanism := range append(testlevel.Of(t,
		[]string{"laplace", "gaussian", "gaussian-zcdp", "dirichlet", "laplace-prior",
			"laplace-paper", "dirichlet-paper"}, 1), "auto", "none") {
		s.Proposal.Mechanism = mechanism
		got, err := s.Run(context.Background())
		if err != nil {
			t.Errorf("%s: %v", mechanism, err)
			continue
		}
		if got.L1.Unperturbed > got.L1.TrainingRatio/2 ||
			(mechanism == "none") != (got.L1.Released == got.L1.Unperturbed) {
			t.Errorf("%s: %+v", mechanism, got.L1)
		}
		if mechanism == "auto" {
			again, _ := s.Run(context.Background())
			if again.L1 != got.L1 || got.L1.Released > got.L1.Unperturbed+.05 {
				t.Errorf("auto: %+v, then %+v", got.L1, again.L1)
			}
		}
	}
}

// TestRatioSimulationHidesRecords: with 1,200 records per set, noisy embeddings are far better than
// the training shares.
func TestRatioSimulationHidesRecords(t *testing.T) {
	schema, records := hospital(t, 24000)
	terms := studyratio.DefaultTerms()
	terms.Features, terms.Fourier = studyratio.FeaturesNoisyEmbedding, 100
	got, err := simulate.Ratio{
		Split:    simulate.Split{Schema: schema, Train: records.AsTable(), PoolFraction: .1, PoolRows: 1000, Seed: 5},
		Proposal: study.Proposal{Name: "s", Kind: "ratio", Epsilon: 1}, Terms: terms,
		Sets: 8, SetSize: 1200, Skew: .8, Targets: 20, TargetSize: 500,
		Repeats: 1,
	}.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v, coverage %.2f", got.L1, got.Coverage)
	if got.L1.Released > got.L1.TrainingRatio/2 || got.L1.Released == got.L1.Unperturbed {
		t.Errorf("%+v", got.L1)
	}
}
