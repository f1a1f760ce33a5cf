package main

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"caucus/dataset"
	"caucus/study"
	"caucus/study/describe"
	"caucus/study/kinds"
)

// What one site could say from its own records alone, without a study: the mean over
// sites of how far it is off. Sites whose answers are not asked for learn nothing.

// aloneShare is for the share of records that a condition holds of.
func aloneShare(data demoData) (float64, error) {
	condition, err := dataset.ParseCondition(data.outcome)
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, table := range data.parties {
		holds, err := condition.Rows(table)
		if err != nil {
			return 0, err
		}
		own := 0.0
		for _, h := range holds {
			if h {
				own += 1 / float64(len(holds))
			}
		}
		sum += math.Abs(own-data.truth) / float64(len(data.parties))
	}
	return sum, nil
}

// aloneCounts is for the shares of the features' cells, root mean square.
func aloneCounts(r study.Release, data demoData) (float64, error) {
	p, err := kinds.Usable(r)
	if err != nil {
		return 0, err
	}
	var all []describe.Table
	var truth [][]float64
	records := 0.0
	for _, table := range data.parties {
		of, _, err := p.Schema.Encode(table)
		if err != nil {
			return 0, err
		}
		own := describe.Exact(p, of)
		records += float64(of.Len())
		for i, c := range own.Columns[:len(own.Columns)-1] { // as for the release, without the label
			if len(truth) <= i {
				truth = append(truth, make([]float64, len(c.Groups[0].Noisy)))
			}
			for k, n := range c.Groups[0].Noisy {
				truth[i][k] += n
			}
		}
		all = append(all, own)
	}
	sum, cells := 0.0, 0.0
	for _, own := range all {
		for i, column := range truth {
			for k, n := range column {
				off := own.Columns[i].Groups[0].Noisy[k]/float64(own.Records) - n/records
				sum, cells = sum+off*off, cells+1
			}
		}
	}
	return math.Sqrt(sum / cells), nil
}

// alone fills in what one party alone reaches, for studies that were run: a classifier
// of its own records, as the simulations train it, or its own numbers. Estimates of
// class shares have a site's own shares for a baseline already.
func (d *demo) alone(data demoData, r *demoReport, releases []study.Release) error {
	for i := range r.Studies {
		m := &r.Studies[i].Measure
		var alone float64
		var err error
		switch {
		case m.Name == "accuracy" && len(r.Curves) > 0:
			alone = r.Curves[0].Alone
		case r.Studies[i].Kind == "reweigh":
			alone, err = aloneShare(data)
		case r.Studies[i].Kind == "describe":
			alone, err = aloneCounts(releases[i], data)
		default:
			continue
		}
		if err != nil {
			return err
		}
		m.Alone = &alone
	}
	return nil
}

// without is the better of what there is without a study.
func (m demoMeasure) without() float64 {
	switch {
	case m.Alone == nil:
		return m.Baseline
	case m.Better == "high":
		return max(m.Baseline, *m.Alone)
	}
	return min(m.Baseline, *m.Alone)
}

// gain is how much better a release is than the better of what there is without it, as a
// share of that: what works best leads the page.
func (m demoMeasure) gain() float64 {
	without := m.without()
	if m.Better == "high" {
		return (m.Released - without) / max(1-without, 1e-9)
	}
	return (without - m.Released) / max(without, 1e-9)
}

// comparison says how a release does against what there is without it: a difference within
// the error of so many records is none.
func (m demoMeasure) comparison() comparison {
	ahead := m.Released - m.without()
	if m.Better == "low" {
		ahead = -ahead
	}
	switch {
	case ahead > m.Sure:
		return better
	case ahead < -m.Sure:
		return worse
	}
	return level
}

// comparison is how a release does, best first.
type comparison int

const (
	better comparison = iota
	level
	worse
)

// chart compares a study's release with what there is without it.
func (m demoMeasure) chart() *study.ReportChart {
	released := study.Bar("released", m.Released, m.Sure)
	released.Main = true
	c := &study.ReportChart{Title: m.Name + ", " + map[string]string{"high": "more", "low": "less"}[m.Better] + " is better", Note: "± is " + m.SureIs, Percent: true, Bars: []study.ReportBar{released}}
	if m.Alone != nil {
		c.Bars = append(c.Bars, study.Bar("one party alone", *m.Alone, 0))
	}
	c.Bars = append(c.Bars, study.Bar("without a study: "+m.BaselineName, m.Baseline, 0), study.Bar("with next to no noise", m.Unperturbed, 0))
	return c
}

// ordered has the best studies first: what is better before what is level and that before
// what is worse, each by its gain.
func (r demoReport) ordered() []demoStudy {
	all := slices.Clone(r.Studies)
	slices.SortStableFunc(all, func(a, b demoStudy) int {
		return cmp.Or(cmp.Compare(a.Measure.comparison(), b.Measure.comparison()), cmp.Compare(b.Measure.gain(), a.Measure.gain()))
	})
	return all
}

func (m demoMeasure) aloneText() string {
	if m.Alone == nil {
		return ""
	}
	return strconv.FormatFloat(*m.Alone, 'f', 3, 64)
}
