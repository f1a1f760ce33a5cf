package study

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"caucus/aggregation"
	"caucus/aggregation/ratio"
	"caucus/auxdata"
	"caucus/dataset"
	"caucus/privacy"
)

// RatioAssumption is what every estimate of a ratio study rests on.
const RatioAssumption = "This assumes that records of a class look alike everywhere: only the classes' shares differ between the sets and this file, not what a class looks like."

// RatioResult is what a ratio study says.
type RatioResult struct {
	// Model estimates the ratios of any unlabelled set; nil where the sets
	// cannot support one, and then Refusal says why, with the number that
	// explains it.
	Model   *ratio.Model     `json:"model,omitempty"`
	Refusal *RatioRefusal    `json:"refusal,omitempty"`
	Sets    []RatioSetResult `json:"sets"`
	// TrainingShares are the classes' shares in all sets together.
	TrainingShares []float64 `json:"training_shares,omitempty"`
	// Condition is the factor by which the published bound multiplies errors.
	Condition float64 `json:"condition,omitempty"`
	// Gamma is the kernel's width, Widths the search for it.
	Gamma    float64            `json:"gamma"`
	Widths   []ratio.WidthPoint `json:"widths,omitempty"`
	Warnings []ratio.Warning    `json:"warnings,omitempty"`
}

// RatioRefusal is why the sets support no estimate.
type RatioRefusal struct {
	Reason ratio.Reason `json:"reason"`
	Number float64      `json:"number"`
	Advice string       `json:"advice"`
}

// RatioSetResult is one released set.
type RatioSetResult struct {
	Records int `json:"records"`
	// Shares are projected; SD is the standard deviation of the privacy noise on
	// each before that.
	Shares []float64 `json:"shares"`
	SD     []float64 `json:"sd,omitempty"`
}

func (t ratioTask) Finish(_ int, sum Sum, _ []privacy.Published) (Result, error) {
	p, pool := t.plan, t.pool
	s, ok := sum.(*ratioSum)
	if !ok {
		return Result{}, fmt.Errorf("finish ratio: unknown sum %T", sum)
	}
	sets, small, err := s.sets()
	if err != nil {
		return Result{}, fmt.Errorf("finish ratio: %w", err)
	}
	out := &RatioResult{Gamma: p.Ratio.Gamma, Sets: []RatioSetResult{}}
	for _, set := range sets {
		out.Sets = append(out.Sets, setResult(set))
	}
	err = out.fit(p, pool, s.design, sets)
	var refusal *ratio.Refusal
	if errors.As(err, &refusal) {
		out.Refusal = &RatioRefusal{refusal.Reason, refusal.Number, refusal.Advice}
	} else if err != nil {
		return Result{}, fmt.Errorf("finish ratio: %w", err)
	}
	return Result{Ratio: out, Warnings: out.conclude(small)}, nil
}

func setResult(set ratio.Set) RatioSetResult {
	one := RatioSetResult{Records: set.N, Shares: aggregation.ProjectSimplex(set.Shares, 1)}
	for j := range set.Shares {
		if set.ShareCov != nil {
			one.SD = append(one.SD, math.Sqrt(set.ShareCov.At(j, j)))
		}
	}
	return one
}

// conclude fills in what follows from model or refusal, and says in words what
// is doubtful; small is how many sets were left out.
func (r *RatioResult) conclude(small int) (warnings []string) {
	warn := func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
	if small > 0 {
		warn("%d sets have fewer than 2 records and were left out", small)
	}
	if r.Model == nil {
		warn("no estimate is possible: %s", r.Refusal.refusal().Error())
		return warnings
	}
	r.TrainingShares, r.Condition, r.Warnings = r.Model.TrainingShares(), r.Model.Condition(), r.Model.Warnings()
	for _, w := range r.Warnings {
		warn("%s (%.4g): %s", w.Reason, w.Number, w.Advice)
	}
	return warnings
}

func (r RatioRefusal) refusal() *ratio.Refusal {
	return &ratio.Refusal{Reason: r.Reason, Number: r.Number, Advice: r.Advice}
}

// fit chooses the width where the plan leaves it open, and makes the model.
func (r *RatioResult) fit(p Plan, pool *auxdata.Pool, d ratioDesign, sets []ratio.Set) error {
	rng := rand.New(rand.NewPCG(p.Seed, 0x726174696f)) // public: splits
	if len(sets) == 0 {
		return &ratio.Refusal{Reason: ratio.TooFewSets, Advice: "no set has two records or more"}
	}
	if r.Gamma == 0 {
		scale, err := RatioScale(pool)
		if err != nil {
			return err
		}
		o := ratio.WidthOptions{Estimator: p.Ratio.Estimator, Scale: scale}
		if p.Ratio.Fourier > 0 {
			f := d.fourier
			f.Features = min(f.Features, 1000)
			o.Fourier = &f
		}
		if r.Gamma, r.Widths, err = ratio.SelectWidth(sets, o, rng); err != nil {
			var refusal *ratio.Refusal
			if !errors.As(err, &refusal) {
				return err
			}
			r.Gamma = 1 / scale // no set can be held out
		}
	}
	o := ratio.Options{Estimator: p.Ratio.Estimator}
	if p.Ratio.Fourier > 0 {
		f := d.fourier
		f.Gamma = r.Gamma
		o.Fourier = &f
		o.Rank = ratio.EffectiveRank(ratio.RBF(r.Gamma), pool.X)
	} else {
		o.Kernel = ratio.RBF(r.Gamma)
	}
	var err error
	r.Model, err = ratio.Fit(sets, o)
	return err
}

// RatioScale is the median squared distance of the pool's mapped rows, the
// public scale of kernel widths.
func RatioScale(pool *auxdata.Pool) (float64, error) {
	return ratio.MedianSquaredDistance(pool.X, rand.New(rand.NewPCG(1, 2)))
}

// Ratio estimates the class ratios of records with the plan's schema and map;
// their labels, if any, are not looked at. The records stay where they are.
func (r Release) Ratio(records *dataset.Records) (ratio.Estimate, error) {
	if r.Result.Ratio == nil {
		return ratio.Estimate{}, fmt.Errorf("estimate ratio: this release is not of a ratio study")
	}
	if r.Result.Ratio.Model == nil {
		why := r.Result.Ratio.Refusal
		if why == nil {
			return ratio.Estimate{}, fmt.Errorf("estimate ratio: this release holds no model")
		}
		return ratio.Estimate{}, fmt.Errorf("estimate ratio: the study's sets support no estimate: %w", why.refusal())
	}
	p, err := r.ParsedPlan()
	if err != nil {
		return ratio.Estimate{}, err
	}
	if records.Len() == 0 {
		return ratio.Estimate{}, fmt.Errorf("estimate ratio: %w", &ratio.Refusal{Reason: ratio.EmptyTarget, Advice: "the file has no records"})
	}
	return r.Result.Ratio.Model.Estimate(ratio.Set{Rows: mapped(p, records)})
}
