package simulate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"caucus/aggregation/embedding"
	"caucus/aggregation/ratio"
	"caucus/dataset"
	"caucus/study"
	studyratio "caucus/study/ratio"
	"caucus/study/ratio/estimated"
)

// Ratio makes sets of labelled records, one for each virtual party, runs a ratio proposal among
// them, and compares its estimates with the true shares of test sets.
type Ratio struct {
	// Split is as in Classify, but Parties and Concentration have no effect, because sets decide
	// the records.
	Split
	// Proposal is as in Classify, without the kind's terms.
	Proposal study.Proposal
	// Terms are the kind's terms. Run fills in a missing set size.
	Terms studyratio.Terms
	// Width, if not 0, sets the terms' gamma, in units of one over the pool's median squared
	// distance.
	Width float64
	// Sets is the number of disjoint sets of SetSize records. Set i has class shares SetShares[i
	// mod len(SetShares)] or, if SetShares is empty and Skew is not 0, share Skew of class i mod K
	// and equal shares of the others. If Skew is 0 too, shares are random, uniform on the simplex,
	// or those of the data if each party makes its sets (Terms.Sets). A set is smaller if one of
	// its classes runs out.
	// Summary.Warnings then says so.
	Sets, SetSize int
	SetShares     [][]float64
	Skew          float64
	// Targets is the number of test sets for each of TargetShares, of TargetSize test records each.
	// If TargetShares is empty, shares are random, uniform on the simplex.
	Targets, TargetSize int
	TargetShares        [][]float64
	Repeats             int
	Progress            func(done, total int)
}

// RatioL1 holds mean L1 distances of estimates from the true shares.
type RatioL1 struct {
	Released float64 `json:"released"`
	// ReleasedSD is the standard deviation over targets and repeats.
	ReleasedSD float64 `json:"released_sd"`
	// Unperturbed is the distance without noise. TrainingRatio is the distance if the estimate is
	// always the class shares of all parties' sets together.
	Unperturbed   float64 `json:"unperturbed"`
	TrainingRatio float64 `json:"training_ratio"`
}

// RatioShareResult is the mean error over the targets that have these true class shares.
type RatioShareResult struct {
	Shares []float64 `json:"shares"`
	L1     RatioL1   `json:"l1"`
}

// RatioSummary is the result of a simulation. Its numbers are means over targets and repeats.
type RatioSummary struct {
	Summary
	Sampler    string            `json:"sampler"`
	Parameters map[string]string `json:"parameters"`
	Estimator  string            `json:"estimator"`
	Features   string            `json:"features"`
	Classes    int               `json:"classes"`
	Sets       int               `json:"sets"`
	// MadeSetSkew is the skew of the sets that each party makes from its records, 0 if each party
	// is one set.
	MadeSetSkew float64            `json:"made,omitempty"`
	SetSize     float64            `json:"set_size"`
	Targets     int                `json:"targets"`
	TargetSize  int                `json:"target_size"`
	L1          RatioL1            `json:"l1"`
	ByShare     []RatioShareResult `json:"by_share,omitempty"`
	// AE, RAE and NKLD are further errors of the estimates (ratio.Error). IntervalShare is the
	// share of targets with intervals. Coverage is the share of 95 % intervals that contain the
	// class's share.
	AE            float64 `json:"ae"`
	RAE           float64 `json:"rae"`
	NKLD          float64 `json:"nkld"`
	Coverage      float64 `json:"coverage"`
	IntervalShare float64 `json:"intervals"`
	// PoorFitShare is the share of targets that no mixture of the classes explained.
	PoorFitShare float64 `json:"doubted"`
	Condition    float64 `json:"condition"`
	// Width is the kernel's γ times the pool's median squared distance.
	Width       float64 `json:"width"`
	UploadBytes float64 `json:"upload_bytes_per_party"`
	// RefusedReleases counts repeats whose sets allowed no estimate. Other numbers then use uniform
	// shares.
	RefusedReleases int `json:"refused,omitempty"`
}

const maxTargeted = 10_000_000

