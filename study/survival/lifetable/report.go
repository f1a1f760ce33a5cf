package lifetable

import (
	"fmt"
	"math"
	"strings"

	"caucus/aggregation/validation"
	"caucus/study"
)

// Report shows the curves with their bands, the risk table below, and the comparisons.
func (Results) Report(r study.Release) (study.Report, error) {
	t, err := TableOf(r)
	if err != nil {
		return study.Report{}, err
	}
	out := study.Report{Answer: t.answer(r.Parties), Figures: []study.ReportFigure{t.figure()},
		Lines:  []study.ReportLine{{Name: "records", Text: t.records()}},
		Tables: []study.ReportTable{t.risk(), t.summary()}}
	if len(t.Compared) > 0 {
		out.Tables = append(out.Tables, t.comparisons())
		out.Lines = append(out.Lines, study.ReportLine{Name: "compared", Text: "unadjusted: groups may differ in age, sex and all else; a hazard ratio is an average over the time that both curves reach; p values are of one comparison each"})
	}
	if others := append(append([]string{}, t.Causes...), t.Seen...); len(others) > 1 {
		out.Lines = append(out.Lines, study.ReportLine{Name: "others", Text: fmt.Sprintf("records with %s count as last seen then. If one of these takes people away for good, such as another death, the curve is not the share without the event but the share if that had not happened, and it overstates the risk", strings.Join(others, ", "))})
	}
	for _, g := range t.Groups {
		if g.Ends != "" {
			at := 0.
			if n := len(g.Points); n > 0 {
				at = g.Points[n-1].Time
			}
			out.Lines = append(out.Lines, study.ReportLine{Name: "end",
				Text: fmt.Sprintf("the curve of %s ends at %g: %s", g.name(), at, g.Ends)})
		}
	}
	return out, nil
}

func (g Group) name() string {
	if g.Level == "" {
		return "all"
	}
	return g.Level
}

// last returns the last point of a curve, the zero Point without one.
func (g Group) last() Point {
	if len(g.Points) == 0 {
		return Point{}
	}
	return g.Points[len(g.Points)-1]
}

// answer is one sentence: survival at the end of each curve and, of two groups, the hazard ratio.
func (t Table) answer(parties int) string {
	var all []string
	for _, g := range t.Groups {
		if p := g.last(); p.Time > 0 {
			all = append(all, fmt.Sprintf("of %s, %s %% are without the event at %g", g.name(),
				percent(p.Survival), p.Time))
		} else {
			all = append(all, fmt.Sprintf("%s has too few records for a curve", g.name()))
		}
	}
	about := 0.
	for _, g := range t.Groups {
		about += math.Max(0, g.Records)
	}
	s := fmt.Sprintf("%s by %s, about %.0f records at %d sites: %s", t.Event, t.Time, about,
		parties, strings.Join(all, "; "))
	if len(t.Compared) == 1 && t.Compared[0].Ratio.Known() {
		c := t.Compared[0]
		s += fmt.Sprintf("; the hazard of %s is %s times that of %s", c.Of, c.Ratio.Words(2), c.To)
	}
	return s + " (95 % intervals)."
}

// records says how many records there are, and how many lie in no curve.
func (t Table) records() string {
	rest := "without a time, an event or a group that the study names"
	if t.Where != "" {
		rest += ", or for which " + t.Where + " does not hold"
	}
	s := fmt.Sprintf("about %.0f are in no curve: %s; noise with a standard deviation of %.3g on each count", math.Max(0, t.Rest), rest, t.NoiseSD)
	if t.Records > 0 {
		s = fmt.Sprintf("%d, as the sites declared; ", t.Records) + s
	}
	return s
}

// percent writes a share and its interval.
func percent(n validation.Number) string {
	return fmt.Sprintf("%.1f (%.1f to %.1f)", 100*n.Value, 100*n.Low, 100*n.High)
}

func (t Table) figure() study.ReportFigure {
	end := t.Edges[len(t.Edges)-1]
	f := study.ReportFigure{Title: "share without the event", X: t.Time,
		Y: "share without the event", To: end, Bands: true,
		Caption: "bands are 95 % intervals for sampling and noise"}
	for _, g := range t.Groups {
		curve := study.ReportCurve{Name: g.name(),
			Points: []study.ReportPoint{{Y: 1, Low: 1, High: 1}}}
		for _, p := range g.Points {
			curve.Points = append(curve.Points, study.ReportPoint{X: p.Time / end,
				Y: p.Survival.Value, Low: p.Survival.Low, High: p.Survival.High})
		}
		f.Lines = append(f.Lines, curve)
	}
	f.Table = t.curves()
	return f
}

func (t Table) curves() study.ReportTable {
	out := study.ReportTable{Title: "share without the event, in percent", Head: []string{t.Time}}
	for _, g := range t.Groups {
		out.Head = append(out.Head, g.name())
	}
	for j, edge := range t.Edges {
		row := []string{fmt.Sprintf("%g", edge)}
		for _, g := range t.Groups {
			text := ""
			if j < len(g.Points) {
				text = percent(g.Points[j].Survival)
			}
			row = append(row, text)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// mostTimes is the most columns of the risk table.
const mostTimes = 7

// risk is the table below a curve: how many are at risk at the beginning of some intervals.
func (t Table) risk() study.ReportTable {
	out := study.ReportTable{Title: "at risk at " + t.Time, Head: []string{"group"}}
	step := (len(t.Edges) + mostTimes - 1) / mostTimes
	for j := 0; j < len(t.Edges); j += step {
		begin := 0.
		if j > 0 {
			begin = t.Edges[j-1]
		}
		out.Head = append(out.Head, fmt.Sprintf("%g", begin))
	}
	for _, g := range t.Groups {
		row := []string{g.name()}
		for j := 0; j < len(t.Edges); j += step {
			text := ""
			if j < len(g.Points) {
				text = fmt.Sprintf("%.0f", math.Max(0, g.Points[j].AtRisk))
			}
			row = append(row, text)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func (t Table) summary() study.ReportTable {
	out := study.ReportTable{Title: "groups", Head: []string{"group", "records", "events",
		"median " + t.Time, "mean " + t.Time}}
	for _, g := range t.Groups {
		median, mean := g.Median.Unknown, "unknown"
		if g.Median.Known() {
			median = g.Median.Words(1)
		}
		if g.Mean.Known() {
			mean = fmt.Sprintf("%s up to %g", g.Mean.Words(1), g.MeanTo)
		}
		out.Rows = append(out.Rows, []string{g.name(), fmt.Sprintf("%.0f", math.Max(0, g.Records)),
			fmt.Sprintf("%.0f", math.Max(0, g.Events)), median, mean})
	}
	return out
}

func (t Table) comparisons() study.ReportTable {
	out := study.ReportTable{Title: "groups beside " + t.Groups[0].name(), Head: []string{"group",
		"hazard ratio", "log-rank p", "difference of shares, in points"}}
	for _, c := range t.Compared {
		p, off := "", "unknown"
		if c.P != nil {
			p = fmt.Sprintf("%.3f", *c.P)
			if *c.P < 0.001 {
				p = "< .001"
			}
		}
		if d := c.Difference; d.Known() {
			off = fmt.Sprintf("%.1f (%.1f to %.1f) at %g", 100*d.Value, 100*d.Low, 100*d.High, c.At)
		}
		out.Rows = append(out.Rows, []string{c.Of, c.Ratio.Words(2), p, off})
	}
	return out
}
