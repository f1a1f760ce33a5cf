package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classifier"
	"caucus/study/classify"
	"caucus/study/kinds"
	"caucus/study/simulate"
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

// forecastSet is a data set; the constants of a forecast were chosen on those with
// Chosen, and the others only judge them.
type forecastSet struct {
	hammSet
	Chosen bool
}

var forecastSets = []forecastSet{
	{hammSet{Name: "adult", Records: 20_000}, true},
	{hammSet{Name: "phishing"}, true},
	{hammSet{Name: "wisdm_har"}, true},
	{hammSet{Name: "hospitals"}, true},
	{hammSet{Name: "heart_disease"}, false},
	{hammSet{Name: "higgs_sample"}, false},
	{hammSet{Name: "kddcup99", HoldOut: true, Records: 20_000}, false},
	{hammSet{Name: "mnist", HoldOut: true, Records: 16_000}, false},
}

// What plans are drawn from.
var (
	forecastParties  = []int{3, 5, 12, 30, 100, 300, 1000}
	forecastRecords  = []int{24, 60, 200, 600, 2000}
	forecastProject  = []dataset.Count{10, 20, 30}
	forecastEpsilons = []float64{.1, .3, 1, 3}
)

const (
	forecastPlans     = 16 // of each set, each at every ε
	forecastDeals     = 3  // of each plan, averaged
	forecastPool      = 800
	forecastTest      = 2500
	forecastMost      = 12_000 // records of all parties together
	forecastMostAlone = 10     // parties whose own classifier is trained
	forecastLeast     = 12     // parties at unit party: fewer are useless at every ε here
)

// forecastPlan is a plan but for its ε.
type forecastPlan struct {
	set              forecastSet
	number           int
	parties, records int
	mechanism, noise string
	unit             privacy.Unit
	project          dataset.Count
}

func (p forecastPlan) key() string {
	return fmt.Sprintf("%s-%02d-%s-%s-M%d-n%d-d%d", p.set.Name, p.number, p.mechanism, p.noise, p.parties, p.records, p.project)
}

// forecastPlansOf draws plans that a set has the records for.
func forecastPlansOf(l *lab, s forecastSet, most int) (out []forecastPlan) {
	rng := l.rng("forecast plans " + s.Name)
	pick := func(of []int) int { return of[rng.IntN(len(of))] }
	for len(out) < forecastPlans {
		p := forecastPlan{set: s, number: len(out), parties: pick(forecastParties), records: pick(forecastRecords), project: forecastProject[rng.IntN(len(forecastProject))]}
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
		if n := p.parties * p.records; n > min(most, forecastMost) || n < 60 || p.unit == privacy.Party && p.parties < forecastLeast {
			continue
		}
		out = append(out, p)
	}
	return out
}

func forecastTasks(l *lab) (tasks []task, err error) {
	sets := forecastSets
	if l.Quick {
		sets = []forecastSet{{hammSet{Name: "hospitals"}, true}}
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
		plans := forecastPlansOf(l, s, have-2*forecastAside(have))
		if l.Quick {
			plans = plans[:4]
		}
		for _, p := range plans {
			tasks = append(tasks,
				task{Key: "truth-" + p.key(), Run: func(ctx context.Context, out *results) error { return p.truth(ctx, l, out) }},
				task{Key: "said-" + p.key(), Run: func(ctx context.Context, out *results) error { return p.said(ctx, l, out) }},
			)
		}
	}
	return tasks, nil
}

// forecastAside is how many of so many records the pool has, and the test set at
// most.
func forecastAside(have int) int { return min(forecastPool, have/4) }

// deal is one of the plan's deals.
func (p forecastPlan) deal(l *lab, number int) (*simulate.Deal, error) {
	data, err := l.records(p.set.Name)
	if err != nil {
		return nil, err
	}
	rng := l.rng(fmt.Sprintf("forecast deal %s %d", p.key(), number))
	have := data.Train.Len()
	if p.set.Records > 0 {
		have = min(have, p.set.Records)
	}
	rows := rng.Perm(data.Train.Len())[:have]
	aside, private := forecastAside(have), p.parties*p.records
	pool, rest := rows[:aside], rows[aside:]
	return simulate.Split{
		Schema: data.Schema, Pool: data.Train.Select(pool), Train: data.Train.Select(rest[:private]),
		Test: data.Train.Select(rest[private:min(len(rest), private+forecastTest)]), Parties: p.parties, Seed: rng.Uint64(),
	}.Deal(0)
}

