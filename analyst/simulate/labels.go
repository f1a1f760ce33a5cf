package simulate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"caucus/aggregation/fitting"
	"caucus/learners"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/labels/learned"
)

// Labels runs a labels proposal among virtual parties and measures the classifier.
type Labels struct {
	Split
	Proposal study.Proposal
	Repeats  int
	Progress func(done, total int)
}

// LabelsSummary is the result of a simulation. Its numbers are means over the repeats.
type LabelsSummary struct {
	Summary
	Keep       float64 `json:"keep"`
	Loss       string  `json:"loss"`
	Risk       string  `json:"risk"`
	Correction string  `json:"correction"`
	Records    int     `json:"records"`
	PoolRows   int     `json:"pool_rows"`
	Features   int     `json:"features"`
	Classes    int     `json:"classes"`
	Lambda     float64 `json:"lambda"`
	// Measures on the test records; SD is their standard deviation over the repeats.
	learners.Measures
	SD learners.Measures `json:"sd"`
	// Unperturbed measures a classifier fitted in the same way to the true labels.
	Unperturbed   learners.Measures `json:"unperturbed"`
	MajorityClass float64           `json:"majority_class"`
	// Output, Brier and Slope are as in ClassifySummary.
	Output classifier.Output `json:"output"`
	Brier  NoisyAndExact     `json:"brier"`
	Slope  NoisyAndExact     `json:"slope"`
	// Probabilities describes the repeats whose outputs are probabilities, nil if there are none.
	Probabilities *Probabilities `json:"probabilities,omitempty"`
	// TrueShares are the class shares of the first repeat, and Shares their estimates.
	TrueShares  []float64           `json:"true_shares"`
	Shares      fitting.LabelShares `json:"shares"`
	UploadBytes float64             `json:"upload_bytes_per_party"`
}

// Probabilities summarises the repeats whose outputs are probabilities.
type Probabilities struct {
	Repeats int `json:"repeats"`
	// CoveredSlopes counts the repeats whose released interval of the slope contains the slope on
	// the test records.
	CoveredSlopes int           `json:"slope_held"`
	Brier         NoisyAndExact `json:"brier"`
	Slope         NoisyAndExact `json:"slope"`
}

// labelsRepeat is what one repeat measures. meanOf sees its exported numbers.
type labelsRepeat struct {
	Got, Unperturbed              learners.Measures
	Released, Clear               learners.ProbabilityFit
	Majority, Lambda, UploadBytes float64

	release       study.Release
	truth         []float64
	plan          study.Plan
	poolRows, dim int
	result        learned.Result
	short         []string
}

// Check refuses splits, repeats and proposals that cannot run, before anything is drawn or trained.
func (s Labels) Check() error {
	if err := s.Split.Check(); err != nil {
		return err
	}
	if err := checkRepeats(s.Repeats); err != nil {
		return err
	}
	return s.CheckProposal(s.Proposal)
}

// Run simulates. The result depends on the seed alone.
func (s Labels) Run(ctx context.Context) (LabelsSummary, error) {
	if err := s.Check(); err != nil {
		return LabelsSummary{}, err
	}
	warnings, err := s.checkTest()
	if err != nil {
		return LabelsSummary{}, err
	}
	done, err := repeated(s.Repeats, func(i int) (labelsRepeat, error) { return s.once(ctx, i) })
	if err != nil {
		return LabelsSummary{}, err
	}
	summary := s.summary(done)
	summary.Warnings = append(summary.Warnings, warnings...)
	return summary, nil
}

