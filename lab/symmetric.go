package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/fitting"
	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
)

// symmetricExperiment compares losses on privatised labels (Bi &
// Suppakitpaisarn 2022): every loss under every risk, em and rr, linear models on
// random-patch features of pictures.
func symmetricExperiment() experiment {
	return experiment{
		Name:   "symmetric",
		About:  "classifiers from privatised labels: symmetric and other losses, with and without correction, under em and rr",
		Tasks:  symmetricTasks,
		Report: symmetricReport,
	}
}

// symmetricSet is a data set and its public feature map.
type symmetricSet struct {
	Name                   string
	Records, Filters, Dims int
}

var (
	symmetricSets = []symmetricSet{{"cifar10-airplane-horse", 10_000, 200, 60},
		{"mnist-parity", 10_000, 100, 60}}
	symmetricQuick    = []symmetricSet{{"hospitals", 2000, 0, 15}}
	symmetricEpsilons = []float64{.1, .2, .5, 1, 2, 5}
)

const symmetricDraws = 3

// symmetricMethod is a loss under a risk with a correction.
type symmetricMethod struct{ Loss, Risk, Correction string }

// symmetricMethods are all losses under all risks without correction, then the
// corrected ones.
func symmetricMethods() []symmetricMethod {
	var all []symmetricMethod
	for _, loss := range learners.LossNames() {
		for _, risk := range aggregation.Risks() {
			all = append(all, symmetricMethod{loss, risk, aggregation.CorrectionNone})
		}
	}
	return append(all,
		symmetricMethod{"logistic", aggregation.RiskAccuracy, aggregation.CorrectionBackward},
		symmetricMethod{"logistic", aggregation.RiskAccuracy, aggregation.CorrectionForward},
		symmetricMethod{"squared", aggregation.RiskAccuracy, aggregation.CorrectionBackward},
		symmetricMethod{"savage", aggregation.RiskAccuracy, aggregation.CorrectionForward},
		symmetricMethod{"hinge", aggregation.RiskAccuracy, aggregation.CorrectionBackward})
}

// mappedSet is a set with its features made, once for all tasks.
type mappedSet struct {
	X, TestX *mat.Dense
	Y, TestY []int
	Classes  int
}

// features says in words what the public features of a set are.
func (s symmetricSet) features() string {
	if s.Filters == 0 {
		return fmt.Sprintf("%d principal components of the encoded features of %d training records", s.Dims, s.Records)
	}
	return fmt.Sprintf("%d principal components (half whitened) of the responses of %d random-patch filters, of %d training records; the feature dimension, %d, is public, as everything about the map",
		s.Dims, s.Filters, s.Records, s.Dims)
}

// load makes the features. The map is fitted on the training records' features,
// which this kind of study shows anyway; it never sees a label.
func (s symmetricSet) load(l *lab) (*mappedSet, error) {
	data, err := l.records(s.Name)
	if err != nil {
		return nil, err
	}
	rng := l.rng("symmetric map " + s.Name)
	rows := rng.Perm(data.Train.Len())
	train, test := data.Train, data.Test
	if test == nil {
		test, rows = data.Train.Select(rows[:len(rows)/4]), rows[len(rows)/4:]
	}
	if s.Records > 0 && s.Records < len(rows) {
		rows = rows[:s.Records]
	}
	train = train.Select(rows)
	var pca dataset.Map
	if s.Filters > 0 {
		patches, err := fitPatches(train.X, sizes[s.Name], s.Filters, rng)
		if err != nil {
			return nil, err
		}
		z := patches.features(train.X)
		if pca, err = dataset.FitPCA(z, s.Dims, 0.5); err != nil {
			return nil, err
		}
		return &mappedSet{pca.Apply(z), pca.Apply(patches.features(test.X)), train.Y, test.Y,
			len(data.Schema.Classes())}, nil
	}
	if pca, err = dataset.FitPCA(train.X, s.Dims, 0.5); err != nil {
		return nil, err
	}
	return &mappedSet{pca.Apply(train.X), pca.Apply(test.X), train.Y, test.Y,
		len(data.Schema.Classes())}, nil
}