// Check refuses class shares that do not sum to 1, sets without two records, and more target
// records than memory should hold. It draws nothing.
func (s Ratio) Check() error {
	c := len(s.Schema.Label.Classes)
	for _, list := range [][][]float64{s.SetShares, s.TargetShares} {
		for _, shares := range list {
			sum := 0.
			for _, v := range shares {
				sum += v
			}
			if len(shares) != c || !(math.Abs(sum-1) <= 1e-6) || slices.Min(shares) < 0 {
				return fmt.Errorf("simulate: the shares %v are not those of %d classes: give one number ≥ 0 a class, with sum 1", shares, c)
			}
		}
	}
	switch {
	case s.Terms.Estimator != "" && !slices.Contains(embedding.Estimators(), s.Terms.Estimator):
		return study.PlanError("ratio.estimator", "%q: use one of %v", s.Terms.Estimator,
			embedding.Estimators())
	case s.Sets < 1 || s.SetSize < 2:
		return fmt.Errorf("simulate: %d sets of %d records: give at least 1 set of 2", s.Sets, s.SetSize)
	case s.Targets < 1 || s.TargetSize < 1 || s.Targets > maxTargeted/s.TargetSize:
		return fmt.Errorf("simulate: %d targets of %d records: give at least 1 of 1, and at most %d records in all", s.Targets, s.TargetSize, maxTargeted)
	case !(s.Skew >= 0 && s.Skew <= 1):
		return fmt.Errorf("simulate: a skew of %v: give the share of each set's main class, or 0 for random shares", s.Skew)
	}
	if err := checkRepeats(s.Repeats); err != nil {
		return err
	}
	if err := s.checkPool(); err != nil {
		return err
	}
	s.Terms.Gamma = cmp.Or(s.Terms.Gamma, s.Width, 1) // any width will do for the check
	of, err := s.proposal(1)
	if err != nil {
		return err
	}
	return checkProposal(of, s.Schema, study.Size{Parties: s.Sets, Records: s.Sets * s.SetSize})
}

func (s Ratio) proposal(scale float64) (of study.Proposal, err error) {
	of = s.Proposal
	terms := s.Terms
	if s.Width != 0 {
		terms.Gamma = s.Width / scale
	}
	terms.SetSize = cmp.Or(terms.SetSize, s.SetSize)
	terms.MaxRecords = cmp.Or(terms.MaxRecords,
		max(studyratio.DefaultTerms().MaxRecords, s.SetSize))
	of.KindTerms, err = study.EncodeTerms(terms)
	return of, err
}

// ratioTrial is what one test set measures. Interval and Doubted are 1 if they hold, and Covered is
// the share of the set's intervals that contain the truth, 0 without intervals.
type ratioTrial struct {
	Released, Unperturbed, Training ratio.Error
	Covered, Interval, Doubted      float64
	share                           int // index into TargetShares
}

// ratioRepeat is what one repeat measures. meanOf sees its exported numbers.
type ratioRepeat struct {
	UploadBytes, Width, Condition, SetSize float64

	run    Run
	plan   study.Plan
	result estimated.Result
	trials []ratioTrial
	short  []string
}

// Run simulates. The result depends on the seed alone.
func (s Ratio) Run(ctx context.Context) (RatioSummary, error) {
	if err := s.Check(); err != nil {
		return RatioSummary{}, err
	}
	done, err := repeated(s.Repeats, func(i int) (ratioRepeat, error) { return s.once(ctx, i) })
	if err != nil {
		return RatioSummary{}, err
	}
	return s.summary(done)
}

func (s Ratio) summary(done []ratioRepeat) (RatioSummary, error) {
	first := done[0]
	p, cost := first.plan, first.run.Release.Costs[0]
	var terms studyratio.Terms
	if err := p.DecodeTerms(&terms); err != nil {
		return RatioSummary{}, err
	}
	var trials []ratioTrial
	refused := 0
	for _, r := range done {
		trials = append(trials, r.trials...)
		if r.result.Model == nil {
			refused++
		}
	}
	mean, _ := meanOf(done)
	errs, _ := meanOf(trials)
	out := RatioSummary{
		Summary: summaryOf(p, s.Repeats, &first.run.Release, first.short), Sampler: cost.Mechanism,
		Parameters: cost.Parameters, Estimator: terms.Estimator, Features: terms.Features,
		Classes: len(p.Schema.Label.Classes), Sets: s.Sets, SetSize: mean.SetSize,
		Targets: s.Targets, TargetSize: s.TargetSize, L1: meanL1(trials),
		AE: errs.Released.AE, RAE: errs.Released.RAE, NKLD: errs.Released.NKLD,
		Coverage:      errs.Covered / max(errs.Interval, 1/float64(len(trials))),
		IntervalShare: errs.Interval, PoorFitShare: errs.Doubted, Condition: mean.Condition,
		Width: mean.Width, UploadBytes: mean.UploadBytes, RefusedReleases: refused,
	}
	if terms.Sets == studyratio.SetsMade {
		out.MadeSetSkew = terms.Skew
	}
	for k, shares := range s.TargetShares {
		var of []ratioTrial
		for _, t := range trials {
			if t.share == k {
				of = append(of, t)
			}
		}
		out.ByShare = append(out.ByShare, RatioShareResult{Shares: shares, L1: meanL1(of)})
	}
	return out, nil
}

