package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"caucus/analyst/forecast"
	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classify"
	"caucus/study/stated"
)

// forecastExperiment holds forecasts against simulations of the same plans.
func forecastExperiment() experiment {
	return experiment{
		Name:   "forecast",
		About:  "what a plan is forecast to reach against what it reaches in simulation, beside one party alone",
		Tasks:  forecastTasks,
		Report: forecastReport,
	}
}

var forecastSets = []hammSet{
	{Name: "adult", Records: 20_000},
	{Name: "phishing"},
	{Name: "wisdm_har"},
	{Name: "hospitals"},
	{Name: "heart_disease"},
	{Name: "higgs_sample"},
	{Name: "kddcup99", HoldOut: true, Records: 20_000},
	{Name: "mnist", HoldOut: true, Records: 16_000},
}

// What plans are drawn from.
var (
	forecastParties  = []int{3, 5, 12, 30, 100, 300, 1000}
	forecastRecords  = []int{24, 60, 200, 600, 2000}
	forecastProject  = []dataset.ComponentCount{10, 20, 30}
	forecastEpsilons = []float64{.1, .3, 1, 3}
)

const (
	// the second is of the next seed: what is chosen with the first in sight is judged by it
	forecastHalves    = 2
	forecastPlans     = 4 // of each set and half, each at every ε
	forecastDeals     = 3 // of each plan, averaged
	forecastPool      = 800
	forecastTest      = 2500
	forecastMost      = 12_000 // records of all parties together
	forecastMostAlone = 10     // parties whose own classifier is trained
	forecastLeast     = 12     // parties at unit party: fewer are useless at every ε here
)

// forecastPlan is a plan but for its ε.
type forecastPlan struct {
	set              hammSet
	half, number     int // from 0
	parties, records int
	mechanism        string
	noise            study.Noise
	unit             privacy.Unit
	project          dataset.ComponentCount
}

// name names it among those of both halves.
func (p forecastPlan) name() string {
	return fmt.Sprintf("%s-%s", forecastHalfNames[p.half], p.key())
}

var forecastHalfNames = [forecastHalves]string{"first", "second"}

func (p forecastPlan) key() string {
	return fmt.Sprintf("%s-%02d-%s-%s-M%d-n%d-d%d", p.set.Name, p.number, p.mechanism, p.noise,
		p.parties, p.records, p.project)
}

// rng is a generator of the plan's half.
func (p forecastPlan) rng(l *lab, about string) *rand.Rand {
	return (&lab{Seed: l.Seed + uint64(p.half)}).rng("forecast " + about)
}

// forecastPlansOf draws a half's plans that a set has the records for.
func forecastPlansOf(l *lab, s hammSet, half, most int) (out []forecastPlan) {
	rng := forecastPlan{half: half}.rng(l, "plans "+s.Name)
	pick := func(of []int) int { return of[rng.IntN(len(of))] }
	for len(out) < forecastPlans {
		p := forecastPlan{set: s, half: half, number: len(out), parties: pick(forecastParties),
			records: pick(forecastRecords),
			project: forecastProject[rng.IntN(len(forecastProject))]}
		switch rng.IntN(4) {
		case 0:
			p.mechanism, p.unit, p.noise = "tally", privacy.Party, study.NoiseCoordinator
		case 1:
			p.mechanism, p.unit, p.noise = "means", privacy.Party, study.NoiseCoordinator
		case 2:
			p.mechanism, p.unit, p.noise = "cross", privacy.Record, study.NoiseSite
		default:
			p.mechanism, p.unit, p.noise = "cross", privacy.Record, study.NoiseCoordinator
		}
		if n := p.parties * p.records; n > min(most, forecastMost) || n < 60 ||
			p.unit == privacy.Party && p.parties < forecastLeast {
			continue
		}
		out = append(out, p)
	}
	return out
}

func forecastTasks(l *lab) (tasks []task, err error) {
	sets := forecastSets
	if l.Quick {
		sets = []hammSet{{Name: "hospitals"}}
	}
	for _, s := range sets {
		data, err := l.records(s.Name)
		if err != nil {
			return nil, err
		}
		have := data.Train.Len()
		if s.Records > 0 {
			have = min(have, s.Records)
		}
		var plans []forecastPlan
		for half := range forecastHalves {
			plans = append(plans, forecastPlansOf(l, s, half, have-2*forecastAside(have))...)
		}
		if l.Quick {
			plans = plans[:4]
		}
		for _, p := range plans {
			tasks = append(tasks,
				task{Key: "truth-" + p.name(), Run: func(ctx context.Context, out *results) error {
					return p.truth(ctx, l, out)
				}},
				task{Key: "said-" + p.name(), Run: func(ctx context.Context, out *results) error {
					return p.said(ctx, l, out)
				}},
			)
		}
	}
	return tasks, nil
}

