package simulate

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"

	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/survival"
	"caucus/study/survival/lifetable"
)

// Survival runs a survival proposal among virtual parties, and compares the release with the life
// table of the same records without noise.
type Survival struct {
	// Split may have records without labels. Without Pool and PoolFraction, a twentieth is the
	// pool.
	Split
	Proposal study.Proposal // see Classify
	// Repeats is the number of draws for Measured.
	Repeats int
}

// SurvivalSummary compares releases with the truth. Its numbers are exact truths about the records:
// right for public or made-up ones only.
type SurvivalSummary struct {
	Summary         // its Repeats are the draws of Measured
	Forecast string `json:"forecast"`
	// Released is the first draw's release, True the life table without noise on the same bins.
	Released lifetable.Table   `json:"released"`
	True     lifetable.Table   `json:"true"`
	Measured *SurvivalMeasures `json:"survival,omitempty"`
}

// SurvivalMeasures is measured in many draws of noise and, for HazardRatioMeasures and all but
// SupError, of records. A part is nil, and not in the JSON, if no draw showed such a thing.
type SurvivalMeasures struct {
	*CurveMeasures
	*HazardRatioMeasures
}

// CurveMeasures is about the ends of curves' intervals.
type CurveMeasures struct {
	// SupError is the median, over draws with a curve, of the largest distance from that without
	// noise.
	SupError float64 `json:"sup_error"`
	// Coverage is the share of 95 % intervals that hold the population's survival, over all
	// intervals, groups and draws. MinCoverage is the smallest of a single interval, of those that
	// are shown at least half as often as the one shown most.
	Coverage    float64 `json:"coverage"`
	MinCoverage float64 `json:"least"`
	// WidthRatio is the mean width of an interval beside the one without noise; nil if those have
	// no width, because nobody has the event.
	WidthRatio *float64 `json:"width_ratio,omitempty"`
}

// HazardRatioMeasures is about the hazard ratio of the second group.
type HazardRatioMeasures struct {
	// LogHazardRatioSD is the standard deviation, by noise, of the ratio's logarithm.
	LogHazardRatioSD float64 `json:"log_hazard_ratio_sd"`
	// RatioCoverage is the share of intervals that hold the population's ratio.
	RatioCoverage float64 `json:"ratio_coverage"`
}

// Check refuses more parties than records, a split without parties, and proposals that cannot run.
// 0 repeats are fine: one release and no coverage.
func (s Survival) Check() error {
	var t survival.Terms
	if err := s.Proposal.DecodeTerms(&t); err != nil {
		return err
	}
	if t.PerParty > 0 && s.Repeats > 0 {
		return fmt.Errorf("simulate: draws of records are of all that a site has: leave per_party out, or the repeats")
	}
	return Describe(s).Check()
}

// Run simulates. The result depends on the seed alone.
func (s Survival) Run(ctx context.Context) (SurvivalSummary, error) {
	var out SurvivalSummary
	if err := s.Check(); err != nil {
		return out, err
	}
	d, task, release, err := s.countAll(ctx, s.Proposal)
	if err != nil {
		return out, err
	}
	p, size := task.Plan(), d.Size()
	body, _ := bodies.Of(task)
	again := redraw{of: body}
	counted := body.Statistic.(*survival.Counts)
	exact := make([]float64, counted.Cells())
	for _, rows := range d.Parties {
		records := d.Private.Select(rows)
		parts := make([][]bodies.Addend, records.Len())
		for i := range parts {
			cell := counted.CellOf(records, i)
			parts[i] = []bodies.Addend{{Cell: cell, Adds: 1}}
			exact[cell]++
		}
		again.add(parts)
	}
	out.Summary = summaryOf(p, s.Repeats, &release, d.Short)
	out.Totals = release.Totals
	if out.Released, err = lifetable.TableOf(release); err != nil {
		return out, err
	}
	if out.True, err = lifetable.Of(p, exact, again.weight, 0); err != nil {
		return out, err
	}
	if out.Forecast, err = out.forecast(task, size); err != nil || s.Repeats == 0 {
		return out, err
	}
	out.Measured, err = measureSurvival(ctx, task, again, out.True, s.Repeats, s.Seed)
	return out, err
}