func symmetricTasks(l *lab) ([]task, error) {
	sets, epsilons, draws := symmetricSets, symmetricEpsilons, l.draws(symmetricDraws)
	if l.Quick {
		sets, epsilons, draws = symmetricQuick, []float64{.5, 5}, l.draws(1)
	}
	var tasks []task
	data := map[string]func() (*mappedSet, error){}
	for _, s := range sets {
		data[s.Name] = sync.OnceValues(func() (*mappedSet, error) { return s.load(l) })
	}
	for draw := range draws { // a run that is stopped has whole draws
		for _, s := range sets {
			for _, mechanism := range []string{"em", "rr", "true labels"} {
				at := epsilons
				if mechanism == "true labels" {
					at = []float64{math.Inf(1)}
				}
				for _, epsilon := range at {
					key := fmt.Sprintf("%s-%s-eps%g-draw%d", s.Name, mechanism[:2], epsilon, draw)
					tasks = append(tasks,
						task{Key: key, Run: func(ctx context.Context, out *results) error {
							m, err := data[s.Name]()
							if err != nil {
								return err
							}
							noisy, channel, err := m.privatise(ctx, mechanism, epsilon,
								hashOf(fmt.Sprint(l.Seed, key)))
							if err != nil {
								return err
							}
							lambda := map[string]float64{}
							for _, method := range symmetricMethods() {
								if err := ctx.Err(); err != nil {
									return err
								}
								got, err := m.fit(method, noisy, channel, lambda, l.rng(key))
								if err != nil {
									return err
								}
								out.add("set", s.Name, "mechanism", mechanism, "epsilon", epsilon,
									"keep", channel.Keep,
									"loss", method.Loss, "risk", method.Risk, "correction",
									method.Correction, "draw", draw,
									"lambda", lambda[method.Loss+method.Correction],
									"accuracy", got.Accuracy, "ber", got.BER, "auc", got.AUC)
							}
							return nil
						}})
				}
			}
		}
	}
	return tasks, nil
}

// privatise releases the labels through a simulation ledger.
func (m *mappedSet) privatise(ctx context.Context, mechanism string, epsilon float64,
	seed uint64) ([]int, learners.LabelChannel, error) {
	if mechanism == "true labels" {
		return m.Y, learners.LabelChannel{Keep: 1, Classes: m.Classes}, nil
	}
	calibrate := privacy.CalibrateResponse
	if mechanism == "em" {
		calibrate = privacy.CalibrateExponential
	}
	response, err := calibrate(m.Classes, epsilon)
	if err != nil {
		return nil, learners.LabelChannel{}, err
	}
	values := make([]int64, len(m.Y))
	for i, y := range m.Y {
		values[i] = int64(y)
	}
	s, err := privacy.NewSensitive(values,
		privacy.Bound{Unit: privacy.Label, L1: int64(m.Classes), Cells: 1})
	if err != nil {
		return nil, learners.LabelChannel{}, err
	}
	r, err := study.ReleaseRequests(ctx, privacy.NewSimulation(seed), study.Hash{},
		[]study.Request{{Output: "labels", Sensitive: s, Mechanism: response}})
	if err != nil {
		return nil, learners.LabelChannel{}, err
	}
	noisy := make([]int, len(values))
	for i, v := range r[0].Values {
		noisy[i] = int(v)
	}
	return noisy, learners.LabelChannel{Keep: response.KeepProbability(), Classes: m.Classes}, nil
}

// fit trains a method and measures it on true test labels. A loss's ridge is
// chosen under its first risk, by cross-validation on the noisy labels, and
// kept in lambda for its other risks.
func (m *mappedSet) fit(method symmetricMethod, noisy []int, c learners.LabelChannel,
	lambda map[string]float64, rng *rand.Rand) (learners.Measures, error) {
	loss, err := learners.FindLoss(method.Loss)
	if err != nil {
		return learners.Measures{}, err
	}
	key := method.Loss + method.Correction
	fit, err := fitting.FitLabels(m.X, noisy, aggregation.LabelOptions{
		Channel: c, Loss: loss, Risk: method.Risk, Correction: method.Correction, Lambda: lambda[key],
	}, rng)
	if err != nil {
		return learners.Measures{}, err
	}
	lambda[key] = fit.Lambda
	return learners.MeasureScores(fit.Model, m.TestX, m.TestY,
		learners.LabelChannel{Keep: 1, Classes: m.Classes}), nil
}