// forecastAside is how many of so many records the pool has, and the test set at most.
func forecastAside(have int) int { return min(forecastPool, have/4) }

// rows are a deal's rows of a set in order: the pool's, aside of them, then the private
// and test records up to have, then those that the deal leaves.
func (p forecastPlan) rows(l *lab, data *source, number int) (rows []int, aside, have int,
	seed uint64) {
	rng := p.rng(l, fmt.Sprintf("deal %s %d", p.key(), number))
	have = data.Train.Len()
	if p.set.Records > 0 {
		have = min(have, p.set.Records)
	}
	rows = rng.Perm(data.Train.Len())
	return rows, forecastAside(have), have, rng.Uint64()
}

func (p forecastPlan) deal(l *lab, number int) (*simulate.DealtData, error) {
	data, err := l.records(p.set.Name)
	if err != nil {
		return nil, err
	}
	rows, aside, have, seed := p.rows(l, data, number)
	private := p.parties * p.records
	pool, rest := rows[:aside], rows[aside:have]
	return simulate.Split{
		Schema: data.Schema, Pool: data.Train.Select(pool).AsTable(), Train: data.Train.Select(rest[:private]).AsTable(),
		Test: data.Train.Select(rest[private:min(len(rest), private+forecastTest)]).AsTable(), Parties: p.parties, Seed: seed,
	}.Deal(0)
}

func (p forecastPlan) proposal(epsilon float64, shares []float64) study.Proposal {
	return study.Proposal{
		Name: "forecast", KindTerms: classifyTerms(classify.Terms{ClassShares: shares}),
		Unit: p.unit, Epsilon: epsilon, Delta: atHammDelta(), Mechanism: p.mechanism, Noise: p.noise,
		Map: dataset.Components{Project: p.project},
	}
}

// judged holds a classifier's measures on a deal's test records.
func judged(d *simulate.DealtData, model learners.Model, x *mat.Dense) learners.Measures {
	classes := len(d.Schema.Classes())
	if linear, ok := model.(learners.Linear); ok {
		return learners.MeasureScores(linear, x, d.Test.Y, learners.LabelChannel{Classes: classes, Keep: 1})
	}
	m := learners.Measures{AUC: .5}
	if model != nil {
		right, labelled := classifier.CountCorrect(model.Predict(x), d.Test.Y)
		m.Accuracy = float64(right) / float64(max(labelled, 1))
	}
	return m
}

// trained is a classifier of some records, as a party makes one for itself.
func trained(d *simulate.DealtData, t study.Finisher, rows []int, rng *rand.Rand) learners.Measures {
	model, _ := classify.TrainLocal(context.Background(), t.Plan(), t.Words().Learner,
		d.Private.Select(rows), rng, false)
	return judged(d, model, d.TestX(t))
}

func sharesOf(y []int, classes int) []float64 {
	out, labelled := make([]float64, classes), 0.
	for _, k := range y {
		if k >= 0 {
			out[k]++
			labelled++
		}
	}
	for k := range out {
		out[k] /= max(labelled, 1)
	}
	return out
}

// publicShares are the classes' shares that a plan names.
func publicShares(d *simulate.DealtData) []float64 {
	shares := sharesOf(d.Private.Y, len(d.Schema.Classes()))
	for k := range shares {
		shares[k] = max(shares[k], .5/float64(d.Private.Len()))
	}
	return shares
}

