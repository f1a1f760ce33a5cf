package lifetable

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"caucus/aggregation/validation"
	"caucus/study"
	"caucus/study/survival"
)

// Report shows the curves with their bands, the risk table below, and the comparisons.
func (Results) Report(r study.Release) (study.Report, error) {
	t, err := TableOf(r)
	if err != nil {
		return study.Report{}, err
	}
	out := study.Report{Answer: t.answer(r.Parties), Figures: []study.ReportFigure{t.figure()},
		Lines:  []study.ReportLine{{Name: "records", Text: t.records()}},
		Tables: []study.ReportTable{t.summary()}}
	if len(t.Compared) > 0 {
		out.Tables = append(out.Tables, t.comparisons())
		out.Lines = append(out.Lines, study.ReportLine{Name: "compared", Text: "unadjusted: groups may differ in age, sex and all else; a hazard ratio is an average over the time that both curves reach; p values are of one comparison each"})
	}
	if len(t.others()) > 1 {
		out.Lines = append(out.Lines, study.ReportLine{Name: "others", Text: fmt.Sprintf("records with %s count as last seen then. If one of these takes people away for good, such as another death, the curve is not the share without the event but the share if that had not happened, and it overstates the risk", strings.Join(t.others(), ", "))})
	}
	for _, g := range t.Groups {
		if g.EndsReason != "" {
			text := t.named(g.Level) + " has no curve: " + g.EndsReason
			if n := len(g.Points); n > 0 {
				text = fmt.Sprintf("the curve of %s ends at %s: %s", t.named(g.Level),
					t.at(g.Points[n-1].Time), g.EndsReason)
			}
			out.Lines = append(out.Lines, study.ReportLine{Name: "end", Text: text})
		}
	}
	return out, nil
}

// others are the levels that count as last seen without the event.
func (t Table) others() []string { return slices.Concat(t.Causes, t.CensoredLevels) }

// named says which group a level is, such as "arm treated".
func (t Table) named(level string) string {
	return cmp.Or(strings.TrimSpace(t.By+" "+level), "all")
}

// MedianText writes a group's median and its interval, of which an end that the band does not fall
// to is "not reached". A median without a value has its reason there, alone if no low end is known.
func (t Table) MedianText(g Group) string {
	value, high := g.Median.Unknown, notReached
	if g.Median.Known() {
		value = fmt.Sprintf("%.*f", t.digits(), g.Median.Value)
	} else if g.MedianLow == 0 {
		return value
	}
	if g.Median.Bounded() {
		high = t.TimeText(g.Median.High)
	}
	return fmt.Sprintf("%s (%s to %s)", value, t.TimeText(g.MedianLow), high)
}

// Axis names the time with its unit.
func (t Table) Axis() string { return survival.Terms{Time: t.Time, TimeUnit: t.TimeUnit}.Axis() }

// digits are those after the point with which the shortest interval's length has 3 in all, or more
// before the point.
func (t Table) digits() int {
	shortest := t.Edges[0]
	for j := range t.Edges {
		shortest = min(shortest, t.Edges[j]-t.edge(j))
	}
	return max(0, 2-int(math.Floor(math.Log10(shortest))))
}

// TimeText writes a time with one digit more after the point than digits, and no zeros at the end:
// of 12 equal intervals up to 1825, 1825 or 152.1.
func (t Table) TimeText(v float64) string { return rounded(v, t.digits()+1) }

// rounded writes a number with at most so many digits after the point.
func rounded(v float64, digits int) string {
	scale := math.Pow10(digits)
	return strconv.FormatFloat(math.Round(v*scale)/scale, 'f', -1, 64)
}

// at writes a time with its unit.
func (t Table) at(v float64) string { return strings.TrimSpace(t.TimeText(v) + " " + t.TimeUnit) }

// answer is one sentence: survival at the last time that all curves reach and, of two groups, the
// hazard ratio.
func (t Table) answer(parties int) string {
	var with []Group
	var all []string
	about, reached := 0., len(t.Edges)
	for _, g := range t.Groups {
		about += math.Max(0, g.Records)
		if len(g.Points) > 0 {
			with, reached = append(with, g), min(reached, len(g.Points))
		} else {
			all = append(all, t.named(g.Level)+" has too few records for a curve")
		}
	}
	if len(with) > 0 {
		var shares []string
		for _, g := range with {
			shares = append(shares, percent(g.Points[reached-1].Survival)+" % of "+t.named(g.Level))
		}
		all = append([]string{fmt.Sprintf("%s are without the event before %s",
			strings.Join(shares, ", "), t.at(t.Edges[reached-1]))}, all...)
	}
	s := fmt.Sprintf("%s, about %.0f records at %d sites: %s", t.Event, about, parties,
		strings.Join(all, "; "))
	if len(t.Compared) == 1 && t.Compared[0].Ratio.Known() {
		c := t.Compared[0]
		s += fmt.Sprintf("; the hazard of %s is %s times that of %s, unadjusted", t.named(c.Of),
			c.Ratio.Words(2), t.named(c.Reference))
	}
	return s + " (95 % intervals)."
}