func meanL1(trials []ratioTrial) RatioL1 {
	mean, sd := meanOf(trials)
	return RatioL1{Released: mean.Released.L1, ReleasedSD: sd.Released.L1,
		Unperturbed: mean.Unperturbed.L1, TrainingRatio: mean.Training.L1}
}

func (s Ratio) once(ctx context.Context, index int) (ratioRepeat, error) {
	fail := func(err error) (ratioRepeat, error) { return ratioRepeat{}, err }
	d, err := s.deal(index)
	if err != nil {
		return fail(err)
	}
	task, scale, err := s.task(d)
	if err != nil {
		return fail(err)
	}
	out := ratioRepeat{plan: task.Plan(), short: d.Short}
	if out.run, err = d.Run(ctx, task,
		Options{Progress: progressOf(s.Progress, index, s.Repeats, s.Sets)}); err != nil {
		return fail(err)
	}
	if out.result, err = estimated.ResultOf(out.run.Release); err != nil {
		return fail(err)
	}
	out.UploadBytes = out.run.UploadBytes
	out.Width, out.Condition = out.result.Gamma*scale, out.result.Condition
	for _, rows := range d.Parties {
		out.SetSize += float64(len(rows)) / float64(s.Sets)
	}
	err = s.measure(&out, d)
	return out, err
}

func (s Ratio) deal(index int) (*DealtData, error) {
	d, err := s.divide(index)
	if err != nil {
		return nil, err
	}
	d.seed = d.rng.Uint64()
	if err := s.drawSets(d); err != nil {
		return nil, err
	}
	d.compareSizes(s.SetSize)
	return d, nil
}

func (s Ratio) task(d *DealtData) (task study.Finisher, scale float64, err error) {
	fail := func(err error) (study.Finisher, float64, error) {
		return nil, 0, fmt.Errorf("simulate: %w", err)
	}
	p, err := complete(s.Proposal, s.Schema, d.Size())
	if err != nil {
		return fail(err)
	}
	on, err := d.mapPool(p, s.Proposal.Map)
	if err != nil {
		return fail(err)
	}
	if scale, err = studyratio.MedianDistance(on.pool); err != nil {
		return fail(err)
	}
	of, err := s.proposal(scale)
	if err != nil {
		return fail(err)
	}
	task, err = d.Task(of)
	return task, scale, err
}

