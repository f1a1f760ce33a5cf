package weighed

import (
	"caucus/privacy"
	"caucus/study"
	"caucus/study/reweigh"
)

// Results is the half of the kind for who releases, verifies or reads.
type Results struct{}

// Body returns an empty *Weights, into which a release's body is read strictly.
func (Results) Body() any { return new(Weights) }

// Finisher finishes tasks that this kind's New made, and panics for others.
func (Results) Finisher(t study.Task) study.Finisher { return finisher{t.(reweigh.Task)} }

type finisher struct{ reweigh.Task }

func (f finisher) Finish(of study.Contributions, r []privacy.Published) (study.Result, error) {
	return f.FinishBy(f, of, r)
}

// Recompute calls Finish again, but computes the weighted pool's digest from the claimed weights,
// because recomputed weights may differ in their last bits and would have another digest.
func (f finisher) Recompute(of study.Contributions, released []privacy.Published,
	claimed study.Result) (study.Result, string, error) {
	fail := func(err error) (study.Result, string, error) { return study.Result{}, "", err }
	made, err := f.Finish(of, released)
	if err != nil {
		return fail(err)
	}
	var out, said Weights
	if err := made.DecodeBody(&out); err != nil {
		return fail(err)
	}
	if err := claimed.DecodeBody(&said); err != nil {
		return fail(err)
	}
	weighted, err := f.Pool().WithWeights(said.Weight)
	if err != nil {
		return fail(err)
	}
	out.WeightedPool = weighted.Digest
	again, err := study.NewResult(out, made.Warnings)
	return again, "", err
}
