package trained

import (
	"fmt"
	"math"
	"math/rand/v2"

	"caucus/aggregation/fitting"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
	"caucus/study/classify"
)

// keepRows is the least effective sample size of a tilted pool (see cross), as a share of the
// pool's rows.
const keepRows = 0.1

func (f finisher) finishCross(total bodies.Total, rng *rand.Rand) (study.Result, error) {
	if total.Weight <= 0 {
		return study.Result{}, fmt.Errorf("fit cross sums: no records were contributed")
	}
	records, unsure, err := f.crossRecords(total)
	if err != nil {
		return study.Result{}, err
	}
	variance, err := f.crossVariance(total)
	if err != nil {
		return study.Result{}, err
	}
	fit, err := fitting.FitCross(f.Pool(), total.Values, fitting.CrossFitTerms{
		FitTerms: fitTerms(f.Plan()),
		NoiseSD:  fitting.MeanNoiseSD(variance, total.Draws, records), Records: records,
		Tilt: classify.TermsOf(f.Plan()).Tilt, MinEffectiveShare: keepRows, LeadingFeatures: f.Plan().Map.LeadingComponents,
	}, rng)
	if err != nil {
		return study.Result{}, err
	}
	model, warnings := f.classifier(fit)
	if unsure {
		model, warnings = fitted.New(f.Plan(), fit.Fit, classifier.Score)
		warnings = append(warnings, "noise does not let anyone tell how many records the study is about: the classifier was fitted as if it were all, so its scores are too near to 0")
	}
	switch drift := fit.Drift; {
	case fit.PoolReweighted:
		warnings = append(warnings, fmt.Sprintf("the pool differs from the private records (statistic %.0f where %d is expected): it was tilted to their released feature mean and now counts as %.0f of %d rows. What a tilt of the features cannot mend stays biased", drift.Statistic, drift.Directions, fit.EffectiveRows, f.Pool().Rows()))
	case drift.Significant():
		warnings = append(warnings, fmt.Sprintf("the pool differs from the private records (statistic %.0f where %d is expected) and the plan does not tilt it: expect a biased classifier", drift.Statistic, drift.Directions))
	}
	out := Result{Classifier: model, Drift: &fit.Drift, EffectiveRows: fit.EffectiveRows}
	// how tilting affects intervals was not measured
	if model.Output == classifier.Probability && !fit.PoolReweighted &&
		NoCoefficients(f.Plan()) == "" {
		out.Coefficients = fitted.NewCoefficients(f.Plan(), f.Pool(), fit)
	}
	return study.NewResult(out, warnings)
}

// classifier returns the fit's classifier. Its numbers are probabilities if the sums determine a
// calibration, else scores.
func (f finisher) classifier(fit fitting.CrossFit) (classifier.Classifier, []string) {
	if fit.Calibration != nil && fit.RemainingDrift.Significant() {
		return fitted.NewScores(f.Plan(), fit.Fit, "the pool differs from the private records, so it cannot say how its numbers are to be read")
	}
	return fitted.NewCalibrated(f.Plan(), fit.Fit, fit.Calibration, "the released sums",
		f.Pool().X.At(0, f.Pool().Dim()-1))
}

// crossRecords returns the number of summed records. If the plan has no condition, that is the
// declared number. Else crossRecords estimates from the released sums how many labelled records
// meet the condition. An estimate below four of its standard deviations is unsure, and crossRecords
// returns the declared number instead.
func (f finisher) crossRecords(total bodies.Total) (n float64, unsure bool, err error) {
	if f.Plan().Where == "" {
		return total.Weight, false, nil
	}
	variance, err := f.crossVariance(total)
	if err != nil {
		return 0, false, err
	}
	n, off := fitting.LabelledRecords(total.Values, len(f.Plan().Schema.Classes()),
		f.Pool().Dim(), math.Sqrt(float64(total.Draws)*variance))
	if n < max(1, 4*off) {
		return total.Weight, true, nil
	}
	return n, false, nil
}

// crossVariance is that of one noise on a released sum.
func (f finisher) crossVariance(total bodies.Total) (float64, error) {
	t, err := f.Statistic.Terms(int64(total.Weight))
	if err != nil {
		return 0, err
	}
	return privacy.VarianceOf(t.Mechanism, t.Bound, 0, f.Statistic.Cells()), nil
}
