package ratio_test

import (
	"math/rand/v2"
	"testing"

	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/kinds"
	"caucus/study/ratio"
)

// TestMadeSetsAreEven: nine of ten records have one class. With the expected shares the two sets
// made of 6,000 records have equal size; without, they differ. A set's size has a standard
// deviation of at most √6000/2 = 39; a deviation of 7 of these, 272, has probability below 1e-11.
func TestMadeSetsAreEven(t *testing.T) {
	schema, pool, m, records := conformance.Hospital(t, 6000)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range records.Y {
		records.Y[i] = 0
		if rng.Float64() < .1 {
			records.Y[i] = 1
		}
	}
	for _, expected := range [][]float64{nil, {.9, .1}} {
		p := conformance.WithRatioTerms(conformance.RatioPlan(schema, pool, m,
			ratio.FeaturesNoisyEmbedding), func(t *ratio.Terms) {
			t.Sets, t.Skew, t.Expected = ratio.SetsMade, .7, expected
		})
		if err := kinds.Check(p); err != nil {
			t.Fatal(err)
		}
		sets, _ := ratio.DealSets(p, study.NewInputs(records, []byte("k")))
		away := len(sets[0]) - records.Len()/2
		if even := max(away, -away) < 272; even != (expected != nil) {
			t.Errorf("expected shares %v: the sets have %d and %d records", expected, len(sets[0]), len(sets[1]))
		}
	}
}
