package estimated

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"caucus/aggregation/fitting"
	"caucus/aggregation/ratio"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	studyratio "caucus/study/ratio"
)

const kindName = "ratio"

// Assumption states what every estimate of a ratio study relies on.
const Assumption = "This assumes that records of a class look alike everywhere: only the classes' shares differ between the sets and this file, not what a class looks like."

// Results is the half of the kind for who releases, verifies or reads.
type Results struct{}

// Body returns an empty *Result, into which a release's body is read strictly.
func (Results) Body() any { return new(Result) }

// Finisher finishes tasks of package ratio, and panics for others.
func (Results) Finisher(t study.Task) study.Finisher { return finisher{t.(studyratio.Task)} }

type finisher struct{ studyratio.Task }

// Result holds a model of class ratios, or why there is none, and each set's noisy shares.
type Result struct {
	// Model estimates the ratios of any unlabelled set. If the sets support none, it is nil, and
	// Refusal says why.
	Model   *ratio.Model `json:"model,omitempty"`
	Refusal *Refusal     `json:"refusal,omitempty"`
	Sets    []SetResult  `json:"sets"`
	// TrainingShares are the classes' shares in all sets together.
	TrainingShares []float64 `json:"training_shares,omitempty"`
	// Condition is the factor by which errors grow in the bound of Iyer, Nath & Sarawagi (2016).
	Condition float64 `json:"condition,omitempty"`
	// Gamma is the kernel's width, and Widths the search for it.
	Gamma    float64                `json:"gamma"`
	Widths   []ratio.WidthCandidate `json:"widths,omitempty"`
	Warnings []ratio.Warning        `json:"warnings,omitempty"`
}

// Refusal says why the sets support no estimate.
type Refusal struct {
	Reason ratio.Reason `json:"reason"`
	Value  float64      `json:"number"`
	Advice string       `json:"advice"`
}

// SetResult is one set as published, under no party's name. Records is public.
type SetResult struct {
	Records int `json:"records"`
	// Shares are projected onto the simplex. SD is the standard deviation of the noise on each
	// share before projection.
	Shares []float64 `json:"shares"`
	SD     []float64 `json:"sd,omitempty"`
}

func (f finisher) Finish(of study.Contributions, _ []privacy.Published) (study.Result, error) {
	p, pool := f.Plan(), f.Pool()
	if of.Bodies == nil {
		return study.Result{}, fmt.Errorf("finish ratio: it takes the bodies of the contributions")
	}
	sets, small, err := estimator{f.Reader}.sets(of.Bodies)
	if err != nil {
		return study.Result{}, fmt.Errorf("finish ratio: %w", err)
	}
	out := &Result{Gamma: f.Design.Terms.Gamma, Sets: []SetResult{}}
	for _, set := range sets {
		out.Sets = append(out.Sets, setResult(set))
	}
	err = out.fit(p, pool, f.Design, sets)
	var refusal *ratio.Refusal
	if errors.As(err, &refusal) {
		out.Refusal = &Refusal{refusal.Reason, refusal.Value, refusal.Advice}
	} else if err != nil {
		return study.Result{}, fmt.Errorf("finish ratio: %w", err)
	}
	warnings := out.conclude(small)
	return study.NewResult(out, warnings)
}

func setResult(set ratio.Set) SetResult {
	one := SetResult{Records: set.EmbeddedRows, Shares: fitting.ProjectSimplex(set.Shares, 1)}
	for j := range set.Shares {
		if set.ShareCov != nil {
			one.SD = append(one.SD, math.Sqrt(set.ShareCov.At(j, j)))
		}
	}
	return one
}

func (r *Result) conclude(small int) (warnings []string) {
	warn := func(format string, args ...any) {
		warnings = append(warnings, fmt.Sprintf(format, args...))
	}
	if small > 0 {
		warn("%d sets have fewer than 2 records and were left out", small)
	}
	if r.Model == nil {
		warn("no estimate is possible: %s", r.Refusal.refusal().Error())
		return warnings
	}
	r.TrainingShares, r.Condition, r.Warnings = r.Model.TrainingShares(), r.Model.Condition(),
		r.Model.Warnings()
	for _, w := range r.Warnings {
		warn("%s (%.4g): %s", w.Reason, w.Value, w.Advice)
	}
	return warnings
}

func (r Refusal) refusal() *ratio.Refusal {
	return &ratio.Refusal{Reason: r.Reason, Value: r.Value, Advice: r.Advice}
}

func (r *Result) fit(p study.Plan, pool *auxdata.Pool, d studyratio.Design,
	sets []ratio.Set) (err error) {
	o := ratio.WidthChoosingOptions{Estimator: d.Terms.Estimator, Gamma: r.Gamma, Pool: pool.X}
	if d.Terms.Fourier > 0 {
		o.Fourier = &d.Fourier
	}
	if r.Gamma == 0 && len(sets) > 0 {
		if o.Scale, err = studyratio.MedianDistance(pool); err != nil {
			return err
		}
	}
	rng := rand.New(rand.NewPCG(p.Seed, 0x726174696f)) // public randomness, for splits
	r.Model, r.Gamma, r.Widths, err = ratio.FitChoosingWidth(sets, o, rng)
	return err
}

// ResultOf reads a release's body, and refuses one whose model has another number of classes. It
// checks no signature.
func ResultOf(r study.Release) (out Result, err error) {
	if r.Kind != kindName {
		return out, fmt.Errorf("this release is not of a ratio study")
	}
	if err := r.Result.DecodeBody(&out); err != nil {
		return out, err
	}
	if m := out.Model; m != nil && len(out.TrainingShares) != m.Classes() {
		return Result{}, fmt.Errorf("read ratio: the model has %d classes, there are shares of %d: the release was damaged", m.Classes(), len(out.TrainingShares))
	}
	return out, nil
}

// Estimate estimates the class ratios of records with the plan's schema and map, ignoring labels.
func Estimate(r study.Release, records *dataset.Records) (ratio.Estimate, error) {
	result, err := ResultOf(r)
	if err != nil {
		return ratio.Estimate{}, fmt.Errorf("estimate ratio: %w", err)
	}
	p, err := planOf(r)
	if err != nil {
		return ratio.Estimate{}, err
	}
	return result.Estimate(p, records)
}

// Estimate estimates the class ratios of records with the plan's schema and map, ignoring labels.
func (r Result) Estimate(p study.Plan, records *dataset.Records) (ratio.Estimate, error) {
	if r.Model == nil && r.Refusal == nil {
		return ratio.Estimate{}, fmt.Errorf("estimate ratio: this release holds no model")
	}
	if r.Model == nil {
		return ratio.Estimate{}, fmt.Errorf("estimate ratio: the study's sets support no estimate: %w", r.Refusal.refusal())
	}
	if have, want := r.Model.Classes(), len(p.Schema.Classes()); have != want {
		return ratio.Estimate{}, fmt.Errorf("estimate ratio: the model has %d classes, the plan %d: the release was damaged", have, want)
	}
	if records.Len() == 0 {
		return ratio.Estimate{}, fmt.Errorf("estimate ratio: %w",
			&ratio.Refusal{Reason: ratio.EmptyTarget, Advice: "the file has no records"})
	}
	return r.Model.Estimate(ratio.Set{Rows: p.MapRecords(records)})
}

func planOf(r study.Release) (study.Plan, error) {
	p, err := r.DecodedPlan()
	if err != nil {
		return study.Plan{}, err
	}
	return p, studyratio.Kind{}.Check(p)
}
