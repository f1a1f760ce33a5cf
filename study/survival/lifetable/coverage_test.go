package lifetable_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"caucus/aggregation/validation"
	"caucus/dataset"
	"caucus/internal/testlevel"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/survival"
	"caucus/study/survival/lifetable"
)

// world is a population whose curves are known: without events a share exp(−(t/scale)^shape) of arm
// a, and that to the power of ratio of arm b. Who leaves before the event does so at a time evenly
// distributed on 0 to leave.
type world struct {
	scale, shape, ratio, leave float64
	hospitals, records         int     // records of one hospital
	share                      float64 // of arm b
}

// at returns the true survival of an arm at a time.
func (w world) at(arm int, time float64) float64 {
	return math.Exp(-math.Pow(time/w.scale, w.shape) * w.hazard(arm))
}

func (w world) hazard(arm int) float64 {
	if arm == 1 {
		return w.ratio
	}
	return 1
}

// drawn releases tables of a world, each of new records and new noise.
type drawn struct {
	world
	plan   study.Plan
	of     bodies.Task
	layout survival.Layout
	rng    *rand.Rand
}

func newDrawn(t testing.TB, w world, epsilon float64, noise study.Noise, bins int,
	seed uint64) *drawn {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: died, classes: ["no", "yes"]}
features:
  - {column: days, kind: numeric, min: -1, max: 1000}
  - {column: arm, kind: categorical, levels: [a, b]}
