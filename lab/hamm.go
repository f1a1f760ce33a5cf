package main

import (
	"context"
	"fmt"
	"slices"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/privacy"
)

// hammExperiment compares the ways to release a classifier of many parties'
// data (Hamm, Cao & Belkin 2016) with each other and with their rivals.
func hammExperiment() experiment {
	return experiment{
		Name:   "hamm",
		About:  "classifiers from many parties: votes and sums against the published mechanisms and today's rivals, at equal units",
		Tasks:  hammTasks,
		Report: hammReport,
	}
}

// hammSet is a data set and what it allows.
type hammSet struct {
	Name string
	// HoldOut tests on a quarter of the training file: the test file of
	// kddcup99 holds attacks that its training file does not.
	HoldOut bool
	// Records is how many records of the training file are used, at random
	// (0: all); PoolRows of a quarter of them are the pool.
	Records, PoolRows, Project int
	// Parties lists the numbers of parties; 0 stands for the natural ones.
	Parties []int
}

// hammSets are the sets of the full experiment. Every party has 20 records or more.
var hammSets = []hammSet{
	{Name: "adult", PoolRows: 2000, Project: 40, Parties: []int{10, 30, 100, 300, 1000}},
	{Name: "kddcup99", HoldOut: true, Records: 48_000, PoolRows: 2000, Project: 40, Parties: []int{10, 30, 100, 300, 1000}},
	{Name: "wisdm_har", PoolRows: 1000, Project: 40, Parties: []int{0, 10, 30, 100}},
	{Name: "phishing", PoolRows: 2000, Project: 40, Parties: []int{10, 30, 100, 300}},
	{Name: "mnist", Records: 32_000, PoolRows: 1000, Project: 40, Parties: []int{10, 30, 100, 300, 1000}},
}

var quickSets = []hammSet{{Name: "hospitals", PoolRows: 600, Project: 12, Parties: []int{50, 200}}}

const (
	hammDelta   = 1e-6
	hammDraws   = 10
	poolPart    = .25
	maxAlone    = 40  // parties whose own accuracy is averaged
	shardsInAll = 600 // at record level: shards of all sites together, ...
	shardSize   = 40  // ... unless that leaves fewer records in each
)

var (
	hammEpsilons  = []float64{.01, .03, .1, .3, 1, 3, 10}
	quickEpsilons = []float64{.1, 1, 10}
	farEpsilons   = []float64{30, 60} // a plan may ask for 64 at most
	hammSites     = []int{5, 12, 50}
	// oracleLambdas are tried by the methods that must fix λ before they see
	// noise; the best on the test records is reported, labelled as oracle.
	oracleLambdas = []float64{1e-3, 1e-2, 1e-1, 1}
)

func atHammDelta() *float64 {
	delta := hammDelta
	return &delta
}

// skewed is the Dirichlet concentration of the skewed partition.
const skewed = 0.5

func hammTasks(l *lab) ([]task, error) {
	sets, epsilons, sites, draws := hammSets, hammEpsilons, hammSites, l.draws(hammDraws)
	if l.Quick {
		sets, epsilons, sites, draws = quickSets, quickEpsilons, []int{12}, l.draws(2)
	}
	// Draw by draw, and in a draw the headline first, so that a run cut short has whole draws of
	// it.
	var tasks []task
	for draw := range draws {
		for _, s := range sets {
			tasks = append(tasks, partyTasks(l, s, draw, epsilons)...)
		}
		tasks = append(tasks, theoryTasks(l, sets[0], draw)...)
		for _, s := range sets {
			tasks = append(tasks, recordTasks(l, s, draw, sites, epsilons)...)
		}
	}
	return tasks, nil
}

func partyTasks(l *lab, s hammSet, draw int, epsilons []float64) (tasks []task) {
	for _, m := range s.Parties {
		at := epsilons
		if !l.Quick && (m == 30 || m == 300) && m != slices.Max(s.Parties) {
			at = []float64{1} // for the number of parties needed at ε = 1
		}
		tasks = append(tasks, task{
			Key: fmt.Sprintf("party-%s-M%d-draw%d", s.Name, m, draw),
			Run: func(ctx context.Context, out *results) error {
				c := comparison{l: l, set: s, unit: privacy.Party, parties: m, draw: draw,
					epsilons: at, distant: len(at) > 1 && m != 10 && !l.Quick, out: out}
				return c.run(ctx)
			},
		})
	}
	return tasks
}

func recordTasks(l *lab, s hammSet, draw int, sites []int, epsilons []float64) (tasks []task) {
	for _, n := range sites {
		for _, concentration := range []float64{0, skewed} {
			tasks = append(tasks, task{
				Key: fmt.Sprintf("record-%s-%dsites-%s-draw%d", s.Name, n, partition(concentration), draw),
				Run: func(ctx context.Context, out *results) error {
					c := comparison{l: l, set: s, unit: privacy.Record, parties: n,
						skew: concentration, draw: draw, epsilons: epsilons, out: out}
					return c.run(ctx)
				},
			})
		}
	}
	return tasks
}

func partition(concentration float64) string {
	if concentration > 0 {
		return "skewed"
	}
	return "even"
}

// deal makes a draw of a set. The split depends on seed, set and draw, so that
// all numbers of parties and all methods meet the same pool and test records.
func (s hammSet) deal(l *lab, parties, draw int, concentration float64) (*mappedDeal, error) {
	split, err := s.split(l, parties, draw, concentration)
	if err != nil {
		return nil, err
	}
	return newMappedDeal(split, dataset.Components{Project: dataset.ComponentCount(s.Project),
		Analysis: dataset.PCA})
}

// split is that of a draw of a set.
func (s hammSet) split(l *lab, parties, draw int, concentration float64) (simulate.Split, error) {
	data, err := l.records(s.Name)
	if err != nil {
		return simulate.Split{}, err
	}
	train, test := data.Train, data.Test
	if s.HoldOut {
		test = nil
	}
	rng := l.rng(fmt.Sprintf("hamm split %s %d", s.Name, draw))
	if s.Records > 0 && s.Records < train.Len() {
		train = train.Select(rng.Perm(train.Len())[:s.Records])
	}
	return simulate.Split{
		Schema: data.Schema, Train: train.AsTable(), Test: test.AsTable(), PoolFraction: poolPart, PoolRows: s.PoolRows,
		Parties: parties, Concentration: concentration, Seed: rng.Uint64(),
	}, nil
}

// records a rival may use, as labelled rows.
func pooledOf(d *mappedDeal) labelled {
	return labelled{X: d.X, Y: d.Private.Y, Classes: len(d.Schema.Classes())}
}
