package classify

import (
	"fmt"
	"math"
	"math/rand/v2"

	"caucus/aggregation"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
)

// keepRows is the least effective sample size of a tilted pool (see cross), as a share of the
// pool's rows.
const keepRows = 0.1

// crossFit fits a classifier to released sums.
type crossFit struct{ *cross }

func (c crossFit) finish(total bodies.Total, rng *rand.Rand) (study.Result, error) {
	if total.Weight <= 0 {
		return study.Result{}, fmt.Errorf("fit cross sums: no records were contributed")
	}
	records, unsure, err := c.records(total)
	if err != nil {
		return study.Result{}, err
	}
	sd, err := c.deviation(records, total.Draws)
	if err != nil {
		return study.Result{}, err
	}
	fit, err := aggregation.FitCross(c.pool, total.Values, aggregation.CrossTerms{
		FitTerms: fitTerms(c.plan), Deviation: sd, Records: records, Tilt: TermsOf(c.plan).Tilt, Keep: keepRows, Nested: c.plan.Map.Nested,
	}, rng)
	if err != nil {
		return study.Result{}, err
	}
	model, warnings := c.classifier(fit)
	if unsure {
		model, warnings = fitted.New(c.plan, fit.Fit, classifier.Score)
		warnings = append(warnings, "noise does not let anyone tell how many records the study is about: the classifier was fitted as if it were all, so its scores are too near to 0")
	}
	switch drift := fit.Drift; {
	case fit.Tilted:
		warnings = append(warnings, fmt.Sprintf("the pool differs from the private records (statistic %.0f where %d is expected): it was tilted to their released feature mean and now counts as %.0f of %d rows. What a tilt of the features cannot mend stays biased", drift.Statistic, drift.Directions, fit.EffectiveRows, c.pool.Rows()))
	case drift.Found():
		warnings = append(warnings, fmt.Sprintf("the pool differs from the private records (statistic %.0f where %d is expected) and the plan does not tilt it: expect a biased classifier", drift.Statistic, drift.Directions))
	}
	out := Result{Classifier: model, Drift: &fit.Drift, EffectiveRows: fit.EffectiveRows}
	// how tilting affects intervals was not measured
	if model.Output == classifier.Probability && !fit.Tilted && NoCoefficients(c.plan) == "" {
		out.Coefficients = fitted.NewCoefficients(c.plan, c.pool, fit)
	}
	return study.NewResult(out, warnings)
}

// classifier returns the fit's classifier. Its numbers are probabilities if the sums determine a
// calibration, else scores.
func (c crossFit) classifier(fit aggregation.CrossFit) (classifier.Classifier, []string) {
	if fit.Calibration != nil && fit.Remains.Found() {
		return fitted.NewScores(c.plan, fit.Fit, "the pool differs from the private records, so it cannot say how its numbers are to be read")
	}
	return fitted.NewCalibrated(c.plan, fit.Fit, fit.Calibration, "the released sums",
		c.pool.X.At(0, c.pool.Dim()-1))
}

// records returns the number of summed records. If the plan has no condition, that is the declared
// number. Else records estimates from the released sums how many labelled records meet the
// condition. An estimate below four of its standard deviations is unsure, and records returns the
// declared number instead.
func (c crossFit) records(total bodies.Total) (n float64, unsure bool, err error) {
	if c.plan.Where == "" {
		return total.Weight, false, nil
	}
	t, err := c.Terms(int64(total.Weight))
	if err != nil {
		return 0, false, err
	}
	sd := math.Sqrt(float64(total.Draws) * privacy.VarianceOf(t.Mechanism, t.Bound, 0, c.Cells()))
	n, off := aggregation.CrossLabelled(total.Values, c.classes, c.pool.Dim(), sd)
	if n < max(1, 4*off) {
		return total.Weight, true, nil
	}
	return n, false, nil
}
