package judged

import (
	"cmp"
	"errors"
	"fmt"

	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/evaluate"

	"gonum.org/v1/gonum/mat"
)

// RecalibrateRelease returns the classifier of release r with calibrated probabilities. The release
// of an evaluation gives a calibration line, by which log-odds z become intercept + slope·z. Both
// releases stay unchanged, so their signatures hold, and everybody who has both gets the same
// classifier. RecalibrateRelease refuses an evaluation of another model or without a line, and more
// than two classes, because one line cannot calibrate more. The caller has checked both releases
// (results.CheckedPlan).
func RecalibrateRelease(r, evaluation study.Release) (classifier.Classifier, error) {
	fail := func(err error) (classifier.Classifier, error) {
		return classifier.Classifier{}, fmt.Errorf("recalibrate: %w", err)
	}
	c, ok := classifier.Of(r.Result)
	if !ok {
		return fail(errors.New("the release holds no classifier"))
	}
	of, err := r.DecodedPlan()
	if err != nil {
		return fail(err)
	}
	p, err := evaluation.DecodedPlan()
	if err != nil {
		return fail(err)
	}
	var t evaluate.Terms
	if err := p.DecodeTerms(&t); err != nil || p.Kind != evaluation.Kind || t.Model == nil {
		return fail(errors.New("the other release judges no model: give that of an evaluate study"))
	}
	e, err := ResultOf(evaluation)
	if err != nil {
		return fail(err)
	}
	if !judges(*t.Model, r, of, c) {
		return fail(errors.New("the evaluation is of another model than the release's: its plan must carry this release's weights and map"))
	}
	if len(c.Classes) != 2 {
		return fail(fmt.Errorf("a line for one class makes no probabilities of %d classes", len(c.Classes)))
	}
	line := e.Classes[0]
	slope, intercept := line.Overall.Slope, line.Overall.Intercept
	switch {
	case !slope.Bounded() || !intercept.Known():
		return fail(fmt.Errorf("the evaluation has no calibration line: %s",
			cmp.Or(slope.Unknown, intercept.Unknown)))
	case !(slope.Low > 0):
		return fail(fmt.Errorf("the slope may be %.3g, 0 or below: scores that may tell nothing, or the opposite, are no probabilities", slope.Low))
	}
	constant := of.Map.Apply(mat.NewDense(1, of.Map.Columns(), nil)).At(0, of.Map.Dim()-1)
	out := c
	out.Weights = make([][]float64, len(c.Weights))
	for j, row := range c.Weights {
		out.Weights[j] = []float64{slope.Value * row[0]}
	}
	shift := intercept.Value
	if line.Class == c.Classes[0] { // its log-odds are minus those of the second class
		shift = -shift
	}
	out.Weights[len(out.Weights)-1][0] += shift / constant
	out.Output = classifier.Probability
	out.Calibration = &classifier.Calibration{Intercept: []float64{shift}, Slope: slope.Value,
		SlopeSD: slope.SD, Low: slope.Low, High: slope.High}
	return out, nil
}

func judges(m evaluate.Model, r study.Release, of study.Plan, c classifier.Classifier) bool {
	if m.Release == nil || *m.Release != r.PlanHash {
		return false
	}
	h := r.PlanHash
	a, errA := study.EncodeTerms(m)
	b, errB := study.EncodeTerms(evaluate.Model{Release: &h, Map: of.Map, Weights: c.Weights,
		Output: c.Output})
	return errA == nil && errB == nil && string(a) == string(b)
}
