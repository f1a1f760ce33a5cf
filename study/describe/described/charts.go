package described

import (
	"cmp"
	"fmt"
	"slices"

	"caucus/study"
	"caucus/study/describe"
)

// mostShown bounds the levels in a chart and the groups that have charts. Tables show all of them.
const mostShown = 8

// charts draws the groups, then each column, then missing values. It omits estimates without two
// bounds.
func (t Table) charts() (out []*study.ReportChart) {
	known := map[string][]NamedEstimate{} // known estimates by column
	for _, e := range t.Estimates() {
		if e.Estimate != nil && (e.Measure != QuantileMeasure || e.Of.open(*e.Estimate) == "") {
			known[e.Column] = append(known[e.Column], e)
		}
	}
	bars := func(column, what, name string) (out []study.ReportBar) {
		for _, e := range known[column] {
			if e.What == what {
				full := name
				if e.Group != "" && t.By != "" {
					full += ", " + e.Group
				}
				out = append(out,
					study.ReportBar{Name: full, Value: e.NearestPossible(), Low: e.Low,
						High: e.High})
			}
		}
		return out
	}
	add := func(title, some string, percent bool, bars []study.ReportBar) {
		if len(bars) > 0 {
			out = append(out, &study.ReportChart{Title: title,
				Note: some + "95 % intervals, of noise and of sampling", Percent: percent,
				Bars: bars})
		}
	}
	ofEach := ", share of the records"
	if t.By != "" {
		var all []study.ReportBar
		for _, g := range t.Groups {
			all = append(all, bars(t.By, g.Level, g.Level)...)
		}
		add(t.By+ofEach, "", true, all)
		ofEach += " of each " + t.By
	}
	if len(t.groups()) > mostShown {
		return out
	}
	var missed []study.ReportBar
	for _, c := range t.Columns {
		var all []study.ReportBar
		if c.Edges != nil {
			for _, name := range append([]string{"mean", geometricMean}, quartileNames...) {
				all = append(all, bars(c.Column, name, name)...)
			}
			add(c.Column+", mean and quartiles", "", false, all)
			missed = append(missed, bars(c.Column, describe.Missing, c.Column)...)
			continue
		}
		levels, some := slices.Clone(c.Levels), ""
		if len(levels) > mostShown {
			count := map[string]float64{}
			for k, level := range levels {
				for _, s := range c.Groups {
					count[level] += s.Counts[k]
				}
			}
			slices.SortStableFunc(levels, func(a, b string) int {
				return cmp.Compare(count[b], count[a])
			})
			levels, some = levels[:mostShown], fmt.Sprintf("the %d largest of %d; ", mostShown,
				len(levels))
		}
		for _, level := range levels {
			all = append(all, bars(c.Column, level, level)...)
		}
		add(c.Column+ofEach, some, true, all)
	}
	add(describe.Missing+", share of the records", "", true, missed)
	return out
}