// checkTest refuses test records that do not allow a measurement. Warnings name classes without
// any.
func (s Labels) checkTest() (warnings []string, err error) {
	if s.Test == nil { // then tests are split off the training records
		return nil, nil
	}
	var seen []string
	for k, class := range s.Schema.Classes() {
		if slices.Contains(s.Test.Y, k) {
			seen = append(seen, class)
		} else {
			warnings = append(warnings, fmt.Sprintf("no test record has class %q: balanced error and area under the curve leave it out", class))
		}
	}
	switch len(seen) {
	case 0:
		return nil, fmt.Errorf("simulate: no test record has one of the classes %v: give records with their labels", s.Schema.Classes())
	case 1:
		return nil, fmt.Errorf("simulate: all test records have class %q: balanced error and area under the curve compare at least two classes", seen[0])
	}
	return warnings, nil
}

func (s Labels) summary(done []labelsRepeat) LabelsSummary {
	first := done[0]
	p, l := first.plan, first.result
	mean, sd := meanOf(done)
	out := LabelsSummary{
		Summary: summaryOf(p, s.Repeats, &first.release, first.short),
		Keep:    l.Keep, Loss: l.Loss, Risk: l.Risk, Correction: l.Correction,
		Records: l.Records, PoolRows: first.poolRows, Features: first.dim,
		Classes: len(p.Schema.Label.Classes), TrueShares: first.truth, Shares: l.Shares,
		Measures: mean.Got, SD: sd.Got, Unperturbed: mean.Unperturbed, Lambda: mean.Lambda,
		UploadBytes: mean.UploadBytes, Output: l.Classifier.Output, MajorityClass: mean.Majority,
	}
	out.Brier, out.Slope = comparedFits(mean.Released, sd.Released, mean.Clear)
	called := Probabilities{}
	var of []labelsRepeat
	for _, r := range done {
		if c := r.result.Classifier.Calibration; c != nil {
			of = append(of, r)
			if slope := c.Slope * r.Released.Slope; c.Low <= slope && slope <= c.High {
				called.CoveredSlopes++
			}
		}
	}
	if called.Repeats = len(of); called.Repeats > 0 {
		mean, sd := meanOf(of)
		called.Brier, called.Slope = comparedFits(mean.Released, sd.Released, mean.Clear)
		out.Probabilities = &called
	}
	return out
}

func (s Labels) once(ctx context.Context, index int) (labelsRepeat, error) {
	fail := func(err error) (labelsRepeat, error) { return labelsRepeat{}, err }
	d, err := s.Deal(index)
	if err != nil {
		return fail(err)
	}
	task, err := d.Task(s.Proposal)
	if err != nil {
		return fail(err)
	}
	run, err := d.Run(ctx, task,
		Options{Progress: progressOf(s.Progress, index, s.Repeats, len(d.Parties))})
	if err != nil {
		return fail(err)
	}
	out := labelsRepeat{release: run.Release, plan: task.Plan(), poolRows: task.Pool().Rows(),
		dim: task.Pool().Dim(), UploadBytes: run.UploadBytes, short: d.Short}
	if out.result, err = learned.ResultOf(run.Release.Result); err != nil {
		return fail(err)
	}
	out.Lambda = out.result.Classifier.Lambda
	err = out.measure(d)
	return out, err
}

func (l *labelsRepeat) measure(d *DealtData) error {
	clear := learners.LabelChannel{Keep: 1, Classes: len(d.Schema.Label.Classes)}
	x := mapped(l.plan, d.Test)
	model, err := l.result.Classifier.Linear()
	if err != nil {
		return err
	}
	l.Got = learners.MeasureScores(model, x, d.Test.Y, clear)
	l.Released = learners.MeasureProbabilities(model, x, d.Test.Y)
	fit, err := learned.FitClear(l.plan, mapped(l.plan, d.Private), d.Private.Y, d.rng)
	if err != nil {
		return err
	}
	l.Unperturbed = learners.MeasureScores(fit.Model, x, d.Test.Y, clear)
	l.Clear = learners.MeasureProbabilities(fit.Model, x, d.Test.Y)
	l.truth = fitting.DebiasedShares(d.Private.Y, clear).Share
	for _, share := range fitting.DebiasedShares(d.Test.Y, clear).Share {
		l.Majority = math.Max(l.Majority, share)
	}
	return nil
}