// truth simulates the plan at each ε.
func (p forecastPlan) truth(ctx context.Context, l *lab, out *results) error {
	for number := range forecastDeals {
		d, err := p.deal(l, number)
		if err != nil {
			return err
		}
		d.KeepComputations = true
		rng := p.rng(l, fmt.Sprintf("alone %s %d", p.key(), number))
		var pooled, alone learners.Measures
		for at, epsilon := range forecastEpsilons {
			t, err := d.Task(p.proposal(epsilon, publicShares(d)))
			if err != nil {
				return err
			}
			run, err := d.Run(ctx, t, simulate.Options{SkipUnperturbed: at > 0})
			if err != nil {
				return err
			}
			released, err := judgedResult(d, t, run.Release.Result)
			if err != nil {
				return err
			}
			if at == 0 {
				pooled = trained(d, t, rng.Perm(d.Private.Len())[:min(d.Private.Len(), 6000)], rng)
				parties := min(p.parties, forecastMostAlone)
				for i := range parties {
					m := trained(d, t, d.Parties[i], rng)
					alone.Accuracy += m.Accuracy / float64(parties)
					alone.AUC += m.AUC / float64(parties)
				}
			}
			out.add("plan", p.name(), "deal", number, "set", p.set.Name, "half",
				forecastHalfNames[p.half], "mechanism", p.mechanism, "noise", p.noise,
				"parties", p.parties, "records", p.records, "features", t.Pool().Dim()-1, "epsilon",
				epsilon,
				"released", released.Accuracy, "released_auc", released.AUC, "pooled",
				pooled.Accuracy, "pooled_auc", pooled.AUC,
				"alone", alone.Accuracy, "alone_auc", alone.AUC, "majority", d.Majority(),
				"shares", strings.Trim(fmt.Sprintf("%.4f",
					sharesOf(d.Private.Y, len(d.Schema.Classes()))), "[]"))
		}
	}
	return nil
}

// forecastPublished is how many records the classifier at most has whose AUC is taken to be
// publicly known.
const forecastPublished = 6000

// published is the AUC of a classifier of so many of the set's records, but the deal's pool
// and test records, on the test records: what is publicly known of such features.
func (p forecastPlan) published(l *lab, d *simulate.DealtData, t study.Finisher,
	number int) (auc float64, err error) {
	data, err := l.records(p.set.Name)
	if err != nil {
		return 0, err
	}
	rows, aside, have, _ := p.rows(l, data, number)
	private := p.parties * p.records
	rest := slices.Concat(rows[aside:aside+private], rows[min(have, aside+private+forecastTest):])
	rng := p.rng(l, fmt.Sprintf("published %s %d", p.key(), number))
	rest = rest[:min(len(rest), forecastPublished)]
	model, _ := classify.TrainLocal(context.Background(), t.Plan(), t.Words().Learner,
		data.Train.Select(rest), rng, false)
	return min(max(judged(d, model, d.TestX(t)).AUC, .505), .9995), nil
}

// forecastGiven is what is publicly known besides the classes' shares: nothing, or the AUC of a
// classifier.
var forecastGiven = []string{"shares", "auc"}

// said forecasts the plan at each ε on its first deal's pool, as whoever is given so much.
func (p forecastPlan) said(ctx context.Context, l *lab, out *results) error {
	d, err := p.deal(l, 0)
	if err != nil {
		return err
	}
	shares := publicShares(d)
	t, err := d.Task(p.proposal(1, shares))
	if err != nil {
		return err
	}
	published, err := p.published(l, d, t, 0)
	if err != nil {
		return err
	}
	for _, epsilon := range forecastEpsilons {
		t, err := d.Task(p.proposal(epsilon, shares))
		if err != nil {
			return err
		}
		for _, given := range forecastGiven {
			of := forecast.PublicInputs{Size: d.Size()}
			if given == "auc" {
				of.AUC = published
			}
			f, err := forecast.DrawForecast(ctx, t.Plan(), t.Pool(), of, forecast.Options{})
			if err != nil {
				return err
			}
			row := []any{"plan", p.name(), "epsilon", epsilon, "given", given, "helps", f.Helps,
				"classes", len(shares)}
			for _, line := range []struct {
				name string
				stated.Performance
			}{{"released", f.Released}, {"pooled", f.Pooled}, {"alone", f.Alone}} {
				for _, r := range []struct {
					name string
					stated.DrawSummary
				}{{"", line.Accuracy}, {"_auc", line.AUC}} {
					row = append(row, "f_"+line.name+r.name, r.Mean, "f_"+line.name+r.name+"_low",
						r.Low, "f_"+line.name+r.name+"_high", r.High)
				}
			}
			out.add(row...)
		}
	}
	return nil
}

// judgedResult returns the measures of a result's classifier.
func judgedResult(d *simulate.DealtData, t study.Finisher, r study.Result) (learners.Measures, error) {
	c, ok := classifier.Of(r)
	if !ok {
		return learners.Measures{}, fmt.Errorf("judge a release: it holds no classifier")
	}
	model, err := c.Linear()
	if err != nil {
		return learners.Measures{}, err
	}
	return judged(d, model, d.TestX(t)), nil
}
