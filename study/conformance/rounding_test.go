package conformance_test

import (
	"math"
	"testing"

	"caucus/aggregation"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/conformance"
	"caucus/study/reweigh"
)

// TestRoundingIsCounted: two solutions as far apart as one unit can move them, each then rounded to
// the plan's lattice, are within the bound. Rounding may add 1 to every difference, so a bound that
// forgets it is too small by about √d, one part in 10⁵: a search among records does not see that.
func TestRoundingIsCounted(t *testing.T) {
	c := newClinic(t, []string{"no", "yes"}, 6)
	logistic := c.reweigh("logistic", reweigh.Terms{})
	design, err := aggregation.NewFeatureDesign(c.schema, aggregation.FeatureTerms{})
	must(t, err)
	output := c.classify("output", privacy.Party, study.NoiseCoordinator, 1)
	output.Lambda = .1
	const tolerance = 1e-7 // of the solver of mechanism output
	reach := aggregation.BallotReach(c.pool.X, c.pool.Weight)
	ratio := aggregation.DensityRatio{Design: design, Lambda: .1, Pool: c.pool.Encoded}
	for _, s := range []struct {
		plan     study.Plan
		distance float64 // of two exact solutions of neighbours, for one ballot
	}{
		{logistic, ratio.Sensitivity()},
		{output, (reach + 2*tolerance) / output.Lambda},
	} {
		q := conformance.StatisticOf(t, s.plan, c.pool)
		terms, err := q.Terms(1)
		must(t, err)
		width := math.Exp2(math.Round(math.Log2(s.distance)) - 20)
		apart, d := s.distance/width, q.ReleasedCells()
		// Each real difference is a little more than an integer, and rounded it is the next one.
		const little = 1e-6
		real, whole := make([]float64, d), math.Floor(apart/math.Sqrt(float64(d))-little)
		left := apart * apart
		for j := range real {
			real[j] = whole + little
			left -= real[j] * real[j]
		}
		for j := range real {
			if more := 2*real[j] + 1; more < left {
				real[j], left = real[j]+1, left-more
			}
		}
		l1, l2sq := 0., 0.
		for _, v := range real {
			moved := math.Round(.5) - math.Round(.5-v)
			l1, l2sq = l1+moved, l2sq+moved*moved
		}
		if left < 0 || l1 > float64(terms.Bound.L1) || l2sq > float64(terms.Bound.L2sq) {
			t.Errorf("%s: solutions %.1f apart rounded %.1f apart, L1 %.0f: over the bound %+v",
				s.plan.Mechanism, apart, math.Sqrt(l2sq), l1, terms.Bound)
		}
	}
}
