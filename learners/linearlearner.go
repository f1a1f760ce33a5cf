package learners

import (
	"context"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
)

// LinearLearner fits a Linear model by minimising a ridge-penalised risk. Cross-validation on its
// rows chooses the ridge, because a constant over the number of rows ruins the model at 50 to 100
// rows. It tries ridges from the strongest on, starts each fit from the last solution, and compares
// the held-out risk. Two ridges in succession without improvement end the search.
type LinearLearner struct {
	Ridges []float64 // decreasing
	Folds  int       // ≥ 2
	// RidgeFactor multiplies the ridge that cross-validation chose. 0 means 1.
	RidgeFactor float64

	name string
	risk func(s sample) ridgeRisk
}

type ridgeRisk interface {
	Objective
	setRidge(float64)
}

func (s *SoftmaxRisk) setRidge(ridge float64) { s.Ridge = ridge }

func (h *HingeRisk) setRidge(ridge float64) { h.Ridge = ridge }

// Softmax returns the multinomial logistic regression learner, "softmax".
func Softmax() LinearLearner {
	return LinearLearner{Ridges: defaultRidges(), Folds: 4, name: "softmax",
		risk: func(s sample) ridgeRisk {
			return &SoftmaxRisk{X: s.x, Mu: TargetMoments(s.x, OneHot(s.y, s.classes), nil),
				Classes: s.classes}
		}}
}

// LinearSVM returns the linear support vector learner with a smoothed hinge, "svm".
func LinearSVM() LinearLearner {
	return LinearLearner{Ridges: defaultRidges(), Folds: 4, name: "svm",
		risk: func(s sample) ridgeRisk {
			return &HingeRisk{X: s.x, Targets: OneHot(s.y, s.classes), Classes: s.classes}
		}}
}

// defaultRidges cover the useful range for rows of norm at most 1. Their principal directions have
// variances of 1e-1 to 1e-4, so the weakest ridge leaves all directions free, and the strongest
// leaves hardly more than the intercept.
func defaultRidges() []float64 {
	return []float64{1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6}
}

// Tolerances on the gradient of a mean risk, which starts at about 1/2. Comparing ridges needs
// little precision.
const (
	tuningGradient = 1e-4
	finalGradient  = 1e-6
	fitIterations  = 200
	// tuningEvaluations and fitEvaluations bound the work of a fit on any rows. On adult, mnist,
	// phishing and wisdm_har a ridge took at most 113 evaluations and a last fit 205.
	tuningEvaluations = 150
	fitEvaluations    = 400
)

// votingRelax weakens the ridge of a model that is one voter of many. The best ridge for a single
// model trades variance against bias. A vote of many averages the variance away and keeps the bias,
// so each voter needs less ridge (as in bagging, Breiman 1996). Measured with a tenth: the accuracy
// of the vote rose by 1 to 4 points on adult, phishing, wisdm_har and the generated hospitals; that
// of a single voter fell by up to 2.5.
const votingRelax = 0.1

// ForVoting implements VotingLearner by a tenth of the ridge that cross-validation chooses.
func (l LinearLearner) ForVoting() Learner {
	l.RidgeFactor = votingRelax
	return l
}

// Name is "softmax" or "svm", by the risk that the learner minimises.
func (l LinearLearner) Name() string { return l.name }

// Features is MappedFeatures: the ridges suit rows of norm at most 1 with an intercept.
func (l LinearLearner) Features() Features { return MappedFeatures }

// Fit implements Learner; the Model is a Linear or a ConstantModel.
func (l LinearLearner) Fit(ctx context.Context, x *mat.Dense, y []int, classes int,
	rng *rand.Rand) (Model, error) {
	s, majority, err := learnable(x, y, classes)
	if majority != nil || err != nil {
		return majority, err
	}
	risk := l.risk(s)
	ridge := l.tune(ctx, s, rng)
	if l.RidgeFactor > 0 {
		ridge *= l.RidgeFactor
	}
	risk.setRidge(ridge)
	w, _ := Minimize(risk, nil, MinimiseSettings{GradientNorm: finalGradient,
		MaxIterations:  fitIterations,
		MaxEvaluations: fitEvaluations, Stop: ended(ctx)})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return NewLinear(w, classes), nil
}

// heldOut is one fold: the risk to minimise, the held-out risk, and the weights reached so far.
type heldOut struct {
	train, judge ridgeRisk
	rows         float64
	w, scratch   []float64
}

func ended(ctx context.Context) func() bool { return func() bool { return ctx.Err() != nil } }

func (l LinearLearner) tune(ctx context.Context, s sample, rng *rand.Rand) float64 {
	fold := s.folds(l.Folds, rng)
	var parts []heldOut
	for f := range l.Folds {
		train, held := s.split(fold, f)
		if len(held.y) == 0 {
			continue
		}
		p := heldOut{train: l.risk(train), judge: l.risk(held), rows: float64(len(held.y))}
		p.scratch = make([]float64, p.train.Dim())
		parts = append(parts, p)
	}
	best, bestLoss, worse := l.Ridges[0], 0.0, 0
	for i, ridge := range l.Ridges {
		loss := 0.0
		for j := range parts {
			p := &parts[j]
			p.train.setRidge(ridge)
			p.w, _ = Minimize(p.train, p.w,
				MinimiseSettings{GradientNorm: tuningGradient, MaxIterations: fitIterations,
					MaxEvaluations: tuningEvaluations, Stop: ended(ctx)})
			loss += p.rows * p.judge.Evaluate(p.w, p.scratch)
		}
		if i == 0 || loss < bestLoss {
			best, bestLoss, worse = ridge, loss, 0
		} else if worse++; worse == 2 {
			break
		}
	}
	return best
}
