package learned

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/fitting"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classifier"
	"caucus/study/labels"
)

// Results is the half of the kind for who releases, verifies or reads.
type Results struct{}

// Body returns an empty *Result, into which a release's body is read strictly.
func (Results) Body() any { return new(Result) }

// Finisher finishes tasks of package labels, and panics for others.
func (Results) Finisher(t study.Task) study.Finisher { return finisher{t.(labels.Task)} }

type finisher struct{ labels.Task }

// Result is a classifier fitted to privatised labels, with what the fit assumed about their noise.
type Result struct {
	Classifier classifier.Classifier `json:"classifier"`
	Records    int                   `json:"records"`
	Keep       float64               `json:"keep"` // probability that a label is unchanged
	Loss       string                `json:"loss"`
	Risk       string                `json:"risk"`
	Correction string                `json:"correction"`
	// Shares are the classes' shares of the true labels.
	Shares fitting.LabelShares `json:"shares"`
	// Path is the search for the ridge. Held-out risks, except for AUC, are corrected for noise.
	Path []fitting.LabelRidgePoint `json:"path,omitempty"`
	// SlopeError is the relative standard deviation of the slope from scores to log-odds, 0 without
	// a slope.
	SlopeError float64 `json:"slope_error,omitempty"`
}

// ResultOf reads the result of a labels study. It refuses a result without exactly one share for
// each class.
func ResultOf(r study.Result) (out Result, err error) {
	if err := r.DecodeBody(&out); err != nil {
		return out, err
	}
	classes := len(out.Classifier.Classes)
	if s := out.Shares; len(s.Share) != classes || len(s.Projected) != classes ||
		len(s.Error) != classes {
		return Result{}, fmt.Errorf("read labels: of %d classes there are %d shares, %d projected and %d errors: the release was damaged", classes, len(s.Share), len(s.Projected), len(s.Error))
	}
	return out, nil
}

// HeldOutRisk returns the held-out risk at the chosen ridge, the classifier's Lambda. If the plan
// gave the ridge, no records were held out, and HeldOutRisk returns false.
func (r Result) HeldOutRisk() (float64, bool) {
	i := slices.IndexFunc(r.Path, func(p fitting.LabelRidgePoint) bool {
		return p.Lambda == r.Classifier.Lambda
	})
	if i < 0 {
		return 0, false
	}
	return r.Path[i].HeldOutRisk, true
}

// HeldOutSE bounds the standard error of the held-out accuracy. p is the probability that a label
// is kept, and q that it becomes a given other label. Each of N records contributes (a − q)/(p −
// q), where a is 1 if the noisy label equals the prediction and else 0; its variance is at most
// 1/(4(p−q)²).
func (r Result) HeldOutSE() float64 {
	q := learners.LabelChannel{Keep: r.Keep, Classes: len(r.Classifier.Classes)}.Flip()
	return 1 / (2 * (r.Keep - q) * math.Sqrt(float64(r.Records)))
}

func (f finisher) Finish(of study.Contributions, _ []privacy.Published) (study.Result, error) {
	p := f.Plan()
	if of.Bodies == nil {
		return study.Result{}, fmt.Errorf("finish labels: it takes the bodies of the contributions")
	}
	x, y, err := f.records(of.Bodies)
	if err != nil {
		return study.Result{}, fmt.Errorf("finish labels: %w", err)
	}
	if len(y) == 0 {
		return study.Result{}, fmt.Errorf("finish labels: no records were contributed")
	}
	o, err := labels.FitOptions(p)
	if err != nil {
		return study.Result{}, err
	}
	// public randomness, for cross-validation and pairs of records
	rng := rand.New(rand.NewPCG(p.Seed, 0x6c6162656c73))
	fit, err := fitting.FitLabels(x, y, o, rng)
	if err != nil {
		return study.Result{}, err
	}
	c, warnings, slopeError := f.calibrated(fit, x, y, o, rng)
	terms := study.TermsOf[labels.Terms](p)
	r := Result{
		Classifier: c,
		Records:    len(y), Keep: o.Channel.Keep, Loss: terms.Loss, Risk: terms.Risk, Correction: terms.Correction,
		Shares: fitting.DebiasedShares(y, o.Channel), Path: fit.Path, SlopeError: slopeError,
	}
	return study.NewResult(r, append(warnings, warningsOf(p, o, r)...))
}

