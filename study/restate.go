package study

import (
	"errors"
	"slices"

	"caucus/aggregation"
	"caucus/aggregation/ratio"
	"caucus/auxdata"
)

// restater is a task whose result is fitted to features in clear, which are for
// the coordinator alone. Readers cannot make it again.
type restater interface {
	// restate makes of a claimed result all that does not take the features: its
	// form, what plan and pool say, and what follows from the fitted numbers. Those
	// it takes from the claim, each at the place and in the shape that it must have,
	// so that nothing else fits in. unseen are those places, for people.
	restate(parties int, claimed Result) (Result, error)
	unseen() string
}

// errForm: a fitted result is not of the form that the plan gives it.
var errForm = errors.New("its fitted numbers are not of the form that the plan gives them")

func (labelTask) unseen() string {
	return "the classifier's weights, its ridge and the search for it, the number of records, and the classes' shares before projection"
}

func (t labelTask) restate(parties int, claimed Result) (Result, error) {
	p := t.plan
	c, l := claimed.Classifier, claimed.Labels
	classes := len(p.Schema.Label.Classes)
	if c == nil || l == nil || len(c.Weights) != p.Map.Dim() || len(l.Shares.Share) != classes ||
		l.Records < 1 || l.Records > parties*p.Labels.MaxRecords {
		return Result{}, errForm
	}
	model, err := c.Linear()
	if err != nil || len(c.Classes) != classes {
		return Result{}, errForm
	}
	response, err := labelResponse(p)
	if err != nil {
		return Result{}, err
	}
	o, err := labelOptions(p, response)
	if err != nil {
		return Result{}, err
	}
	lambda, path := p.Lambda, []aggregation.LabelPoint(nil)
	if lambda == 0 {
		ridges := aggregation.LabelRidges()
		if len(l.Path) > len(ridges) {
			return Result{}, errForm
		}
		lambda = ridges[0] // of too few records for a search
		for i, point := range l.Path {
			point.Lambda = ridges[i]
			path = append(path, point)
			if point.Lambda == c.Lambda {
				lambda = c.Lambda
			}
		}
	}
	r := classifierResult(p, aggregation.Fit{Model: model, Lambda: lambda})
	r.Labels = &LabelResult{
		Records: l.Records, Keep: o.Channel.Keep, Loss: p.Labels.Loss, Risk: p.Labels.Risk, Correction: p.Labels.Correction,
		Shares: aggregation.LabelSharesOf(l.Shares.Share, float64(l.Records), o.Channel), Path: path,
	}
	r.Warnings = append(r.Warnings, labelWarnings(p, o, r.Labels, lambda)...)
	return r, nil
}

func (ratioTask) unseen() string {
	return "the model, the width of its kernel where the plan leaves it open, or why there is none; and where there is none, the sets"
}

func (t ratioTask) restate(parties int, claimed Result) (Result, error) {
	p, pool, d := t.plan, t.pool, t.design
	c := claimed.Ratio
	if c == nil || (c.Model == nil) == (c.Refusal == nil) {
		return Result{}, errForm
	}
	out := &RatioResult{Gamma: p.Ratio.Gamma, Sets: []RatioSetResult{}, Model: c.Model, Refusal: c.Refusal}
	if p.Ratio.Gamma == 0 {
		if err := out.width(pool, c); err != nil {
			return Result{}, err
		}
	}
	result := Result{Ratio: out}
	if c.Model == nil {
		out.Sets = c.Sets
		for _, s := range c.Sets {
			if s.Records < 2 || len(s.Shares) != d.classes || len(s.SD) > d.classes {
				return Result{}, errForm
			}
		}
	} else {
		d.fourier.Gamma = c.Gamma // held against out.Gamma with all else
		if o := c.Model.Options(); o.Fourier == nil || *o.Fourier != d.fourier || o.Estimator != p.Ratio.Estimator || c.Model.Classes() != d.classes {
			return Result{}, errForm
		}
		for _, set := range c.Model.Sets() {
			out.Sets = append(out.Sets, setResult(set))
		}
	}
	small := parties*p.Ratio.sets(d.classes) - len(out.Sets)
	if small < 0 {
		return Result{}, errForm
	}
	result.Warnings = out.conclude(small)
	texts := slices.Clone(result.Warnings)
	if c.Refusal != nil {
		texts = append(texts, string(c.Refusal.Reason), c.Refusal.Advice)
	}
	for _, text := range texts {
		if CheckText(text) != nil {
			return Result{}, errForm
		}
	}
	return result, nil
}

// width takes a claimed search for the kernel's width, and the width, which is one
// of those tried, or the public scale's where no set can be held out.
func (r *RatioResult) width(pool *auxdata.Pool, claimed *RatioResult) error {
	scale, err := RatioScale(pool)
	if err != nil {
		return err
	}
	tried := ratio.Widths(scale)
	if len(claimed.Widths) == 0 {
		r.Gamma = 1 / scale
		return nil
	}
	if len(claimed.Widths) != len(tried) {
		return errForm
	}
	for i, point := range claimed.Widths {
		if point.Gamma == claimed.Gamma {
			r.Gamma = tried[i]
		}
		point.Gamma = tried[i]
		r.Widths = append(r.Widths, point)
	}
	return nil
}
