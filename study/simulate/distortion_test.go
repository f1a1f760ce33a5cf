package simulate_test

import (
	"context"
	"math"
	"testing"

	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study/simulate"
)

// TestDistort: no noise moves nothing, more ε moves less, the same seed gives the
// same, and what agents refuse is said to be for simulation only.
func TestDistort(t *testing.T) {
	ctx, counts, draws := context.Background(), []int64{50, 50, 50, 50, 800}, testlevel.N(t, 100, 400)
	at := func(mechanism string, epsilon float64) simulate.Distortion {
		t.Helper()
		d, err := simulate.Distort(ctx, mechanism, counts, privacy.Budget{Epsilon: epsilon, Delta: 0.05}, draws, 1)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := at("none", 1); d.MeanL1 != 0 || d.SD != 0 || d.Releasable || d.Why == "" {
		t.Errorf("no noise: %+v", d)
	}
	if d := at("dirichlet-paper", 1); d.Releasable || d.Why == "" || d.Parameters["sigma of these counts"] == "" {
		t.Errorf("as published: %+v", d)
	}
	for _, mechanism := range []string{"laplace", "gaussian", "gaussian-zcdp", "dirichlet", "laplace-prior", "auto"} {
		little, much := at(mechanism, 0.05), at(mechanism, 5)
		if !(little.MeanL1 > 2*much.MeanL1) || !little.Releasable || little.Why != "" {
			t.Errorf("%s: ε = 0.05 moves %g, ε = 5 %g", mechanism, little.MeanL1, much.MeanL1)
		}
		if again := at(mechanism, 0.05); again.MeanL1 != little.MeanL1 {
			t.Errorf("%s: the same seed moves %g, then %g", mechanism, little.MeanL1, again.MeanL1)
		}
		if math.Abs(little.StandardError-little.SD/math.Sqrt(float64(draws))) > 1e-12 {
			t.Errorf("%s: standard error %g of a deviation of %g over %d draws", mechanism, little.StandardError, little.SD, draws)
		}
	}
	for name, c := range map[string]struct {
		counts    []int64
		mechanism string
		epsilon   float64
		draws     int
	}{
		"below 0":     {[]int64{5, -1}, "laplace", 1, 1},
		"too many":    {[]int64{5, 1<<40 + 1}, "laplace", 1, 1},
		"one class":   {[]int64{5}, "laplace", 1, 1},
		"nobody":      {[]int64{0, 0}, "laplace", 1, 1},
		"no draws":    {counts, "laplace", 1, 0},
		"no ε":        {counts, "laplace", 0, 1},
		"unknown one": {counts, "wishes", 1, 1},
	} {
		if _, err := simulate.Distort(ctx, c.mechanism, c.counts, privacy.Budget{Epsilon: c.epsilon, Delta: 0.05}, c.draws, 1); err == nil {
			t.Errorf("%s is not refused", name)
		}
	}
}
