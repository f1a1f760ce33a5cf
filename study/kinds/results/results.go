package results

import (
	"caucus/auxdata"
	"caucus/study"
	"caucus/study/classify/trained"
	"caucus/study/describe/described"
	"caucus/study/evaluate/judged"
	"caucus/study/kinds"
	"caucus/study/labels/learned"
	"caucus/study/ratio/estimated"
	"caucus/study/regress/leastsquares"
	"caucus/study/reweigh/weighed"
	"caucus/study/survival/lifetable"
)

var all = map[string]study.Results{
	"classify": trained.Results{},
	"describe": described.Results{},
	"evaluate": judged.Results{},
	"labels":   learned.Results{},
	"ratio":    estimated.Results{},
	"regress":  leastsquares.Results{},
	"reweigh":  weighed.Results{},
	"survival": lifetable.Results{},
}

// FindResults returns the results' half of a kind. The error wraps study.ErrPlan for a kind that is
// not known.
func FindResults(name string) (study.Results, error) {
	r, ok := all[name]
	if !ok {
		_, err := kinds.FindKind(name)
		return nil, err
	}
	return r, nil
}

// NewTask is kinds.NewTask with the task's Finisher.
func NewTask(p study.Plan, pool *auxdata.Pool) (study.Finisher, error) {
	return finisher(kinds.NewTask(p, pool))
}

// ReadTask is kinds.ReadTask with the task's Finisher.
func ReadTask(p study.Plan, canonical []byte) (study.Finisher, error) {
	return finisher(kinds.ReadTask(p, canonical))
}

func finisher(t study.Task, err error) (study.Finisher, error) {
	if err != nil {
		return nil, err
	}
	return Of(t), nil
}

// Of returns the Finisher of a task that kinds.NewTask made, or the task itself if it is one.
func Of(t study.Task) study.Finisher {
	if f, ok := t.(study.Finisher); ok {
		return f
	}
	return all[t.Plan().Kind].Finisher(t)
}

// CheckedPlan returns a release's plan after checking that the release can be used:
// kinds.ClaimedPlan, and a result without unknown fields, because readers could disagree about
// these fields.
func CheckedPlan(r study.Release) (study.Plan, error) {
	p, err := kinds.ClaimedPlan(r)
	if err != nil {
		return p, err
	}
	return p, r.Result.DecodeBody(all[p.Kind].Body())
}

// Report describes a release in words. A line says what stands for missing cells
// (kinds.MissingText).
func Report(r study.Release) (out study.Report, err error) {
	of, err := FindResults(r.Kind)
	if err != nil {
		return out, err
	}
	if out, err = of.Report(r); err != nil {
		return out, err
	}
	if p, err := r.DecodedPlan(); err == nil && kinds.MissingText(p) != "" {
		out.Lines = append(out.Lines, study.ReportLine{Name: "filled", Text: kinds.MissingText(p)})
	}
	return out, nil
}
