package simulate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"caucus/dataset"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/regress"
	"caucus/study/regress/leastsquares"
)

// Regress runs a regress proposal among virtual parties, and compares the release with least
// squares of the same records, without noise and with no row shortened.
type Regress Survival

// RegressSummary compares releases with the truth. Its numbers are exact truths about the records:
// right for public or made-up ones only.
type RegressSummary struct {
	Summary         // its Repeats are the draws of Measured
	Forecast string `json:"forecast"`
	// Released is the first draw's release, True least squares of all records.
	Released leastsquares.Table `json:"released"`
	True     leastsquares.Table `json:"true"`
	Measured *RegressMeasures   `json:"coefficients,omitempty"`
}

// RegressMeasures is measured in many draws of noise and records, over all coefficients that are
// known. Coefficients are standardised: of the outcome's scale, by the columns' scales.
type RegressMeasures struct {
	// RMSE is the root mean squared error of a released coefficient, SiteAloneRMSE that of least
	// squares of as many of all records as the largest site has, without noise.
	RMSE          float64 `json:"rmse"`
	SiteAloneRMSE float64 `json:"alone_rmse"`
	// Coverage is the share of 95 % intervals that hold the population's coefficient; MinCoverage
	// is the smallest of one coefficient, of those known at least half as often as the one known
	// most.
	Coverage    float64 `json:"coverage"`
	MinCoverage float64 `json:"least"`
	// WidthRatio is the mean width of an interval, divided by that without noise; nil where that is
	// 0.
	WidthRatio *float64 `json:"width_ratio,omitempty"`
	Unknown    float64  `json:"unknown"` // mean number of coefficients without an interval
}

// Check refuses more parties than records, a split without parties, and proposals that cannot run.
// 0 repeats are fine: one release and no coverage.
func (r Regress) Check() error {
	var t regress.Terms
	if err := r.Proposal.DecodeTerms(&t); err != nil {
		return err
	}
	if t.PerParty > 0 && r.Repeats > 0 {
		return errors.New("simulate: draws of records are of all that a site has: leave per_party out, or the repeats")
	}
	return Describe(r).Check()
}

// Run simulates. The result depends on the seed alone.
func (r Regress) Run(ctx context.Context) (RegressSummary, error) {
	var out RegressSummary
	if err := r.Check(); err != nil {
		return out, err
	}
	d, task, release, err := r.countAll(ctx, r.Proposal)
	if err != nil {
		return out, err
	}
	p, size := task.Plan(), d.Size()
	body, _ := bodies.Of(task)
	m := regressErrors{task: task, moments: body.Statistic.(*regress.Moments),
		again: redraw{of: body}}
	for _, rows := range d.Parties {
		m.party(d.Private.Select(rows))
	}
	m.truth = m.exact(m.all)
	out.Summary, out.True = summaryOf(p, r.Repeats, &release, d.Short), m.truth
	out.Totals = release.Totals
	if out.Released, err = leastsquares.TableOf(release); err != nil {
		return out, err
	}
	if out.Forecast, err = out.forecast(task, size); err != nil || r.Repeats == 0 {
		return out, err
	}
	rng := rand.New(rand.NewPCG(r.Seed, 0x72656772657373))
	for range r.Repeats {
		if err := m.draw(ctx, rng); err != nil {
			return out, err
		}
	}
	out.Measured = m.measured(float64(r.Repeats))
	return out, nil
}

// regressErrors adds up, over draws, what RegressMeasures tells.
type regressErrors struct {
	task        study.Finisher
	moments     *regress.Moments
	again       redraw
	all         [][]float64 // standardised rows of all parties; nil for one that drops out
	largest     int         // records of the largest site
	truth       leastsquares.Table
	seen, held  []float64 // of each coefficient
	off, alone  float64
	width, bare float64
}

// party adds a party's records.
func (r *regressErrors) party(records *dataset.Records) {
	whole := make([]int64, records.Len()*r.moments.Dim())
	row := func(i int) []int64 { return whole[i*r.moments.Dim() : (i+1)*r.moments.Dim()] }
	for i := range records.Y {
		u := make([]float64, r.moments.Dim()-1)
		if r.moments.Row(row(i), u, records, i); row(i)[0] == 0 {
			u = nil
		}
		r.all = append(r.all, u)
	}
	r.largest = max(r.largest, records.Len())
	r.again.party(records.Len(), func(sum []int64, i int) { r.moments.Add(sum, row(i)) })
}

// exact makes the table of rows without noise, with no row shortened.
func (r *regressErrors) exact(rows [][]float64) leastsquares.Table {
	return leastsquares.Exact(r.task.Plan(), r.moments.Design, r.task.Pool(), rows)
}

// draw draws noise and records once.
func (r *regressErrors) draw(ctx context.Context, rng *rand.Rand) error {
	_, sample, draws, err := r.again.draw(ctx, rng)
	if err != nil {
		return err
	}
	made, err := finishVector(r.task, sample, r.again.weight, draws)
	if err != nil {
		return err
	}
	released, err := leastsquares.TableOf(study.Release{Result: made})
	if err != nil {
		return err
	}
	own := make([][]float64, r.largest)
	for i := range own {
		own[i] = r.all[rng.IntN(len(r.all))]
	}
	alone := r.exact(own)
	if r.seen == nil {
		r.seen = make([]float64, len(released.Coefficients))
		r.held = make([]float64, len(released.Coefficients))
	}
	y := r.moments.Outcome
	for j, c := range r.moments.Columns {
		is, one := released.Coefficients[j].Change, alone.Coefficients[j].Change
		truth := r.truth.Coefficients[j].Change
		if !is.Known() || !truth.Known() || !one.Known() {
			continue
		}
		standard := c.Scale * (c.High - c.Low) / (y.Scale * (y.High - y.Low))
		r.seen[j]++
		if is.Covers(truth.Value) {
			r.held[j]++
		}
		r.off += math.Pow(standard*(is.Value-truth.Value), 2)
		r.alone += math.Pow(standard*(one.Value-truth.Value), 2)
		r.width += standard * (is.High - is.Low)
		r.bare += standard * (truth.High - truth.Low)
	}
	return nil
}

func (r *regressErrors) measured(draws float64) *RegressMeasures {
	seen, held, most := 0., 0., slices.Max(r.seen)
	out := &RegressMeasures{MinCoverage: 1}
	for j, n := range r.seen {
		seen, held = seen+n, held+r.held[j]
		if n > 0 && n >= most/2 {
			out.MinCoverage = min(out.MinCoverage, r.held[j]/n)
		}
	}
	out.Unknown = float64(len(r.seen)) - seen/draws
	seen = max(seen, 1)
	out.RMSE, out.SiteAloneRMSE = math.Sqrt(r.off/seen), math.Sqrt(r.alone/seen)
	out.Coverage, out.WidthRatio = held/seen, ratioOf(r.width, r.bare)
	return out
}
