package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/aggregation"
	"caucus/aggregation/fitting"
	"caucus/analyst/simulate"
	"caucus/auxdata/support"
	"caucus/dataset"
	"caucus/dataset/public"
	"caucus/learners"
	"caucus/study"
	"caucus/study/reweigh"
	"caucus/study/reweigh/weighed"
)

// jiElkanExperiment is the comparison of Ji & Elkan 2013: queries and classifiers
// on a public set E, weighted to stand for a private set D.
func jiElkanExperiment() experiment {
	return experiment{
		Name:   "ji-elkan",
		About:  "queries and classifiers on a weighted public pool: entropy against the density ratio, E like D, skewed and made up",
		Tasks:  jiElkanTasks,
		Report: jiElkanReport,
	}
}

// jiElkanMethod is a way to weigh. Bins: a histogram of each number beside its mean. Label: the
// outcome is weighed like a feature, alone and jointly with each other; otherwise only the features
// are, and what they say about the outcome is E's.
type jiElkanMethod struct {
	Name, Mechanism string
	Lambda          float64
	Bins            int
	Label           bool
}

var (
	jiElkanMethods = []jiElkanMethod{
		{Name: "entropy", Mechanism: "entropy"},
		{Name: "entropy, 8 bins", Mechanism: "entropy", Bins: 8},
		{Name: "entropy with outcome", Mechanism: "entropy", Label: true},
		{Name: "logistic-paper, λ = 1", Mechanism: "logistic-paper", Lambda: 1},
		{Name: "logistic-paper, λ = 0.1", Mechanism: "logistic-paper", Lambda: 0.1},
		{Name: "logistic-paper, λ = 0.01", Mechanism: "logistic-paper", Lambda: 0.01},
		{Name: "logistic, λ = 0.1", Mechanism: "logistic", Lambda: 0.1},
	}
	// Where E comes from: the other half of the same records; those of another population (90 % of
	// one sex are private and 10 % of the other); drawn from the schema alone.
	jiElkanSettings = []string{"equal", "skewed", "uniform"}
	jiElkanEpsilons = []float64{.01, .1, 1, 10}
	// Ridges of the weights without noise.
	jiElkanLambdas = []float64{1e-4, 1e-3, .01, .1, 1, 10}
)

const (
	jiElkanDraws = 100
	jiElkanRidge = 1e-3 // of classifiers; rivals choose theirs on the test records
	jiElkanPool  = 3000 // most rows of E
)

// jiElkanData is a set with its outcome as one more feature, the last block.
type jiElkanData struct {
	full, features dataset.Schema
	records        *dataset.Records // by full
	group          []bool
	outcome        int // first column of the outcome's block
}

func loadJiElkan(l *lab) (*jiElkanData, error) {
	var table *dataset.Table
	d := &jiElkanData{}
	where := `sex == "Male"`
	if l.Quick {
		c := public.DefaultHospitalConfig()
		c.Seed, c.Records = l.Seed, 3000
		table, d.full = public.Hospitals(c)
		where = `sex == "male"`
	} else {
		known, train, _, err := l.tables("adult")
		if err != nil {
			return nil, err
		}
		if _, err := l.records("adult"); err != nil { // for the page's list of files
			return nil, err
		}
		table, d.full = train, known.Schema.WithoutFormat()
	}
	condition, err := dataset.ParseCondition(where)
	if err != nil {
		return nil, err
	}
	if d.group, err = condition.Rows(table); err != nil {
		return nil, err
	}
	d.full = d.full.WithoutColumns("sex")
	d.full.Party, d.full.Patient = "", ""
	d.features = d.full
	label := d.full.Label
	d.outcome = d.full.Dim()
	d.full.Features = append(append([]dataset.Feature{}, d.full.Features...),
		dataset.Feature{Column: label.Column, Kind: dataset.Categorical, Levels: label.Classes})
	d.full.Label = dataset.Label{Column: "nothing", Classes: label.Classes}
	d.records, _, err = d.full.Encode(table)
	return d, err
}

