package classify

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classifier"
	"caucus/study/classifier/fitted"
)

// Results is the half of the kind for who releases, verifies or reads.
type Results struct{}

// Body returns an empty *Result, into which a release's body is read strictly.
func (Results) Body() any { return new(Result) }

// Finisher finishes tasks that this kind's New made, and panics for others.
func (Results) Finisher(t study.Task) study.Finisher { return finisher{t.(task)} }

type finisher struct{ task }

func (f finisher) Finish(of study.Summed, r []privacy.Published) (study.Result, error) {
	return f.FinishBy(f, of, r)
}

// FinishTotal implements bodies.Finisher: it fits a classifier.
func (f finisher) FinishTotal(total bodies.Total, rng *rand.Rand) (study.Result, error) {
	switch q := f.Statistic.(type) {
	case *cross:
		return crossFit{q}.finish(total, rng)
	case *means:
		return finishMeans(q, total, rng)
	case *output:
		return finishOutput(q, total)
	}
	return finishVotes(f.Statistic.(*votes), total, rng)
}

// FinishClear fits a classifier to votes without noise.
func (f finisher) FinishClear(total bodies.Total, rng *rand.Rand) (study.Result, error) {
	var v *votes
	switch q := f.Statistic.(type) {
	case *votes:
		v = q
	case *output:
		v = &q.votes
	default:
		return f.FinishTotal(total, rng)
	}
	p := v.plan
	p.Mechanism = "none"
	none, err := newTask(p, v.pool)
	if err != nil {
		return study.Result{}, err
	}
	return finishVotes(none.Statistic.(*votes), total, rng)
}

func finishVotes(v *votes, total bodies.Total, rng *rand.Rand) (study.Result, error) {
	if total.Weight <= 0 {
		return study.Result{}, fmt.Errorf("fit votes: no ballots were cast")
	}
	noise, err := v.Noise(total.Weight, total.Draws)
	if err != nil {
		return study.Result{}, err
	}
	var mu *mat.Dense
	if v.design != nil {
		mu = v.design.Mu(total.Values, total.Weight)
	} else {
		shares := aggregation.SharesOf(total.Values, v.pool.Rows(), v.classes, total.Weight)
		mu = learners.Moments(v.pool.X, shares, v.pool.Weight)
	}
	fit := aggregation.FitVotes(v.pool.X, v.pool.Weight, mu, noise, fitTerms(v.plan), rng)
	return classifierResult(v.plan, fit)
}

func finishMeans(m *means, total bodies.Total, rng *rand.Rand) (study.Result, error) {
	if total.Weight <= 0 {
		return study.Result{}, fmt.Errorf("fit means: no party contributed")
	}
	noise, err := m.Noise(total.Weight, total.Draws)
	if err != nil {
		return study.Result{}, err
	}
	mu, err := m.design.Mu(total.Values, total.Weight)
	if err != nil {
		return study.Result{}, err
	}
	fit := aggregation.FitVotes(m.pool.X, m.pool.Weight, mu, noise, fitTerms(m.plan), rng)
	return classifierResult(m.plan, fit)
}

func finishOutput(o *output, total bodies.Total) (study.Result, error) {
	gamma := 1.0
	if o.mechanism == "output" {
		gamma, _ = o.lattice(int64(total.Weight))
	}
	w := mat.NewDense(o.pool.Dim(), learners.Columns(o.classes), nil)
	for i, v := range total.Values {
		w.RawMatrix().Data[i] = v * gamma
	}
	return classifierResult(o.plan, aggregation.Fit{
		Model: learners.Linear{W: w, Classes: o.classes}, Lambda: o.lambda(int64(total.Weight)),
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

func classifierResult(p study.Plan, fit aggregation.Fit) (study.Result, error) {
	c, warnings := fitted.New(p, fit, gives[p.Mechanism])
	return study.NewResult(Result{Classifier: c}, warnings)
}

func fitTerms(p study.Plan) aggregation.FitTerms {
	return aggregation.FitTerms{Classes: len(p.Schema.Classes()), Lambda: p.Lambda,
		Shares: TermsOf(p).ClassShares}
}

// Result is a classifier, with what the release tells about how far pool and private records
// differ.
type Result struct {
	Classifier classifier.Classifier `json:"classifier"`
	// Drift compares the mean features of the private records with the pool's; nil if no such mean
	// is released.
	Drift *aggregation.Drift `json:"drift,omitempty"`
	// EffectiveRows is Kish's effective sample size of a pool with tilted weights (see cross).
	EffectiveRows float64 `json:"effective_rows,omitempty"`
	// Coefficients are in the schema's units; nil if their errors are not known.
	Coefficients *fitted.Coefficients `json:"coefficients,omitempty"`
}