// drawSets deals each party a set, and notes where its class shares are others than were asked.
func (s Ratio) drawSets(d *DealtData) error {
	y, rng := d.Private.Y, d.rng
	c := len(s.Schema.Label.Classes)
	byClass := make([][]int, c)
	for _, i := range rng.Perm(len(y)) {
		if y[i] >= 0 {
			byClass[y[i]] = append(byClass[y[i]], i)
		}
	}
	sets := make([][]int, s.Sets)
	others, farthest, first := 0, 0., ""
	for i := range sets {
		var shares []float64
		switch {
		case len(s.SetShares) > 0:
			shares = slices.Clone(s.SetShares[i%len(s.SetShares)])
		case s.Skew > 0:
			shares = make([]float64, c)
			for k := range shares {
				shares[k] = (1 - s.Skew) / float64(c-1)
			}
			shares[i%c] = s.Skew
		case s.Terms.Sets == studyratio.SetsMade:
			shares = ratio.SharesOfLabels(y, nil, c)
		default:
			shares = ratio.UniformShares(c, rng)
		}
		asked, total := slices.Clone(shares), 0.
		for k := range shares {
			if len(byClass[k]) == 0 {
				shares[k] = 0
			}
			total += shares[k]
		}
		if total == 0 {
			return fmt.Errorf("simulate: the records run out at set %d of %d: ask for fewer or smaller sets", i+1, s.Sets)
		}
		for k := range shares {
			n := min(int(math.Round(shares[k]/total*float64(s.SetSize))), len(byClass[k]))
			sets[i] = append(sets[i], byClass[k][:n]...)
			byClass[k] = byClass[k][n:]
		}
		if len(sets[i]) < 2 {
			return fmt.Errorf("simulate: the records run out at set %d of %d: ask for fewer or smaller sets", i+1, s.Sets)
		}
		got := ratio.SharesOfLabels(y, sets[i], c)
		apart := ratio.Measure(asked, got, s.SetSize).L1
		// counts are rounded to whole records, each class's by up to a half
		if apart > 2*float64(c)/float64(len(sets[i])) {
			if others++; apart > farthest {
				farthest, first = apart, fmt.Sprintf("set %d was to have %.2f and has %.2f",
					i+1, asked, got)
			}
		}
	}
	if others > 0 {
		d.Short = append(d.Short, fmt.Sprintf("%d of %d sets have other class shares than were asked, "+
			"because the records of a class ran out (%s): what is printed is of these; ask for fewer or "+
			"smaller sets", others, s.Sets, first))
	}
	d.Parties = sets
	return nil
}

func (s Ratio) targets(y []int, rng *rand.Rand) (samples []ratio.Sample, share []int, err error) {
	if len(s.TargetShares) == 0 {
		samples, err = ratio.SampleSets(y, ratio.SampleOptions{
			Classes: len(s.Schema.Label.Classes), Size: s.TargetSize, Sets: s.Targets,
		}, rng)
		return samples, make([]int, len(samples)), err
	}
	for k, shares := range s.TargetShares {
		for range s.Targets {
			sample, err := ratio.SampleAtShares(y, shares, s.TargetSize, rng)
			if err != nil {
				return nil, nil, err
			}
			samples, share = append(samples, sample), append(share, k)
		}
	}
	return samples, share, nil
}

func (s Ratio) measure(of *ratioRepeat, d *DealtData) error {
	c := len(s.Schema.Label.Classes)
	samples, share, err := s.targets(d.Test.Y, d.rng)
	if err != nil {
		return fmt.Errorf("simulate: %w", err)
	}
	var clear estimated.Result
	if err := of.run.Unperturbed.DecodeBody(&clear); err != nil {
		return err
	}
	training := ratio.SharesOfLabels(d.Private.Y, slices.Concat(d.Parties...), c)
	if of.result.Model != nil { // use the released shares
		training = of.result.TrainingShares
	}
	for i, sample := range samples {
		t := ratioTrial{share: share[i],
			Training: ratio.Measure(sample.Shares, training, len(sample.Rows))}
		records := d.Test.Select(sample.Rows)
		released, err := estimate(of.plan, of.result, records)
		if err != nil {
			return err
		}
		unperturbed, err := estimate(of.plan, clear, records)
		if err != nil {
			return err
		}
		t.Released = ratio.Measure(sample.Shares, released.Shares, len(sample.Rows))
		t.Unperturbed = ratio.Measure(sample.Shares, unperturbed.Shares, len(sample.Rows))
		if released.Low != nil && released.NoInterval == "" {
			t.Interval = 1
			for k, v := range sample.Shares {
				if released.Low[k] <= v && v <= released.High[k] {
					t.Covered += 1 / float64(c)
				}
			}
		}
		if fit := released.GoodnessOfFit; fit.Tested && fit.Statistic > fit.Threshold {
			t.Doubted = 1
		}
		of.trials = append(of.trials, t)
	}
	return nil
}

// estimate estimates the shares of records. Without a model: uniform shares, intervals from 0 to 1.
func estimate(p study.Plan, r estimated.Result, records *dataset.Records) (ratio.Estimate, error) {
	if r.Model != nil {
		return r.Estimate(p, records)
	}
	c := len(p.Schema.Label.Classes)
	answer := ratio.Estimate{Shares: make([]float64, c), Low: make([]float64, c),
		High: make([]float64, c)}
	for k := range c {
		answer.Shares[k], answer.High[k] = 1/float64(c), 1
	}
	return answer, nil
}
