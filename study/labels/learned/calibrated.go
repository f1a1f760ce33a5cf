package learned

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/fitting"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
	"caucus/study/labels"
)

const (
	// Reasons why a classifier has scores and not probabilities (fitted.WhyOnlyScores,
	// fitted.NewScores).
	released = "the privatised labels"
	balanced = "risk ber tells classes apart as if they were equally many, and probabilities tell them apart elsewhere. Use risk accuracy or auc for these"
)

// calibrated returns a fit's classifier. It gives probabilities if the privatised labels determine
// the slope from scores to log-odds, else scores. The last result is the slope's relative standard
// deviation.
func (f finisher) calibrated(fit fitting.LabelFit, x *mat.Dense, y []int,
	o aggregation.LabelOptions, rng *rand.Rand) (classifier.Classifier, []string, float64) {
	p, of := f.Plan(), fitting.Fit{Model: fit.Model, Lambda: fit.Lambda}
	if o.Risk == aggregation.RiskBER {
		c, warnings := fitted.NewScores(p, of, balanced)
		return c, warnings, 0
	}
	calibration := fitting.CalibrateLabels(o, fit, x, y, rng)
	c, warnings := fitted.NewCalibrated(p, of, calibration, released,
		f.Pool().X.At(0, f.Pool().Dim()-1))
	return c, warnings, calibration.RelativeSlopeSD()
}

func readAs(p study.Plan, fit fitting.Fit, claimed Result) (classifier.Classifier, []string,
	error) {
	why := fitted.WhyOnlyScores(released, claimed.SlopeError)
	if study.TermsOf[labels.Terms](p).Risk == aggregation.RiskBER {
		why = balanced
	}
	of := claimed.Classifier.Calibration
	if why != "" {
		c, warnings := fitted.NewScores(p, fit, why)
		return c, warnings, nil
	}
	_, columns := fit.Model.W.Dims()
	if of == nil || len(of.Intercept) != columns ||
		!(0 < of.Low && of.Low < of.Slope && of.Slope < of.High) ||
		of.SlopeSD/of.Slope != claimed.SlopeError ||
		!(math.Abs(math.Log(of.High/of.Slope)/aggregation.Normal95-claimed.SlopeError) <= 1e-9) {
		return classifier.Classifier{}, nil, bodies.ErrForm
	}
	c, warnings := fitted.New(p, fit, classifier.Probability)
	c.Calibration = of
	return c, warnings, nil
}
