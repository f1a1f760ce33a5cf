package validation

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
)

// TestNothingInfinite: for any noisy counts and any pool scores within a plan's limits, every
// number is finite or unknown. A document cannot hold other numbers, and a release that cannot be
// written would still be paid for.
func TestNothingInfinite(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	odd := []float64{0, 1, -1, 1e-9, 0.5, 5, 30, -30, 1e6, -1e6, 1e12, -1e12}
	pick := func() float64 { return odd[rng.IntN(len(odd))] }
	for range 3000 {
		var pool []float64
		for range rng.IntN(30) {
			z := pick()
			if rng.IntN(2) == 0 {
				z = rng.NormFloat64() * 3
			}
			pool = append(pool, z)
		}
		thresholds := []float64{pick(), pick()}
		s := NewScoreBins(Quantiles(pool, nil, 1+rng.IntN(6), thresholds), pool, nil,
			rng.IntN(2) == 0)
		if s.LogOdds {
			thresholds = []float64{1e-6, 0.5, 1 - 1e-6}
		}
		h := Histogram{Noise: []float64{0, 1, 1e6, 1e30}[rng.IntN(4)],
			ForPopulation: rng.IntN(2) == 0}
		count := func() float64 {
			return []float64{0, -rng.Float64() * 100, rng.Float64() * 1e18,
				float64(rng.IntN(1000))}[rng.IntN(4)]
		}
		for range s.Bins() {
			h.Positive, h.Negative = append(h.Positive, count()), append(h.Negative, count())
		}
		if _, err := json.Marshal(s.Performance(h, thresholds)); err != nil {
			t.Fatalf("pool %v, edges %v, counts %+v: %v", pool, s.Edges, h, err)
		}
	}
}

// TestThresholdBelowAllEdges: records of the lowest bin may be above or below such a threshold.
func TestThresholdBelowAllEdges(t *testing.T) {
	s := NewScoreBins([]float64{0, 1}, nil, nil, true)
	h := Histogram{Positive: []float64{10, 20, 30}, Negative: []float64{30, 20, 10}}
	if got := s.threshold(h, 0.1).Sensitivity.Value; got != 50./60 {
		t.Errorf("sensitivity %v, want that of the two bins which are surely above", got)
	}
}
