package judged

import (
	"math/rand/v2"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/evaluate"
)

// Results is the half of the kind for who releases, verifies or reads.
type Results struct{}

// Body returns an empty *Evaluation, into which a release's body is read strictly.
func (Results) Body() any { return new(Evaluation) }

// Finisher finishes tasks of package evaluate, and panics for others. It scores the pool's rows
// once, which gives each bin the probability that stands for its records.
func (Results) Finisher(t study.Task) study.Finisher {
	of, p := t.(evaluate.Task), t.Plan()
	return finisher{of, newHistograms(p, study.TermsOf[evaluate.Terms](p), t.Pool())}
}

type finisher struct {
	evaluate.Task
	h *histograms
}

func (f finisher) Finish(of study.Contributions, r []privacy.Published) (study.Result, error) {
	return f.FinishBy(f, of, r)
}

// FinishTotal implements bodies.Finisher.
func (f finisher) FinishTotal(total bodies.Total, _ *rand.Rand) (study.Result, error) {
	h := f.h
	sd, err := h.deviation(total.Draws)
	if err != nil {
		return study.Result{}, err
	}
	return study.NewResult(h.evaluate(total.Values, sd, true), nil)
}