func (p forecastPlan) proposal(epsilon float64) study.Proposal {
	return study.Proposal{
		Name: "forecast", Unit: p.unit, Epsilon: epsilon, Delta: atHammDelta(), Mechanism: p.mechanism, Noise: p.noise,
		Map: dataset.Components{Project: p.project},
	}
}

// judged is what a classifier is worth on a deal's test records.
func judged(d *simulate.Deal, model learners.Model, x *mat.Dense) learners.Measures {
	classes := len(d.Schema.Classes())
	if linear, ok := model.(learners.Linear); ok {
		return learners.Measure(linear, x, d.Test.Y, learners.Channel{Classes: classes, Keep: 1})
	}
	m := learners.Measures{AUC: .5}
	if model != nil {
		right, labelled := classifier.Right(model.Predict(x), d.Test.Y)
		m.Accuracy = float64(right) / float64(max(labelled, 1))
	}
	return m
}

// trained is a classifier of some records, as a party makes one for itself.
func trained(d *simulate.Deal, t study.Task, rows []int, rng *rand.Rand) learners.Measures {
	model, _ := classify.TrainLocal(context.Background(), t.Plan(), d.Private.Select(rows), rng, false)
	return judged(d, model, d.TestX(t))
}

// sharesOf are the classes' shares of the records.
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

// truth simulates the plan at each ε.
func (p forecastPlan) truth(ctx context.Context, l *lab, out *results) error {
	for number := range forecastDeals {
		d, err := p.deal(l, number)
		if err != nil {
			return err
		}
		d.Keep = true
		rng := l.rng(fmt.Sprintf("forecast alone %s %d", p.key(), number))
		var pooled, alone learners.Measures
		for at, epsilon := range forecastEpsilons {
			t, err := d.Task(p.proposal(epsilon))
			if err != nil {
				return err
			}
			run, err := d.Run(ctx, t, simulate.Options{Lean: at > 0})
			if err != nil {
				return err
			}
			released, err := judgedResult(d, t, run.Release.Result)
			if err != nil {
				return err
			}
			if at == 0 {
				clear, err := judgedResult(d, t, run.Unperturbed)
				if err != nil {
					return err
				}
				out.add("plan", p.key(), "deal", number, "epsilon", 0., "unperturbed", clear.Accuracy, "unperturbed_auc", clear.AUC)
				pooled = trained(d, t, rng.Perm(d.Private.Len())[:min(d.Private.Len(), 6000)], rng)
				parties := min(p.parties, forecastMostAlone)
				for i := range parties {
					m := trained(d, t, d.Parties[i], rng)
					alone.Accuracy += m.Accuracy / float64(parties)
					alone.AUC += m.AUC / float64(parties)
				}
			}
			out.add("plan", p.key(), "deal", number, "set", p.set.Name, "chosen", p.set.Chosen, "mechanism", p.mechanism, "noise", p.noise,
				"parties", p.parties, "records", p.records, "features", t.Pool().Dim()-1, "epsilon", epsilon,
				"released", released.Accuracy, "released_auc", released.AUC, "pooled", pooled.Accuracy, "pooled_auc", pooled.AUC,
				"alone", alone.Accuracy, "alone_auc", alone.AUC, "majority", d.Majority(),
				"shares", strings.Trim(fmt.Sprintf("%.4f", sharesOf(d.Private.Y, len(d.Schema.Classes()))), "[]"))
		}
	}
	return nil
}

