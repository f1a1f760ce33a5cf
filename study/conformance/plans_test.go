package conformance_test

import (
	"slices"
	"testing"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/describe"
	"caucus/study/evaluate"
	"caucus/study/kinds"
	"caucus/study/ratio"
	"caucus/study/reweigh"
)

// plansOf returns the small plans of each kind that this room tests: one of each mechanism, and of
// each place of noise that changes what a party sends.
func plansOf(c clinic) map[string][]study.Plan {
	entropyOnce := c.reweigh("entropy", reweigh.Terms{})
	entropyOnce.Noise = study.NoiseCoordinator
	return map[string][]study.Plan{
		"classify": {
			c.classify("tally", privacy.Party, study.NoiseCoordinator, 1), c.classify("tally", privacy.Record, study.NoiseCoordinator, 3),
			c.classify("tally", privacy.Record, study.NoiseSite, 3), c.classify("moment", privacy.Party, study.NoiseSite, 1),
			c.classify("cross", privacy.Record, study.NoiseSite, 1), c.classify("cross", privacy.Record, study.NoiseCoordinator, 1),
			c.classify("means", privacy.Party, study.NoiseCoordinator, 1), c.classify("means", privacy.Party, study.NoiseSite, 1),
			c.classify("output", privacy.Party, study.NoiseCoordinator, 1),
		},
		"describe": {
			c.describe("gaussian", study.NoiseSite, describe.DefaultTerms()), c.describe("laplace", study.NoiseCoordinator, describe.Terms{Bins: 3, PerParty: 60}),
		},
		"evaluate": {
			c.evaluate("laplace", study.NoiseSite, nil), c.evaluate("gaussian", study.NoiseCoordinator, func(t *evaluate.Terms) { t.PerParty, t.By = 60, []evaluate.Grouping{{Column: "ward"}} }),
		},
		"labels": {c.labels("rr"), c.labels("em")},
		"ratio": {
			c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace"), c.ratio(ratio.FeaturesEmbedding, ratio.SetsParty, "gaussian"),
			c.ratio(ratio.FeaturesNoisyEmbedding, ratio.SetsMade, "gaussian-zcdp"),
			c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "dirichlet"), c.ratio(ratio.FeaturesClear, ratio.SetsColumn, "laplace-prior"),
		},
		"reweigh": {c.reweigh("entropy", reweigh.Terms{}), c.reweigh("logistic", reweigh.Terms{}), entropyOnce},
		"regress": {
			c.regress("gaussian", study.NoiseSite, 0), c.regress("laplace", study.NoiseCoordinator, 60),
		},
		"survival": {
			c.survival("gaussian", study.NoiseSite, 0), c.survival("laplace", study.NoiseCoordinator, 60),
		},
	}
}

func fuzzPlans(t testing.TB) (c clinic, all []study.Plan) {
	c = newClinic(t, []string{"no", "yes", "maybe"}, 5)
	plans := plansOf(c)
	for _, name := range kinds.Names() {
		all = append(all, plans[name]...)
	}
	return c, all
}

// TestEachKindHandsPlans: every kind and mechanism has a plan in plansOf.
func TestEachKindHandsPlans(t *testing.T) {
	plans := plansOf(newClinic(t, []string{"no", "yes", "maybe"}, 5))
	// no daemon runs these
	rehearsed := []string{"majority", "none", "auto", "output-paper", "laplace-paper",
		"dirichlet-paper", "logistic-paper"}
	for _, name := range kinds.Names() {
		handed := rehearsed
		for _, p := range plans[name] {
			handed = append(handed, p.Mechanism)
		}
		kind, err := kinds.FindKind(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range kind.Mechanisms() {
			if !slices.Contains(handed, m) {
				t.Errorf("kind %s hands no plan of mechanism %s: add one to plansOf", name, m)
			}
		}
	}
}