`))
	if err != nil {
		t.Fatal(err)
	}
	d := &drawn{world: w, rng: rand.New(rand.NewPCG(seed, 1))}
	d.plan = study.Plan{Name: "x", Kind: "survival", Form: study.FormCommitted, Schema: s,
		Map: dataset.Identity(s), Unit: privacy.Record, Epsilon: epsilon, Delta: 1e-6,
		Records: w.records, Minimum: 2, Noise: noise, Simulated: true}
	for i := range w.hospitals {
		d.plan.Roster = append(d.plan.Roster, study.PartyID(fmt.Sprint(i)))
	}
	if err := d.plan.SetTerms(survival.Terms{Time: "days", By: "arm", Bins: bins,
		Until: 1000}); err != nil {
		t.Fatal(err)
	}
	if err := (survival.Kind{}).Complete(&d.plan, study.Proposal{
		KindTerms: d.plan.KindTerms, Epsilon: epsilon, Noise: noise}); err != nil {
		t.Fatal(err)
	}
	if err := (survival.Kind{}).Check(d.plan); err != nil {
		t.Fatal(err)
	}
	task, err := survival.Kind{}.New(d.plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.of, _ = bodies.Of(task)
	d.layout = task.(survival.Task).Counted.Layout
	return d
}

// table draws all records, counts them, adds each party's or each server's noise, and makes the
// result as the study does.
func (d *drawn) table(t testing.TB) lifetable.Table {
	t.Helper()
	sum, draws := make([]float64, d.layout.Cells()), 0
	release := func(v []int64) {
		requests, err := bodies.Requests(d.of.Statistic, v, int64(d.records))
		if err != nil {
			t.Fatal(err)
		}
		out, err := study.ReleaseRequests(context.Background(),
			privacy.NewSimulation(d.rng.Uint64()),
			d.of.Hash(), requests)
		if err != nil {
			t.Fatal(err)
		}
		for j, n := range out[0].Values {
			sum[j] += float64(n)
		}
		draws++
	}
	time := d.plan.Schema.Features[0]
	row := make([]float64, 4)
	for range d.hospitals {
		counts := make([]int64, d.layout.Cells())
		for range d.records {
			arm, class := 0, 1
			if d.rng.Float64() < d.share {
				arm = 1
			}
			at := d.scale * math.Pow(d.rng.ExpFloat64()/d.hazard(arm), 1/d.shape)
			if left := d.rng.Float64() * d.leave; left < at {
				at, class = left, 0
			}
			row[0], row[1], row[2] = time.Position(min(at, 1000)), float64(1-arm), float64(arm)
			counts[d.layout.Of(row, class)]++
		}
		if d.plan.Noise.AddedAtSite() {
			release(counts)
			continue
		}
		for j, n := range counts {
			sum[j] += float64(n)
		}
	}
	for !d.plan.Noise.AddedAtSite() && draws < d.plan.Noise.Draws(d.hospitals) {
		release(make([]int64, len(sum)))
	}
	sd, err := d.of.Statistic.(*survival.Counts).Deviation(draws)
	if err != nil {
		t.Fatal(err)
	}
	out, err := lifetable.Of(d.plan, sum, int64(d.records*d.hospitals), sd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// held is a share of intervals that hold the truth.
type held struct{ held, of float64 }

func (h *held) add(n validation.Number, truth float64) {
	if !n.Known() {
		return
	}
	if h.of++; n.Covers(truth) {
		h.held++
	}
}

func (h held) share() float64 { return h.held / h.of }

// TestCoverage draws records and noise again and again, in worlds whose curves are known: both arms
// at the ends of 12 intervals and between them, medians, restricted means, differences and hazard
// ratios, at three ε and with noise at sites and at two servers. A draw's share of intervals that
// hold the truth has a standard deviation below .22, also if the intervals of a draw hold or miss
// all at once. So the mean over n draws misses the true coverage by more than 6.1·.22/√n with
// probability below 1e-9. The true coverage is taken to be .94 to .96 of curves; above .95
// between edges, of medians and of means, whose intervals are wider than they need be if the hazard
// is even; .92 to .98 of the other numbers.
func TestCoverage(t *testing.T) {
	draws := testlevel.N(t, 60, 400)
	var all, loud, between, median, mean, ratio, difference held
	least := map[string]float64{}
	for _, times := range testlevel.Of(t, []float64{2, 1, 3}, 1) {
		for _, epsilon := range []float64{0.3, 1, 3} {
			for _, noise := range testlevel.Of(t, []study.Noise{study.NoiseSite,
				study.NoiseAggregators}, 2) {
				w := world{scale: 2600, shape: 1.3, ratio: times, leave: 2000, hospitals: 5,
					records: 1600, share: 0.5}
				if times == 1 { // both curves fall below a half
					w.scale = 1000
				}
				d := newDrawn(t, w, epsilon, noise, 12, uint64(len(least)+1))
				var here held
				var each [2][12]held
				for range draws {
					table := d.table(t)
					for g, group := range table.Groups {
						for j, p := range group.Points {
							each[g][j].add(p.Survival, w.at(g, p.Time))
							here.add(p.Survival, w.at(g, p.Time))
						}
						median.add(group.Median, w.scale*math.Pow(math.Ln2/w.hazard(g), 1/w.shape))
						mean.add(group.Mean, w.meanTo(g, group.MeanTo))
					}
					for _, time := range []float64{40, 540, 875} {
						for g, r := range table.At(time) {
							between.add(r.Survival, w.at(g, time))
						}
					}
					c := table.Compared[0]
					ratio.add(c.Ratio, times)
					difference.add(c.Difference, w.at(1, c.At)-w.at(0, c.At))
				}
				all.held, all.of = all.held+here.held, all.of+here.of
				if epsilon < 1 {
					loud.held, loud.of = loud.held+here.held, loud.of+here.of
				}
				name := fmt.Sprintf("hazard ratio %g, ε = %g, noise %s", times, epsilon, noise)
				least[name] = 1
				for _, arm := range each {
					for _, h := range arm {
						if h.of >= float64(draws)/2 {
							least[name] = min(least[name], h.share())
						}
					}
				}
				t.Logf("%s: %.3f of %.0f intervals hold the truth; least of one time %.3f",
					name, here.share(), here.of, least[name])
			}
		}
	}
	n := float64(draws * len(least))
	for _, c := range []struct {
		name                  string
		held                  held
		low, high, sd, number float64
	}{
		{"curves", all, 0.94, 0.96, 0.22, n},
		{"curves at ε = 0.3", loud, 0.94, 0.96, 0.22, n / 3},
		{"between edges", between, 0.95, 1, 0.22, n},
		{"medians", median, 0.95, 1, 0.22, median.of / 2},
		{"restricted means", mean, 0.95, 1, 0.22, n},
		{"differences", difference, 0.92, 0.98, 0.22, n},
		{"hazard ratios", ratio, 0.92, 0.98, 0.22, n},
	} {
		t.Logf("%s: %.4f of %.0f intervals hold the truth", c.name, c.held.share(), c.held.of)
		slack := 6.1 * c.sd / math.Sqrt(c.number)
		if got := c.held.share(); got < c.low-slack || got > c.high+slack {
			t.Errorf("%s: %.3f of intervals hold the truth, want %.2f to %.2f ± %.3f", c.name, got,
				c.low, c.high, slack)
		}
	}
}

// TestCoverageOfUnevenLives draws records and noise of worlds in which most have the event early in
// the first of few intervals. In one, the share without the event falls to a half there: medians
// and restricted means must hold the truth. In the other, hardly anybody is left at its end: curves
// must. The true coverage is at least .94, and the slack is that of TestCoverage.
func TestCoverageOfUnevenLives(t *testing.T) {
	draws := testlevel.N(t, 60, 400)
	early := world{scale: 130, shape: 0.2, ratio: 1, leave: 1e5, hospitals: 5, records: 800,
		share: 0.5}
	all := world{scale: 17, shape: 1, ratio: 1, leave: 1e5, hospitals: 5, records: 800, share: 0.5}
	for k, noise := range testlevel.Of(t, []study.Noise{study.NoiseSite, study.NoiseAggregators},
		2) {
		var curve, median, mean held
		front, whole := newDrawn(t, early, 1, noise, 12, uint64(71+k)),
			newDrawn(t, all, 1, noise, 4, uint64(81+k))
		for range draws {
			for g, group := range front.table(t).Groups {
				median.add(group.Median, early.scale*math.Pow(math.Ln2, 1/early.shape))
				mean.add(group.Mean, early.meanTo(g, group.MeanTo))
			}
			for g, group := range whole.table(t).Groups {
				for _, p := range group.Points {
					curve.add(p.Survival, all.at(g, p.Time))
				}
			}
		}
		slack := 6.1 * 0.22 / math.Sqrt(float64(draws))
		for name, h := range map[string]held{"curves": curve, "medians": median,
			"restricted means": mean} {
			t.Logf("noise %s, %s: %.3f of %.0f intervals hold the truth", noise, name, h.share(),
				h.of)
			if !(h.share() >= 0.94-slack) || h.of < float64(draws) {
				t.Errorf("noise %s, %s: %.3f of %.0f intervals hold the truth, want .94 − %.3f",
					noise, name, h.share(), h.of, slack)
			}
		}
	}
}

// meanTo returns the true area below the curve of an arm up to a time, by the midpoint rule.
func (w world) meanTo(arm int, end float64) (area float64) {
	const steps = 1000
	for k := range steps {
		area += w.at(arm, end*(float64(k)+0.5)/steps) * end / steps
	}
	return area
}

// TestLogRankAlarms draws records and noise of two arms with one hazard. The log-rank test finds
// them different at .05 in a share that is .05 but for chance, for rounding of small numbers, and
// for the normal approximation: .03 to .065. The share in n draws misses the true one by more than
// 6.1·√(.065·.935/n) with probability below 1e-9.
func TestLogRankAlarms(t *testing.T) {
	draws := testlevel.N(t, 400, 10_000)
	for _, noise := range testlevel.Of(t, []study.Noise{study.NoiseSite, study.NoiseAggregators},
		1) {
		w := world{scale: 1500, shape: 1.3, ratio: 1, leave: 2000, hospitals: 5, records: 300,
			share: 0.5}
		d, alarms, told := newDrawn(t, w, 1, noise, 6, 99), 0., 0.
		for range draws {
			if p := d.table(t).Compared[0].P; p != nil {
				if told++; *p < 0.05 {
					alarms++
				}
			}
		}
		rate, slack := alarms/told, 6.1*math.Sqrt(0.065*0.935/told)
		t.Logf("noise %s: %.4f of %.0f tests at .05 find a difference that is not there", noise,
			rate, told)
		if told < 0.9*float64(draws) || rate < 0.03-slack || rate > 0.065+slack {
			t.Errorf("noise %s: false alarms %.4f of %.0f, want .03 to .065 ± %.3f", noise, rate,
				told, slack)
		}
	}
}