// said forecasts the plan at each ε, once as whoever knows the classes' shares alone,
// and once as whoever also knows how far a classifier of all records separates them.
func (p forecastPlan) said(ctx context.Context, l *lab, out *results) error {
	for number := range forecastDeals {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := p.deal(l, number)
		if err != nil {
			return err
		}
		shares := sharesOf(d.Private.Y, len(d.Schema.Classes()))
		for k := range shares {
			shares[k] = max(shares[k], .5/float64(d.Private.Len()))
		}
		proposal := p.proposal(1)
		t, err := d.Task(proposal)
		if err != nil {
			return err
		}
		rng := l.rng(fmt.Sprintf("forecast alone %s %d", p.key(), number))
		pooled := trained(d, t, rng.Perm(d.Private.Len())[:min(d.Private.Len(), 6000)], rng)
		for _, auc := range []float64{0, min(max(pooled.AUC, .505), .9995)} {
			plan := t.Plan()
			plan.Shares, plan.AUC = shares, auc
			of, err := kinds.NewTask(plan, t.Pool())
			if err != nil {
				return err
			}
			o, err := study.OutlookOf(of)
			if err != nil {
				return err
			}
			for _, epsilon := range forecastEpsilons {
				f, err := o.At(epsilon, d.Size())
				if err != nil {
					return err
				}
				given := "shares"
				if auc > 0 {
					given = "auc"
				}
				row := []any{"plan", p.key(), "deal", number, "epsilon", epsilon, "given", given, "helps", f.Helps}
				for _, line := range []struct {
					name string
					study.Line
				}{{"released", f.Released}, {"unperturbed", f.Unperturbed}, {"pooled", f.Pooled}, {"alone", f.Alone}} {
					for _, r := range []struct {
						name string
						study.Range
					}{{"", line.Accuracy}, {"_auc", line.AUC}} {
						row = append(row, "f_"+line.name+r.name, r.Mid, "f_"+line.name+r.name+"_low", r.Low, "f_"+line.name+r.name+"_high", r.High)
					}
				}
				out.add(row...)
			}
		}
	}
	return nil
}

