package describe

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
)

// TestRoundingStaysBelowNoise: ten million equal records at ε = 10, whose number lies where
// rounding is worst, are off in the sums of v and v² by less than a tenth of those sums' noise, for
// few and many columns and for each mechanism. In steps of before they are off by some hundred
// times the noise.
func TestRoundingStaysBelowNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	for _, columns := range []int{1, 2, 40, 700} {
		for _, c := range []struct {
			mechanism string
			delta     float64
			noise     study.Noise
			epsilon   float64
		}{
			{"laplace", 0, study.NoiseSite, 10}, {"laplace", 0, study.NoiseCoordinator, .01},
			{"gaussian", 1e-8, study.NoiseSite, 10}, {"gaussian", 1e-3, study.NoiseCoordinator, 1},
		} {
			s, err := dataset.ParseSchema(strings.NewReader(fmt.Sprintf(`
label: {column: outcome, classes: ["no", "yes"]}
features: [{columns: ["x1..x%d"], kind: numeric, min: 0, max: 2000}]
`, columns)))
			if err != nil {
				t.Fatal(err)
			}
			q := statistic(t, committed(func(p *study.Plan) {
				p.Schema, p.Map = s, dataset.Identity(s)
				p.Mechanism, p.Delta, p.Noise, p.Epsilon = c.mechanism, c.delta, c.noise, c.epsilon
			}))
			terms, err := q.Terms(1)
			if err != nil {
				t.Fatal(err)
			}
			variance := privacy.VarianceOf(terms.Mechanism, terms.Bound, 0, q.Cells())
			// noise on a sum, in widths of the widest bin
			sd := math.Sqrt(variance) / float64(2*q.Most)
			x, worst := q.Columns[0], 0.
			off := 0.5 - x.MeanMiddle
			for range 20000 {
				v := rng.Float64()
				first, second := x.BinCorrections(v, x.BinOf(v))
				one := float64(q.steps(first))/float64(2*q.Most) - first
				two := float64(q.steps(second))/float64(2*q.Most) - second
				// moments takes the sum of v from the first, that of (v−c)² from both.
				two = (two + 2*off*one) / math.Hypot(1, 2*off)
				worst = max(worst, math.Abs(one), math.Abs(two))
			}
			of := fmt.Sprintf("%d columns, %s, ε = %g, steps of %d", columns, c.mechanism,
				c.epsilon, q.Step)
			if share := fineRecords * worst / sd; !(share < .1) {
				t.Errorf("%s: rounding moves a sum by %.3g of its noise", of, share)
			} else {
				t.Logf("%s: rounding moves a sum by up to %.3f of its noise", of, share)
			}
			if b := terms.Bound; b.L1 <= 0 || b.L2sq <= 0 || b.L2sq < b.L1 {
				t.Errorf("%d columns: bound %+v overflows", columns, b)
			}
		}
	}
}

// TestSumsDoNotOverflow: the most records that all parties may count keep every sum within an
// int64, also for the coarsest noise and the most columns.
func TestSumsDoNotOverflow(t *testing.T) {
	for _, epsilon := range []float64{1e-6, 1, 10, 64} {
		for _, d := range []int64{2, 60, 1000, maxCells} {
			p := study.Plan{Form: study.FormCommitted, Epsilon: epsilon, Minimum: 3}
			q := &counts{plan: p, Layout: Layout{Step: stepOf(p, d, d)}}
			_, most := q.Weights()
			step := float64(q.Step)
			if sum := 3 * float64(most) * step; !(sum < math.MaxInt64/2) || most < 1e8 {
				t.Errorf("ε = %g, %d columns: %d records a party, steps of %g", epsilon, d, most, step)
			}
			l2 := step * step * (2 + 1./sumShare) * float64(d)
			scale := 2.5 * float64(d) * step / epsilon
			if !(l2 < math.MaxInt64) || epsilon >= .01 && scale > 1<<48 { // privacy's largest scale
				t.Errorf("ε = %g, %d columns: L2² %g, scale of noise %g", epsilon, d, l2, scale)
			}
		}
	}
}