// warningsOf warns about quantities that the noise hides. The warnings follow from public numbers.
func warningsOf(p study.Plan, o aggregation.LabelOptions, r Result) []string {
	var out []string
	if k := len(p.Schema.Label.Classes); o.Loss.MayIgnoreClass(k) &&
		o.Risk == aggregation.RiskAccuracy {
		out = append(out, fmt.Sprintf("loss %s cannot tell one of %d classes from the more numerous rest under risk accuracy: use risk ber or auc, or another loss", o.Loss.Name(), k))
	}
	for k, share := range r.Shares.Share {
		if share < 2*r.Shares.Error[k] {
			out = append(out, fmt.Sprintf("class %q may have no records at all: its share is %.3f ± %.3f", p.Schema.Label.Classes[k], share, r.Shares.Error[k]))
		}
	}
	majority, at := 0.0, 0
	for k, share := range r.Shares.Projected {
		if share > majority {
			majority, at = share, k
		}
	}
	held, ok := r.HeldOutRisk()
	if o.Risk != aggregation.RiskAccuracy || !ok {
		return out
	}
	if 1-held < majority+2*r.Shares.Error[at] {
		out = append(out, fmt.Sprintf("with %d records and a label kept with probability %.3f, the classifier's estimated accuracy, %.3f, is not clearly above the largest class's share, %.3f ± %.3f: use more records or a larger ε",
			r.Records, r.Keep, 1-held, majority, r.Shares.Error[at]))
	}
	return out
}

// unseen lists the parts of a result that only the coordinator can compute, because it alone has
// the features.
const unseen = "the classifier's weights, their calibration, its ridge and the search for it, the number of records, and the classes' shares before projection"

func (f finisher) Recompute(of study.Contributions, _ []privacy.Published,
	claimed study.Result) (study.Result, string, error) {
	r, err := f.restate(of.Contributions, claimed)
	return r, unseen, err
}

// restate makes a result from plan, pool and the fitted numbers of a claimed result. It refuses
// fitted numbers of a wrong form.
func (f finisher) restate(parties int, claimed study.Result) (study.Result, error) {
	p := f.Plan()
	l, err := ResultOf(claimed)
	if err != nil {
		return study.Result{}, err
	}
	c := l.Classifier
	classes := len(p.Schema.Label.Classes)
	if len(c.Weights) != p.Map.Dim() || len(l.Shares.Share) != classes ||
		l.Records < 1 || l.Records > parties*study.TermsOf[labels.Terms](p).MaxRecords {
		return study.Result{}, bodies.ErrForm
	}
	model, err := c.Linear()
	if err != nil || len(c.Classes) != classes {
		return study.Result{}, bodies.ErrForm
	}
	o, err := labels.FitOptions(p)
	if err != nil {
		return study.Result{}, err
	}
	lambda, path := p.Lambda, []fitting.LabelRidgePoint(nil)
	if lambda == 0 {
		ridges := fitting.SearchedRidges()
		if len(l.Path) > len(ridges) {
			return study.Result{}, bodies.ErrForm
		}
		lambda = ridges[0] // without a path there were too few records for a search
		for i, point := range l.Path {
			point.Lambda = ridges[i]
			path = append(path, point)
			if point.Lambda == c.Lambda {
				lambda = c.Lambda
			}
		}
	}
	fitted, warnings, err := readAs(p, fitting.Fit{Model: model, Lambda: lambda}, l)
	if err != nil {
		return study.Result{}, err
	}
	terms := study.TermsOf[labels.Terms](p)
	r := Result{
		Classifier: fitted,
		Records:    l.Records, Keep: o.Channel.Keep, Loss: terms.Loss, Risk: terms.Risk, Correction: terms.Correction,
		Shares: fitting.NewLabelShares(l.Shares.Share, float64(l.Records), o.Channel), Path: path, SlopeError: l.SlopeError,
	}
	return study.NewResult(r, append(warnings, warningsOf(p, o, r)...))
}

// FitClear fits a classifier to mapped records x and their true labels y, for comparison in
// simulations.
func FitClear(p study.Plan, x *mat.Dense, y []int, rng *rand.Rand) (fitting.LabelFit, error) {
	o, err := labels.FitOptions(p)
	if err != nil {
		return fitting.LabelFit{}, err
	}
	o.Channel = learners.LabelChannel{Keep: 1, Classes: len(p.Schema.Label.Classes)}
	return fitting.FitLabels(x, y, o, rng)
}