// judgedResult is what a result's classifier is worth.
func judgedResult(d *simulate.Deal, t study.Task, r study.Result) (learners.Measures, error) {
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

// forecastCase is a plan at an ε, said and true, means over its deals.
type forecastCase struct {
	set            string
	chosen         bool
	said, measured map[string]float64
	helps          map[string]bool // yes, by what was given: "shares" or "auc"
	depends        bool            // by the shares alone
	true           bool
	close          bool // within a point of the other answer
}

// forecastCases joins what was said with what was measured.
func forecastCases(r *results) (out []forecastCase) {
	clear := map[string]map[string]string{}
	truth, said := map[string][]map[string]string{}, map[string][]map[string]string{}
	var order []string
	for _, row := range r.rows {
		at := row["plan"] + " " + row["epsilon"]
		switch {
		case row["unperturbed"] != "":
			clear[row["plan"]+row["deal"]] = row
		case row["given"] != "":
			said[at+row["given"]] = append(said[at+row["given"]], row)
		default:
			if truth[at] == nil {
				order = append(order, at)
			}
			truth[at] = append(truth[at], row)
		}
	}
	mean := func(rows []map[string]string, column string) float64 {
		return (&results{rows: rows}).over(column).Mean
	}
	for _, at := range order {
		rows, with := truth[at], said[at+"auc"]
		if len(with) == 0 {
			continue
		}
		var without []map[string]string
		for _, row := range rows {
			without = append(without, clear[row["plan"]+row["deal"]])
		}
		c := forecastCase{set: rows[0]["set"], chosen: rows[0]["chosen"] == "true", said: map[string]float64{}, measured: map[string]float64{}, helps: map[string]bool{}}
		for _, name := range []string{"released", "pooled", "alone", "released_auc", "pooled_auc", "alone_auc"} {
			c.measured[name] = mean(rows, name)
			for _, end := range []string{"", "_low", "_high"} {
				c.said[name+end] = mean(with, "f_"+name+end)
			}
		}
		majority := mean(rows, "majority")
		judge := func(accuracy, _ float64) float64 { return accuracy - majority }
		if c.measured["pooled"]-majority < study.LeastGap {
			judge = func(_, auc float64) float64 { return auc - .5 }
		}
		had := judge(mean(without, "unperturbed"), mean(without, "unperturbed_auc"))
		has, alone := judge(c.measured["released"], c.measured["released_auc"]), judge(c.measured["alone"], c.measured["alone_auc"])
		c.true = had >= study.LeastGap && has >= had/4 && has >= alone
		c.close = math.Abs(min(has-had/4, has-alone)) < .01
		for _, given := range []string{"shares", "auc"} {
			yes := 0
			for _, row := range said[at+given] {
				if row["helps"] == string(study.HelpsYes) {
					yes++
				}
				c.depends = c.depends || row["helps"] == string(study.HelpsDepends)
			}
			c.helps[given] = 2*yes > len(said[at+given])
		}
		out = append(out, c)
	}
	return out
}

func forecastReport(_ *lab, r *results, p *page) error {
	cases := forecastCases(r)
	p.paragraph("%d plans (a set, a mechanism, parties, records, components and ε), each simulated with %d deals. A release *works* if it keeps a quarter of what the one without noise has over the largest class and is no worse than one party alone (by accuracy; by AUC where pooled records beat the largest class by less than a point). *Close*: within a point of the other answer. Constants were chosen on the sets marked \\*.", len(cases), forecastDeals)
	for _, given := range []string{"auc", "shares"} {
		title := "Given the classes' shares and the AUC of pooled records"
		if given == "shares" {
			title = "Given the classes' shares alone: a band of AUCs from .65 to .85"
		}
		p.section(title)
		var rows [][]string
		for _, group := range forecastGroups(cases) {
			var yes, wrongYes, closeYes, no, wrongNo, closeNo, depends int
			for _, c := range group.cases {
				switch {
				case given == "shares" && c.depends && !c.helps[given]:
					depends++
				case c.helps[given]:
					yes++
					if !c.true {
						wrongYes++
						if c.close {
							closeYes++
						}
					}
				default:
					no++
					if c.true {
						wrongNo++
						if c.close {
							closeNo++
						}
					}
				}
			}
			part := func(n, of, close int) string {
				if of == 0 {
					return "0 of 0"
				}
				return fmt.Sprintf("%d of %d (%.0f %%), %d close", n, of, 100*float64(n)/float64(of), close)
			}
			rows = append(rows, []string{group.name, part(wrongYes, yes, closeYes), part(wrongNo, no, closeNo), fmt.Sprint(depends)})
		}
		p.table([]string{"data", "said to help, does not", "said not to, works", "depends"}, rows)
	}
	p.section("How far off, given the AUC")
	var rows [][]string
	for _, group := range forecastGroups(cases) {
		row := []string{group.name, fmt.Sprint(len(group.cases))}
		for _, name := range []string{"released", "released_auc", "pooled", "alone", "alone_auc"} {
			off, within, covered := 0., 0., 0.
			n := float64(len(group.cases))
			for _, c := range group.cases {
				d := c.said[name] - c.measured[name]
				off += d / n
				if math.Abs(d) <= .02 {
					within += 1 / n
				}
				if c.said[name+"_low"] <= c.measured[name] && c.measured[name] <= c.said[name+"_high"] {
					covered += 1 / n
				}
			}
			row = append(row, fmt.Sprintf("%+.3f, %.0f %%, %.0f %%", off, 100*within, 100*covered))
		}
		rows = append(rows, row)
	}
	p.paragraph("Each cell: mean of forecast less measured; share of plans within .02; share of plans whose measured number lies in the forecast's interval.")
	p.table([]string{"data", "plans", "released", "released, AUC", "pooled", "alone", "alone, AUC"}, rows)
	return nil
}

// forecastGroup is cases that are counted together.
type forecastGroup struct {
	name  string
	cases []forecastCase
}

// forecastGroups are the sets, those that constants were chosen on, the others, and all.
func forecastGroups(cases []forecastCase) []forecastGroup {
	var out []forecastGroup
	add := func(name string, in func(forecastCase) bool) {
		g := forecastGroup{name: name}
		for _, c := range cases {
			if in(c) {
				g.cases = append(g.cases, c)
			}
		}
		if len(g.cases) > 0 {
			out = append(out, g)
		}
	}
	for _, s := range forecastSets {
		name := s.Name
		if s.Chosen {
			name += " \\*"
		}
		add(name, func(c forecastCase) bool { return c.set == s.Name })
	}
	add("**chosen on**", func(c forecastCase) bool { return c.chosen })
	add("**only judged**", func(c forecastCase) bool { return !c.chosen })
	add("**all**", func(forecastCase) bool { return true })
	return out
}