// records says how many records there are, and how many lie in no curve.
func (t Table) records() string {
	rest := "without a time, an event or a group that the study names"
	if t.Where != "" {
		rest += ", or for which " + t.Where + " does not hold"
	}
	s := fmt.Sprintf("about %.0f are in no curve: %s; noise with a standard deviation of %.3g on each count", math.Max(0, t.UncountedRecords), rest, t.NoiseSD)
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
	f := study.ReportFigure{Group: "Without the event", Title: "share without the event",
		X: t.Axis(), Y: "share without the event", To: end, Bands: true,
		Caption: "Event: " + t.Event + ". Shaded: 95 % intervals, for sampling and noise.",
		Table:   t.curves(), Below: t.risk()}
	if t.NoiseSD > 0 {
		f.Caption += " Numbers at risk have noise, too."
	}
	if len(t.Causes) > 0 {
		f.Caption += fmt.Sprintf(" Records with %s count as last seen then: this is the share that would be without the event if nothing else took people away, and overstates the risk.", strings.Join(t.Causes, " or "))
	}
	for _, j := range t.marked() {
		f.Marks = append(f.Marks, t.edge(j))
	}
	for _, g := range t.Groups {
		curve := study.ReportCurve{Name: t.named(g.Level),
			Points: []study.ReportPoint{{Y: 1, Low: 1, High: 1}}}
		for _, p := range g.Points {
			curve.Points = append(curve.Points, study.ReportPoint{X: p.Time / end,
				Y: p.Survival.Value, Low: p.Survival.Low, High: p.Survival.High})
		}
		f.Lines = append(f.Lines, curve)
	}
	return f
}

func (t Table) curves() study.ReportTable {
	out := study.ReportTable{Title: "share without the event, in percent, and number at risk",
		Head: []string{t.Axis()}}
	for _, g := range t.Groups {
		out.Head = append(out.Head, t.named(g.Level), "at risk")
	}
	for j := range len(t.Edges) + 1 {
		row := []string{t.TimeText(t.edge(j))}
		for _, g := range t.Groups {
			share := "100"
			if j > len(g.Points) {
				share = ""
			} else if j > 0 {
				share = percent(g.Points[j-1].Survival)
			}
			row = append(row, share, t.atRisk(g, j))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// atRisk is how many of a group are at risk at an edge, "" beyond the curve's end.
func (t Table) atRisk(g Group, edge int) string {
	switch {
	case edge < len(g.Points):
		return whole(g.Points[edge].AtRisk)
	case edge == len(g.Points) && edge == len(t.Edges):
		return whole(g.SeenBeyond)
	}
	return ""
}

// mostTimes is the most columns of the risk table.
const mostTimes = 7

// marked are the edges at which the risk table counts: of 0 for the beginning, and always the last.
func (t Table) marked() []int {
	var all []int
	step := (len(t.Edges) + mostTimes - 2) / (mostTimes - 1)
	for j := 0; j+step <= len(t.Edges); j += step {
		all = append(all, j)
	}
	return append(all, len(t.Edges))
}

// edge is the time of an edge, of 0 for the beginning.
func (t Table) edge(j int) float64 {
	if j == 0 {
		return 0
	}
	return t.Edges[j-1]
}

// risk is what stands below a curve: how many are at risk at some edges.
func (t Table) risk() study.ReportTable {
	out := study.ReportTable{Title: "at risk", Head: []string{""}}
	for _, j := range t.marked() {
		out.Head = append(out.Head, rounded(t.edge(j), t.digits()))
	}
	for _, g := range t.Groups {
		row := []string{t.named(g.Level)}
		for _, j := range t.marked() {
			row = append(row, t.atRisk(g, j))
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

// whole writes a noisy count.
func whole(n float64) string { return fmt.Sprintf("%.0f", math.Max(0, n)) }

func (t Table) summary() study.ReportTable {
	out := study.ReportTable{Title: "groups (median: half have had the event; mean: of the time without the event up to a time)",
		Head: []string{cmp.Or(t.By, "group"), "records", "events", "median " + t.Axis(),
			"mean " + t.Axis()}}
	for _, g := range t.Groups {
		mean := "unknown"
		if g.Mean.Known() {
			mean = fmt.Sprintf("%s up to %s", g.Mean.Words(t.digits()), t.TimeText(g.MeanTo))
		}
		out.Rows = append(out.Rows, []string{cmp.Or(g.Level, "all"), whole(g.Records),
			whole(g.Events), t.MedianText(g), mean})
	}
	return out
}

func (t Table) comparisons() study.ReportTable {
	out := study.ReportTable{Title: "beside " + t.named(t.Groups[0].Level) + ", unadjusted (the hazard ratio is an average over time)", Head: []string{t.By,
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
			off = percent(d) + " before " + t.at(c.At)
		}
		out.Rows = append(out.Rows, []string{c.Of, c.Ratio.Words(2), p, off})
	}
	return out
}