// survivalErrors adds up, over draws, what SurvivalMeasures tells.
type survivalErrors struct {
	truth           lifetable.Table
	held, seen      map[[2]int]float64 // by group and interval
	width, clear    float64
	sup, logs       []float64
	ratios, covered float64
}

func (s *survivalErrors) add(whole, sample lifetable.Table) {
	sup := -1.
	for g, truth := range s.truth.Groups {
		for j, p := range whole.Groups[g].Points {
			if j < len(truth.Points) {
				sup = max(sup, math.Abs(p.Survival.Value-truth.Points[j].Survival.Value))
			}
		}
		for j, p := range sample.Groups[g].Points {
			if j >= len(truth.Points) {
				continue
			}
			is := truth.Points[j].Survival
			s.seen[[2]int{g, j}]++
			if p.Survival.Low <= is.Value+1e-9 && is.Value-1e-9 <= p.Survival.High {
				s.held[[2]int{g, j}]++
			}
			s.width += p.Survival.High - p.Survival.Low
			s.clear += is.High - is.Low
		}
	}
	if sup >= 0 {
		s.sup = append(s.sup, sup)
	}
	if len(s.truth.Compared) == 0 || !s.truth.Compared[0].Ratio.Known() {
		return
	}
	if r := whole.Compared[0].Ratio; r.Known() {
		s.logs = append(s.logs, math.Log(r.Value/s.truth.Compared[0].Ratio.Value))
	}
	if r := sample.Compared[0].Ratio; r.Known() {
		s.ratios++
		if r.Covers(s.truth.Compared[0].Ratio.Value) {
			s.covered++
		}
	}
}

func (s *survivalErrors) measured() *SurvivalMeasures {
	var out SurvivalMeasures
	held, seen, most := 0., 0., 0.
	for at, n := range s.seen {
		held, seen, most = held+s.held[at], seen+n, max(most, n)
	}
	if seen > 0 {
		c := CurveMeasures{Coverage: held / seen, MinCoverage: 1,
			WidthRatio: ratioOf(s.width, s.clear)}
		for at, n := range s.seen {
			if n >= most/2 {
				c.MinCoverage = min(c.MinCoverage, s.held[at]/n)
			}
		}
		if len(s.sup) > 0 {
			slices.Sort(s.sup)
			c.SupError = stat.Quantile(.5, stat.Empirical, s.sup, nil)
		}
		out.CurveMeasures = &c
	}
	if s.ratios > 0 {
		out.HazardRatioMeasures = &HazardRatioMeasures{RatioCoverage: s.covered / s.ratios}
		if len(s.logs) > 1 {
			out.LogHazardRatioSD = stat.StdDev(s.logs, nil)
		}
	}
	return &out
}

func measureSurvival(ctx context.Context, t study.Finisher, again redraw, truth lifetable.Table,
	repeats int, seed uint64) (*SurvivalMeasures, error) {
	rng := rand.New(rand.NewPCG(seed, 0x7375727669766572))
	errs := survivalErrors{truth: truth, held: map[[2]int]float64{}, seen: map[[2]int]float64{}}
	for range repeats {
		whole, sample, draws, err := again.draw(ctx, rng)
		if err != nil {
			return nil, err
		}
		var tables [2]lifetable.Table
		for i, vector := range [][]int64{whole, sample} {
			made, err := finishVector(t, vector, again.weight, draws)
			if err == nil {
				tables[i], err = lifetable.TableOf(study.Release{Result: made})
			}
			if err != nil {
				return nil, err
			}
		}
		errs.add(tables[0], tables[1])
	}
	return errs.measured(), nil
}
