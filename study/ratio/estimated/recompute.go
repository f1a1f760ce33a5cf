package estimated

import (
	"slices"

	"caucus/aggregation/ratio"
	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	studyratio "caucus/study/ratio"
)

// unseen lists the parts of a result that the coordinator alone can compute, from features or exact
// embeddings.
const unseen = "the model, the width of its kernel where the plan leaves it open, or why there is none; and where there is none, the sets"

func (f finisher) Recompute(of study.Contributions, released []privacy.Published,
	claimed study.Result) (study.Result, string, error) {
	if of.Bodies != nil {
		r, err := f.Finish(of, released)
		return r, "", err
	}
	r, err := f.restate(of.Contributions, claimed)
	return r, unseen, err
}

// restate makes a result from public numbers, and from the fitted numbers of a claimed result.
func (f finisher) restate(parties int, claimed study.Result) (study.Result, error) {
	pool, d := f.Pool(), f.Design
	c := &Result{}
	if err := claimed.DecodeBody(c); err != nil {
		return study.Result{}, err
	}
	if (c.Model == nil) == (c.Refusal == nil) {
		return study.Result{}, bodies.ErrForm
	}
	out := &Result{Gamma: d.Terms.Gamma, Sets: []SetResult{}, Model: c.Model, Refusal: c.Refusal}
	if d.Terms.Gamma == 0 {
		if err := out.width(pool, c); err != nil {
			return study.Result{}, err
		}
	}
	if c.Model == nil {
		out.Sets = c.Sets
		for _, s := range c.Sets {
			if s.Records < 2 || len(s.Shares) != d.Classes || len(s.SD) > d.Classes {
				return study.Result{}, bodies.ErrForm
			}
		}
	} else {
		d.Fourier.Gamma = c.Gamma // the claimed width; the caller compares it with out.Gamma
		if o := c.Model.Options(); o.Fourier == nil || *o.Fourier != d.Fourier ||
			o.Estimator != d.Terms.Estimator || c.Model.Classes() != d.Classes {
			return study.Result{}, bodies.ErrForm
		}
		for _, set := range c.Model.Sets() {
			out.Sets = append(out.Sets, setResult(set))
		}
	}
	small := parties*d.Terms.SetsOfParty(d.Classes) - len(out.Sets)
	if small < 0 {
		return study.Result{}, bodies.ErrForm
	}
	warnings := out.conclude(small)
	texts := slices.Clone(warnings)
	if c.Refusal != nil {
		texts = append(texts, string(c.Refusal.Reason), c.Refusal.Advice)
	}
	for _, text := range texts {
		if study.CheckText(text) != nil {
			return study.Result{}, bodies.ErrForm
		}
	}
	return study.NewResult(out, warnings)
}

// width copies the claimed choice of the kernel's width, and the claimed search. The choice must be
// a width that the search tried or, if no set could be held out, 1 divided by the public scale.
func (r *Result) width(pool *auxdata.Pool, claimed *Result) error {
	scale, err := studyratio.MedianDistance(pool)
	if err != nil {
		return err
	}
	tried := ratio.CandidateWidths(scale)
	if len(claimed.Widths) == 0 {
		r.Gamma = 1 / scale
		return nil
	}
	if len(claimed.Widths) != len(tried) {
		return bodies.ErrForm
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
