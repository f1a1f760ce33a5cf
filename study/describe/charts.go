package describe

import (
	"cmp"
	"fmt"
	"slices"

	"caucus/study"
)

// mostShown bounds the levels in a chart and the groups with charts; the tables show all.
const mostShown = 8

const ofPopulation = "95 % intervals, of noise and of sampling"

// charts draws a table one: the groups, then each column, then missing values. It omits estimates that
// are unknown or bounded on one side only.
func (t Table) charts() []*study.ReportChart {
	var out []*study.ReportChart
	add := func(c study.ReportChart) {
		if len(c.Bars) > 0 {
			out = append(out, &c)
		}
	}
	if t.By != "" {
		of := study.ReportChart{Title: t.By + ", share of the records", Note: ofPopulation, Percent: true}
		for _, g := range t.Groups {
			of.Bars = appendBar(of.Bars, g.Level, g.Share)
		}
		add(of)
	}
	if len(t.groups()) > mostShown {
		return out
	}
	missed := study.ReportChart{Title: missing + ", share of the records", Note: ofPopulation, Percent: true}
	for _, c := range t.Columns {
		if c.Edges == nil {
			add(t.levels(c))
			continue
		}
		add(t.number(c))
		if last := len(c.Edges) - 1; len(c.Cells()) > last {
			for g, s := range c.Groups {
				missed.Bars = appendBar(missed.Bars, t.barOf(c.Column, g), s.Shares[last])
			}
		}
	}
	add(missed)
	return out
}

func (t Table) levels(c Column) study.ReportChart {
	out := study.ReportChart{Title: c.Column + ", share of the records", Note: ofPopulation, Percent: true}
	if t.By != "" {
		out.Title += " of each " + t.By
	}
	shown := make([]int, len(c.Levels))
	count := make([]float64, len(c.Levels))
	for k := range shown {
		shown[k] = k
		for _, s := range c.Groups {
			count[k] += s.Counts[k]
		}
	}
	if len(shown) > mostShown {
		slices.SortStableFunc(shown, func(a, b int) int { return cmp.Compare(count[b], count[a]) })
		shown = shown[:mostShown]
		out.Note = fmt.Sprintf("the %d largest of %d; %s", mostShown, len(c.Levels), ofPopulation)
	}
	for _, k := range shown {
		for g, s := range c.Groups {
			out.Bars = appendBar(out.Bars, t.barOf(c.Levels[k], g), s.Shares[k])
		}
	}
	return out
}

func (t Table) number(c Column) study.ReportChart {
	out := study.ReportChart{Title: c.Column + ", mean and quartiles", Note: ofPopulation}
	mean := map[bool]string{false: "mean", true: "geometric mean"}[c.Log]
	for g, s := range c.Groups {
		out.Bars = appendBar(out.Bars, t.barOf(mean, g), s.Mean)
	}
	for i, name := range quartileNames {
		for g, s := range c.Groups {
			if i < len(s.Quantiles) && c.open(s.Quantiles[i].Estimate) == "" {
				out.Bars = appendBar(out.Bars, t.barOf(name, g), &s.Quantiles[i].Estimate)
			}
		}
	}
	return out
}

func (t Table) barOf(name string, g int) string {
	if t.By == "" {
		return name
	}
	return name + ", " + t.Groups[g].Level
}

// appendBar adds a known estimate.
func appendBar(bars []study.ReportBar, name string, e *Estimate) []study.ReportBar {
	if e == nil {
		return bars
	}
	return append(bars, study.ReportBar{Name: name, Value: e.possible(), Low: e.Low, High: e.High})
}
