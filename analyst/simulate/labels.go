package simulate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"caucus/aggregation"
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
	Study      string      `json:"study"`
	Mechanism  string      `json:"mechanism"`
	Unit       string      `json:"unit"`
	Noise      study.Noise `json:"noise"`
	Epsilon    float64     `json:"epsilon"`
	Keep       float64     `json:"keep"`
	Loss       string      `json:"loss"`
	Risk       string      `json:"risk"`
	Correction string      `json:"correction"`
	Parties    int         `json:"parties"`
	Records    int         `json:"records"`
	PoolRows   int         `json:"pool_rows"`
	Features   int         `json:"features"`
	Classes    int         `json:"classes"`
	Lambda     float64     `json:"lambda"`
	// Measures on the test records; SD is their standard deviation over the repeats.
	learners.Measures
	SD learners.Measures `json:"sd"`
	// Unperturbed measures a classifier fitted in the same way to the true labels.
	Unperturbed   learners.Measures `json:"unperturbed"`
	MajorityClass float64           `json:"majority_class"`
	// Output, Brier and Slope are as in ClassifySummary.
	Output classifier.Output `json:"output"`
	Brier  Compared          `json:"brier"`
	Slope  Compared          `json:"slope"`
	// Probabilities describes the repeats whose outputs are probabilities, nil if there are none.
	Probabilities *Probabilities `json:"probabilities,omitempty"`
	// TrueShares are the class shares of the first repeat, and Shares their estimates.
	TrueShares  []float64               `json:"true_shares"`
	Shares      aggregation.LabelShares `json:"shares"`
	UploadBytes float64                 `json:"upload_bytes_per_party"`
	Repeats     int                     `json:"repeats"`
	Warnings    []string                `json:"warnings,omitempty"`
	// Release is the first repeat's release, for predictions.
	Release *study.Release `json:"-"`
	Seconds float64        `json:"seconds,omitempty"` // that the caller measured
}

// Probabilities summarises the repeats whose outputs are probabilities.
type Probabilities struct {
	Repeats int `json:"repeats"`
	// Held counts the repeats whose released interval of the slope contains the slope on the test
	// records.
	Held  int      `json:"slope_held"`
	Brier Compared `json:"brier"`
	Slope Compared `json:"slope"`
}

type labelsRepeat struct {
	Run
	got, unperturbed learners.Measures
	released, clear  learners.ProbabilityFit
	majority         float64
	truth            []float64
	plan             study.Plan
	poolRows, dim    int
	result           learned.Result
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
	done := make([]labelsRepeat, s.Repeats)
	for i := range done {
		if done[i], err = s.once(ctx, i); err != nil {
			return LabelsSummary{}, err
		}
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
	out := LabelsSummary{
		Study: p.Kind, Mechanism: p.Mechanism, Unit: p.Unit.String(), Noise: p.Noise, Epsilon: p.Epsilon,
		Keep: l.Keep, Loss: l.Loss, Risk: l.Risk, Correction: l.Correction,
		Parties: len(p.Roster), Records: l.Records, PoolRows: first.poolRows, Features: first.dim,
		Classes: len(p.Schema.Label.Classes), TrueShares: first.truth, Shares: l.Shares, Repeats: s.Repeats,
		Warnings: first.Release.Result.Warnings, Release: &first.Release,
	}
	out.Accuracy, out.SD.Accuracy = over(done, func(r labelsRepeat) float64 {
		return r.got.Accuracy
	})
	out.BER, out.SD.BER = over(done, func(r labelsRepeat) float64 { return r.got.BER })
	out.AUC, out.SD.AUC = over(done, func(r labelsRepeat) float64 { return r.got.AUC })
	out.Unperturbed.Accuracy, _ = over(done, func(r labelsRepeat) float64 {
		return r.unperturbed.Accuracy
	})
	out.Unperturbed.BER, _ = over(done, func(r labelsRepeat) float64 { return r.unperturbed.BER })
	out.Unperturbed.AUC, _ = over(done, func(r labelsRepeat) float64 { return r.unperturbed.AUC })
	out.Lambda, _ = over(done, func(r labelsRepeat) float64 { return r.result.Classifier.Lambda })
	out.UploadBytes, _ = over(done, func(r labelsRepeat) float64 { return r.UploadBytes })
	out.Output = l.Classifier.Output
	out.Brier, out.Slope = calibration(done)
	called := Probabilities{}
	var of []labelsRepeat
	for _, r := range done {
		if c := r.result.Classifier.Calibration; c != nil {
			of = append(of, r)
			if slope := c.Slope * r.released.Slope; c.Low <= slope && slope <= c.High {
				called.Held++
			}
		}
	}
	if called.Repeats = len(of); called.Repeats > 0 {
		called.Brier, called.Slope = calibration(of)
		out.Probabilities = &called
	}
	out.MajorityClass, _ = over(done, func(r labelsRepeat) float64 { return r.majority })
	return out
}

func calibration(of []labelsRepeat) (brier, slope Compared) {
	brier = compared(of, func(r labelsRepeat) float64 {
		return r.released.Brier
	}, func(r labelsRepeat) float64 { return r.clear.Brier })
	slope = compared(of, func(r labelsRepeat) float64 {
		return r.released.Slope
	}, func(r labelsRepeat) float64 { return r.clear.Slope })
	return brier, slope
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
	out := labelsRepeat{plan: task.Plan(), poolRows: task.Pool().Rows(), dim: task.Pool().Dim()}
	if out.Run, err = d.Run(ctx, task,
		Options{Progress: progressOf(s.Progress, index, s.Repeats, len(d.Parties))}); err != nil {
		return fail(err)
	}
	if out.result, err = learned.ResultOf(out.Release.Result); err != nil {
		return fail(err)
	}
	err = out.measure(d)
	return out, err
}

func (l *labelsRepeat) measure(d *Deal) error {
	clear := learners.Channel{Keep: 1, Classes: len(d.Schema.Label.Classes)}
	x := mapped(l.plan, d.Test)
	model, err := l.result.Classifier.Linear()
	if err != nil {
		return err
	}
	l.got, l.released = learners.Measure(model, x, d.Test.Y, clear), learners.CalibratedOf(model, x,
		d.Test.Y)
	fit, err := learned.FitClear(l.plan, mapped(l.plan, d.Private), d.Private.Y, d.rng)
	if err != nil {
		return err
	}
	l.unperturbed, l.clear = learners.Measure(fit.Model, x, d.Test.Y,
		clear), learners.CalibratedOf(fit.Model, x, d.Test.Y)
	l.truth = aggregation.DebiasedShares(d.Private.Y, clear).Share
	for _, share := range aggregation.DebiasedShares(d.Test.Y, clear).Share {
		l.majority = math.Max(l.majority, share)
	}
	return nil
}
