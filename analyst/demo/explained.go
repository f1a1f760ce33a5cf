package demo

import (
	"math"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
	"caucus/study/kinds"
	"caucus/study/kinds/results"
	"caucus/study/regress"
	"caucus/study/regress/leastsquares"
)

// judgeChanges compares the released coefficients with least squares of all records, without noise
// and with no row shortened, each for a difference of Spread. The baseline, and what counts for an
// unknown one, is that no column matters; one clinic alone has least squares of its own records.
func judgeChanges(r study.Release, pool *auxdata.Pool, data dealt) (Measure, error) {
	p, err := results.CheckedPlan(r)
	if err != nil {
		return Measure{}, err
	}
	task, err := kinds.NewTask(p, pool)
	if err != nil {
		return Measure{}, err
	}
	design := task.(regress.Task).Moments.Design
	released, err := leastsquares.TableOf(r)
	if err != nil {
		return Measure{}, err
	}
	rowsOf := func(table *dataset.Table) ([][]float64, error) {
		records, _, err := p.Encode(kinds.RecordSchema(p), table)
		if err != nil {
			return nil, err
		}
		rows := make([][]float64, records.Len())
		for i, y := range records.Y {
			u := make([]float64, design.Dim()-1)
			if design.Standard(u, records.X.RawRowView(i), y) {
				rows[i] = u
			}
		}
		return rows, nil
	}
	var all [][]float64
	var sites []leastsquares.Table
	for _, table := range data.clinics {
		rows, err := rowsOf(table)
		if err != nil {
			return Measure{}, err
		}
		all = append(all, rows...)
		sites = append(sites, leastsquares.Exact(p, design, pool, rows))
	}
	truth := leastsquares.Exact(p, design, pool, all)
	rms := func(off func(j int) float64) float64 {
		sum := 0.
		for j, c := range truth.Coefficients {
			sum += math.Pow(c.Spread*off(j), 2)
		}
		return math.Sqrt(sum / float64(len(truth.Coefficients)))
	}
	beside := func(t leastsquares.Table) float64 {
		return rms(func(j int) float64 {
			return t.Coefficients[j].Change.Value - truth.Coefficients[j].Change.Value
		})
	}
	alone := 0.
	for _, t := range sites {
		alone += beside(t) / float64(len(sites))
	}
	return Measure{
		Name: "error of a difference (rms)", Better: "low", Released: beside(released),
		Alone: &alone,
		Margin: rms(func(j int) float64 {
			return (truth.Coefficients[j].Change.High - truth.Coefficients[j].Change.Low) / 2
		}), MarginText: "about: half a 95 % interval of all records without noise",
		Baseline:     rms(func(j int) float64 { return truth.Coefficients[j].Change.Value }),
		BaselineName: "no difference",
	}, nil
}