// y are the classes of encoded rows.
func (d *jiElkanData) y(x *mat.Dense) []int {
	n, _ := x.Dims()
	y := make([]int, n)
	for i := range y {
		if x.At(i, d.outcome+1) == 1 {
			y[i] = 1
		}
	}
	return y
}

// x are the mapped features without the outcome, rows of norm at most 1.
func (d *jiElkanData) x(encoded *mat.Dense) *mat.Dense {
	n, _ := encoded.Dims()
	return dataset.Identity(d.features).Apply(encoded.Slice(0, n, 0, d.outcome).(*mat.Dense))
}

// jiElkanDraw is one draw of D, E and test records, encoded.
type jiElkanDraw struct{ private, pool, test *mat.Dense }

func (d *jiElkanData) draw(setting string, rng *rand.Rand) (jiElkanDraw, error) {
	var private, pool []int
	for _, i := range rng.Perm(d.records.Len()) {
		chance := 0.5
		if setting == "skewed" {
			if chance = 0.1; d.group[i] {
				chance = 0.9
			}
		}
		if rng.Float64() < chance {
			private = append(private, i)
		} else {
			pool = append(pool, i)
		}
	}
	quarter := len(private) / 4
	out := jiElkanDraw{
		private: d.records.Select(private[quarter:]).X,
		test:    d.records.Select(private[:quarter]).X,
		pool:    d.records.Select(pool[:min(len(pool), jiElkanPool)]).X,
	}
	if setting != "uniform" {
		return out, nil
	}
	table, err := support.Draw(d.full, min(len(pool), jiElkanPool), support.UniformMargins(d.full), rng)
	if err != nil {
		return out, err
	}
	made, _, err := d.full.Encode(table)
	if err != nil {
		return out, err
	}
	out.pool = made.X
	return out, nil
}

// weigh runs a reweigh study of one party on a draw.
func (d *jiElkanData) weigh(ctx context.Context, at jiElkanDraw, m jiElkanMethod, epsilon float64,
	seed uint64) (simulate.ReweighSummary, error) {
	schema, terms := d.features, &reweigh.Terms{Bins: m.Bins}
	n, _ := at.private.Dims()
	k, _ := at.pool.Dims()
	width := d.outcome
	if m.Label {
		schema, width = d.full, d.full.Dim()
		outcome := d.features.Label.Column
		for _, c := range d.features.FeatureColumns() {
			terms.Pairs = append(terms.Pairs, [2]string{c, outcome})
		}
	}
	records := &dataset.Records{X: mat.NewDense(n+k, width, nil), Y: make([]int, n+k)}
	group := make([]bool, n+k)
	query := make([]float64, n+k)
	copyRows(records.X, at.private, 0)
	copyRows(records.X, at.pool, n)
	for i, y := range append(d.y(at.private), d.y(at.pool)...) {
		query[i] = float64(y)
		group[i] = i < n
	}
	p := study.Proposal{Name: "ji-elkan", Kind: "reweigh", Epsilon: epsilon, Mechanism: m.Mechanism,
		Lambda: m.Lambda}
	var err error
	if p.KindTerms, err = study.EncodeTerms(terms); err != nil {
		return simulate.ReweighSummary{}, err
	}
	return simulate.Reweigh{
		Schema: schema, Proposal: p,
		Records: records.AsTable(), Group: group, PrivateShare: 1, Query: query, Parties: 1, Repeats: 1, Seed: seed, SkipUnperturbed: true,
	}.Run(ctx)
}

// copyRows copies the first columns of rows to a place in another matrix.
func copyRows(to, from *mat.Dense, at int) {
	n, _ := from.Dims()
	_, d := to.Dims()
	to.Slice(at, at+n, 0, d).(*mat.Dense).Copy(from.Slice(0, n, 0, d))
}

