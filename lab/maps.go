package main

import (
	"context"
	"fmt"

	"caucus/analyst/simulate"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/classify"
)

// mapsExperiment compares public maps: what each makes of released accuracy, on
// the same splits, at the mechanisms that simulate and daemons take by default.
func mapsExperiment() experiment {
	return experiment{
		Name:   "maps",
		About:  "public maps of tables: how columns are scaled, how many components, how far evened out",
		Tasks:  mapsTasks,
		Report: mapsReport,
	}
}

// mapsSet is a data set, with how many parties share it at each unit (0: the
// natural ones). Pools are a quarter of the training records.
type mapsSet struct {
	hammSet
	Sites, Devices int
}

var mapsSets = []mapsSet{
	{hammSet{Name: "hospitals", PoolRows: 2000}, 0, 100},
	{hammSet{Name: "heart_disease", PoolRows: 2000}, 4, 20},
	{hammSet{Name: "adult", PoolRows: 2000}, 12, 200},
	{hammSet{Name: "phishing", PoolRows: 2000}, 12, 100},
	{hammSet{Name: "wisdm_har", PoolRows: 2000}, 12, 100},
	{hammSet{Name: "kddcup99", HoldOut: true, Records: 48_000, PoolRows: 2000}, 12, 200},
}

// mapsCandidates by name, the order of the page's columns.
var mapsCandidates = []struct {
	Name string
	dataset.Components
}{
	{"pca 30", dataset.Components{Project: 30, Analysis: dataset.PCA}},
	{"famd 30", dataset.Components{Project: 30, Analysis: dataset.FAMD}},
	{"famd 30, half whitened", dataset.Components{Project: 30, Analysis: dataset.FAMD, Whiten: .5}},
	{"famd 30, whitened", dataset.Components{Project: 30, Analysis: dataset.FAMD, Whiten: 1}},
	{"auto", dataset.Components{Project: dataset.AutoComponents, Analysis: dataset.FAMD}},
	{"all columns", dataset.Components{}},
}

const mapsDraws = 5

func mapsTasks(l *lab) (tasks []task, err error) {
	sets := mapsSets
	if l.Quick {
		sets = sets[:1]
	}
	for draw := range l.draws(mapsDraws) {
		for _, s := range sets {
			for _, unit := range []privacy.Unit{privacy.Record, privacy.Party} {
				for i := range mapsCandidates {
					tasks = append(tasks, task{
						Key: fmt.Sprintf("%s-%s-map%d-draw%d", s.Name, unit, i, draw),
						Run: func(ctx context.Context, out *results) error { return s.measure(ctx, l, unit, i, draw, out) },
					})
				}
			}
		}
	}
	return tasks, nil
}

// measure releases at each ε under one map.
func (s mapsSet) measure(ctx context.Context, l *lab, unit privacy.Unit, candidate, draw int,
	out *results) error {
	parties := s.Sites
	if unit == privacy.Party {
		parties = s.Devices
	}
	c := mapsCandidates[candidate]
	split, err := s.split(l, parties, draw, 0)
	if err != nil {
		return err
	}
	d, err := split.Deal(0)
	if err != nil {
		return err
	}
	d.KeepComputations = true
	for _, epsilon := range []float64{.1, 1, 10} {
		task, err := d.Task(study.Proposal{Name: "hamm", Unit: unit, Epsilon: epsilon,
			Delta:     atHammDelta(),
			KindTerms: classifyTerms(classify.Terms{Tilt: unit == privacy.Record}),
			Map:       c.Components})
		if err != nil {
			return err
		}
		run, err := d.Run(ctx, task, simulate.Options{SkipUnperturbed: true})
		if err != nil {
			return err
		}
		accuracy, err := d.Score(task, run.Release.Result)
		if err != nil {
			return err
		}
		out.add("set", s.Name, "unit", unit, "parties", len(d.Parties), "draw", draw, "map", c.Name,
			"features", task.Pool().Dim()-1, "whiten", task.Plan().Map.Whiten, "epsilon", epsilon,
			"accuracy", accuracy)
	}
	return nil
}

func mapsReport(_ *lab, r *results, p *page) error {
	p.paragraph("Accuracy on test records, mean ± standard deviation over the draws. Unit record: `cross`, noise at each site; unit party: `tally`, noise at the coordinator; δ = %g.", hammDelta)
	for _, unit := range []privacy.Unit{privacy.Record, privacy.Party} {
		p.section("Unit " + unit.String())
		header := []string{"data", "parties", "ε"}
		for _, c := range mapsCandidates {
			header = append(header, c.Name)
		}
		var rows [][]string
		for _, set := range r.distinct("set") {
			here := r.where("set", set, "unit", unit)
			for _, epsilon := range here.numbers("epsilon") {
				row := []string{set, here.distinct("parties")[0], fmt.Sprint(epsilon)}
				for _, c := range mapsCandidates {
					m := here.where("map", c.Name, "epsilon", epsilon).over("accuracy")
					row = append(row, fmt.Sprintf("%.3f ± %.3f", m.Mean, m.SD))
				}
				rows = append(rows, row)
			}
		}
		p.table(header, rows)
	}
	return nil
}
