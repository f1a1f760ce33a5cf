package trained

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/fitting"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
	"caucus/study/classify"
)

// Results is the half of the kind for who releases, verifies or reads.
type Results struct{}

// Body returns an empty *Result, into which a release's body is read strictly.
func (Results) Body() any { return new(Result) }

// Finisher finishes tasks of package classify, and panics for others.
func (Results) Finisher(t study.Task) study.Finisher { return finisher{t.(classify.Task)} }

type finisher struct{ classify.Task }

func (f finisher) Finish(of study.Contributions, r []privacy.Published) (study.Result, error) {
	return f.FinishBy(f, of, r)
}

// FinishTotal implements bodies.Finisher: it fits a classifier.
func (f finisher) FinishTotal(total bodies.Total, rng *rand.Rand) (study.Result, error) {
	if f.Plan().Mechanism == "cross" {
		return f.finishCross(total, rng)
	}
	if lambda, width, ok := f.SolvedRidge(int64(total.Weight)); ok {
		return f.finishSolved(total, lambda, width)
	}
	if of := f.Means(); of != nil {
		return f.finishMeans(of, total, rng)
	}
	return f.finishVotes(total, rng)
}

// FinishClear fits a classifier to votes without noise.
func (f finisher) FinishClear(total bodies.Total, rng *rand.Rand) (study.Result, error) {
	p := f.Plan()
	if p.Mechanism == "cross" || f.Means() != nil {
		return f.FinishTotal(total, rng)
	}
	p.Mechanism = "none"
	none, err := classify.Kind{}.New(p, f.Pool())
	if err != nil {
		return study.Result{}, err
	}
	return finisher{none.(classify.Task)}.finishVotes(total, rng)
}

func (f finisher) finishVotes(total bodies.Total, rng *rand.Rand) (study.Result, error) {
	if total.Weight <= 0 {
		return study.Result{}, fmt.Errorf("fit votes: no ballots were cast")
	}
	noise, err := f.noise(total.Weight, total.Draws)
	if err != nil {
		return study.Result{}, err
	}
	pool, terms := f.Pool(), fitTerms(f.Plan())
	var mu *mat.Dense
	if of := f.Moments(); of != nil {
		mu = fitting.MomentsFromSums(of, total.Values, total.Weight)
	} else {
		shares := aggregation.SharesOf(total.Values, pool.Rows(), terms.Classes, total.Weight)
		mu = learners.TargetMoments(pool.X, shares, pool.Weight)
	}
	fit := fitting.FitVotes(pool.X, pool.Weight, mu, noise, terms, rng)
	return classifierResult(f.Plan(), fit)
}

func (f finisher) finishMeans(of *aggregation.MeansDesign, total bodies.Total,
	rng *rand.Rand) (study.Result, error) {
	if total.Weight <= 0 {
		return study.Result{}, fmt.Errorf("fit means: no party contributed")
	}
	noise, err := f.noise(total.Weight, total.Draws)
	if err != nil {
		return study.Result{}, err
	}
	mu, err := fitting.MomentsFromVectors(of, total.Values, total.Weight)
	if err != nil {
		return study.Result{}, err
	}
	pool := f.Pool()
	fit := fitting.FitVotes(pool.X, pool.Weight, mu, noise, fitTerms(f.Plan()), rng)
	return classifierResult(f.Plan(), fit)
}

func (f finisher) finishSolved(total bodies.Total, lambda, width float64) (study.Result, error) {
	classes := len(f.Plan().Schema.Classes())
	w := mat.NewDense(f.Pool().Dim(), learners.WeightColumns(classes), nil)
	for i, v := range total.Values {
		w.RawMatrix().Data[i] = v * width
	}
	return classifierResult(f.Plan(), fitting.Fit{
		Model: learners.Linear{W: w, Classes: classes}, Lambda: lambda,
	})
}

// gives is the meaning of the numbers of each mechanism's classifier, unless a calibration makes
// them probabilities (cross).
var gives = map[string]classifier.Output{
	"tally":        classifier.VoteShare,
	"moment":       classifier.VoteShare,
	"cross":        classifier.Score,
	"means":        classifier.Score,
	"output":       classifier.VoteShare,
	"output-paper": classifier.VoteShare,
	"majority":     classifier.Score,
	"none":         classifier.VoteShare,
}

func classifierResult(p study.Plan, fit fitting.Fit) (study.Result, error) {
	c, warnings := fitted.New(p, fit, gives[p.Mechanism])
	return study.NewResult(Result{Classifier: c}, warnings)
}

func fitTerms(p study.Plan) fitting.FitTerms {
	return fitting.FitTerms{Classes: len(p.Schema.Classes()), Lambda: p.Lambda,
		Shares: classify.TermsOf(p).ClassShares}
}

// Result is a classifier, with what the release tells about how far pool and private records
// differ.
type Result struct {
	Classifier classifier.Classifier `json:"classifier"`
	// Drift compares the mean features of the private records with the pool's; nil if no such mean
	// is released.
	Drift *fitting.Drift `json:"drift,omitempty"`
	// EffectiveRows is Kish's effective sample size of a pool with tilted weights (see cross).
	EffectiveRows float64 `json:"effective_rows,omitempty"`
	// Coefficients are in the schema's units; nil if their errors are not known.
	Coefficients *fitted.Coefficients `json:"coefficients,omitempty"`
}