// linear trains logistic regression or a linear SVM on weighted rows.
func linear(name string, x *mat.Dense, y []int, weight []float64) learners.Linear {
	targets := learners.OneHot(y, 2)
	settings := learners.MinimiseSettings{GradientNorm: 1e-6, MaxIterations: 300}
	if name == "svm" {
		n, _ := x.Dims()
		both := mat.NewDense(n, 2, nil)
		for i, k := range y {
			both.Set(i, k, 1)
		}
		w, _ := learners.Minimize(&learners.HingeRisk{X: x, Targets: both, RowWeight: weight,
			Ridge: jiElkanRidge, Classes: 2}, nil, settings)
		return learners.NewLinear(w, 2)
	}
	w, _ := learners.Minimize(&learners.SoftmaxRisk{X: x, Mu: learners.TargetMoments(x, targets, weight),
		RowWeight: weight, Ridge: jiElkanRidge, Classes: 2}, nil, settings)
	return learners.NewLinear(w, 2)
}

var jiElkanLearners = []string{"logistic regression", "svm"}

// accuracyOf is the share of test records a model labels as they are.
func accuracyOf(m learners.Linear, x *mat.Dense, y []int) float64 {
	right := 0
	for i, k := range m.Predict(x) {
		if k == y[i] {
			right++
		}
	}
	return float64(right) / float64(len(y))
}

// runOne measures all methods on one draw of a setting.
func (d *jiElkanData) runOne(ctx context.Context, l *lab, setting string, draw int,
	epsilons []float64, out *results) error {
	key := fmt.Sprintf("%s-draw%d", setting, draw)
	rng := l.rng("ji-elkan " + key)
	at, err := d.draw(setting, rng)
	if err != nil {
		return err
	}
	testX, testY := d.x(at.test), d.y(at.test)
	poolX, poolY := d.x(at.pool), d.y(at.pool)
	private := labelled{X: d.x(at.private), Y: d.y(at.private), Classes: 2}
	truth := stat.Mean(toFloats(private.Y), nil)
	note := func(method string, epsilon float64, pairs ...any) {
		out.add(append([]any{"setting", setting, "draw", draw, "method", method, "epsilon",
			epsilon}, pairs...)...)
	}
	for _, name := range jiElkanLearners {
		note("trained on D", math.Inf(1), "learner", name, "accuracy",
			accuracyOf(linear(name, private.X, private.Y, nil), testX, testY))
		note("trained on E", math.Inf(1), "learner", name, "accuracy",
			accuracyOf(linear(name, poolX, poolY, nil), testX, testY))
	}
	note("unweighted", math.Inf(1), "error", stat.Mean(toFloats(poolY), nil)-truth)
	if err := d.withoutNoise(at, truth, note); err != nil {
		return err
	}
	for _, m := range jiElkanMethods {
		for _, epsilon := range epsilons {
			if err := ctx.Err(); err != nil {
				return err
			}
			s, err := d.weigh(ctx, at, m, epsilon, hashOf(fmt.Sprint(l.Seed, key, m.Name, epsilon)))
			if err != nil {
				return err
			}
			weights, err := weighed.WeightsOf(*s.Release)
			if err != nil {
				return err
			}
			weight := weights.Weight
			note(m.Name, epsilon, "error", s.Estimate-truth, "effective rows",
				weights.EffectiveRows, "stated sd", s.ForecastSD)
			// The simulation deals E in an order of its own.
			x, y := mat.NewDense(len(weight), poolX.RawMatrix().Cols, nil), make([]int, len(weight))
			n, _ := at.private.Dims()
			for i, row := range s.PoolRecords {
				x.SetRow(i, poolX.RawRowView(row-n))
				y[i] = poolY[row-n]
			}
			for _, name := range jiElkanLearners {
				note(m.Name, epsilon, "learner", name, "accuracy",
					accuracyOf(linear(name, x, y, weight), testX, testY))
			}
		}
	}
	return d.rivals(private, epsilons, testX, testY, note, rng)
}

