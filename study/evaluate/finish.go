package evaluate

import (
	"math/rand/v2"

	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// Results is the half of the kind for who releases, verifies or reads.
type Results struct{}

// Body returns an empty *Evaluation, into which a release's body is read strictly.
func (Results) Body() any { return new(Evaluation) }

// Finisher finishes tasks that this kind's New made, and panics for others.
func (Results) Finisher(t study.Task) study.Finisher { return finisher{t.(task)} }

type finisher struct{ task }

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