// withoutNoise notes the query's error under weights of a fixed λ, as if nothing
// had to be hidden: bias and variance of the two ways to weigh.
func (d *jiElkanData) withoutNoise(at jiElkanDraw, truth float64,
	note func(string, float64, ...any)) error {
	design, err := aggregation.NewFeatureDesign(d.features, aggregation.FeatureTerms{})
	if err != nil {
		return err
	}
	n, _ := at.private.Dims()
	k, _ := at.pool.Dims()
	private := at.private.Slice(0, n, 0, d.outcome).(*mat.Dense)
	pool := at.pool.Slice(0, k, 0, d.outcome).(*mat.Dense)
	sums := make([]float64, design.Cells())
	for j, v := range design.Sums(private) {
		sums[j] = float64(v)
	}
	means, err := fitting.FeatureMeans(design, sums, float64(n))
	if err != nil {
		return err
	}
	floats.Scale(1/design.MaxRowNorm(), means)
	x, y := design.Rows(pool), toFloats(d.y(at.pool))
	for _, lambda := range jiElkanLambdas {
		fit := fitting.FitWeights(x, nil, means, fitting.IsotropicNoise(design.Cells(), 0),
			lambda, 0, nil)
		note("entropy", math.Inf(1), "lambda", lambda, "error", stat.Mean(y, fit.Weight)-truth)
		beta := aggregation.DensityRatio{Design: design, Lambda: lambda,
			Pool: pool}.Fit(private)[:design.Cells()]
		floats.Scale(design.MaxRowNorm()/float64(n), beta)
		note("density ratio", math.Inf(1), "lambda", lambda, "error",
			stat.Mean(y, fitting.WeightsOfTilt(x, beta).Weight)-truth)
	}
	return nil
}

// rivals are DP-ERM on D itself (Chaudhuri, Monteleoni & Sarwate 2011), with the
// ridge that the test records like best.
func (d *jiElkanData) rivals(private labelled, epsilons []float64, testX *mat.Dense, testY []int,
	note func(string, float64, ...any), rng *rand.Rand) error {
	lambdas := []float64{1e-4, 1e-3, 1e-2, 1e-1}
	n := len(private.Y)
	var solutions [][]float64
	for _, lambda := range lambdas {
		solutions = append(solutions, private.ridgeSolution(nil, lambda, nil))
	}
	for _, epsilon := range epsilons {
		var output, objective []learners.Linear
		for i, lambda := range lambdas {
			output = append(output,
				private.outputPerturbation(solutions[i], n, lambda, epsilon, rng))
			objective = append(objective, private.objectivePerturbation(lambda, epsilon, rng))
		}
		accuracy := func(m learners.Linear) float64 { return accuracyOf(m, testX, testY) }
		note("DP-ERM, output, oracle λ", epsilon, "learner", jiElkanLearners[0], "accuracy",
			best(accuracy, output...))
		note("DP-ERM, objective, oracle λ", epsilon, "learner", jiElkanLearners[0], "accuracy",
			best(accuracy, objective...))
	}
	return nil
}

func toFloats(y []int) []float64 {
	v := make([]float64, len(y))
	for i, k := range y {
		v[i] = float64(k)
	}
	return v
}

func jiElkanTasks(l *lab) ([]task, error) {
	epsilons, draws := jiElkanEpsilons, l.draws(jiElkanDraws)
	if l.Quick {
		epsilons, draws = []float64{.1, 3}, l.draws(1)
	}
	data := sync.OnceValues(func() (*jiElkanData, error) { return loadJiElkan(l) })
	var tasks []task
	for _, setting := range jiElkanSettings {
		for draw := range draws {
			tasks = append(tasks,
				task{Key: fmt.Sprintf("%s-draw%d", setting, draw),
					Run: func(ctx context.Context, out *results) error {
						d, err := data()
						if err != nil {
							return err
						}
						return d.runOne(ctx, l, setting, draw, epsilons, out)
					}})
		}
	}
	return tasks, nil
}
