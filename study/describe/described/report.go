package described

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"caucus/study"
	"caucus/study/describe"
)

const unknown = "unknown"

// geometricMean names exp(mean of log(1+x)) − 1, which zeros do not make zero.
const geometricMean = "geometric mean of 1 + x, less 1"

// Report shows the table and then its intervals.
func (Results) Report(r study.Release) (study.Report, error) {
	t, err := TableOf(r)
	if err != nil {
		return study.Report{}, err
	}
	out := study.Report{Answer: t.answer(r.Parties), Lines: []study.ReportLine{{Name: "records", Text: fmt.Sprintf("%d, as the sites declared; noise with a standard deviation of %.3g on each count", t.Records, t.NoiseSD)}}}
	if t.MeetingCondition != nil {
		out.Lines = append(out.Lines, study.ReportLine{Name: "matching", Text: t.matching()})
	}
	if len(t.Sites) > 0 {
		out.Tables = append(out.Tables, t.eachParty())
	}
	if len(t.Columns)+len(t.Groups) > 0 {
		out.Charts = t.charts()
		out.Tables = slices.Insert(out.Tables, 0, t.one("the records"), t.intervals())
		for _, s := range t.Sites {
			out.Tables = append(out.Tables, s.one(fmt.Sprintf("the records of %s", s.Party)))
		}
	}
	return out, nil
}

func (t Table) answer(parties int) string {
	s := fmt.Sprintf("%d records at %d sites", t.Records, parties)
	if len(t.Columns)+len(t.Groups) == 0 && t.MeetingCondition != nil {
		return s + "; " + t.matching() + " match."
	}
	s += fmt.Sprintf(", %d columns", len(t.Columns))
	if t.By != "" {
		s += " by " + t.By
	}
	if found := t.finding(); found != "" {
		s += "; with 95 % intervals: " + found
	}
	return s + "."
}

func (t Table) matching() string {
	text := fmt.Sprintf("%.0f", math.Max(0, t.MeetingCondition.Noisy))
	if e := t.MeetingCondition.Share; e != nil {
		n := float64(t.Records)
		text += fmt.Sprintf(" (95 %% %.0f to %.0f), %s %% of the records (%s to %s)", e.NoiseLow*n, e.NoiseHigh*n, percent(e.Value), percent(e.Low), percent(e.High))
	}
	return text
}

func (t Table) eachParty() study.ReportTable {
	out := study.ReportTable{Title: fmt.Sprintf("each site, with noise of standard deviation %.3g on each of its counts", t.Sites[0].NoiseSD), Head: []string{"site", "records"}}
	if t.MeetingCondition != nil {
		out.Head = append(out.Head, "matching")
	}
	for _, s := range t.Sites {
		row := []string{string(s.Party), strconv.FormatInt(s.Records, 10)}
		if t.MeetingCondition != nil {
			row = append(row, s.matching())
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

func (t Table) groups() []string {
	if t.By == "" {
		return []string{"all"}
	}
	var names []string
	for _, g := range t.Groups {
		names = append(names, g.Level)
	}
	return names
}

func (t Table) one(title string) study.ReportTable {
	about := ""
	if t.By != "" {
		about = ", by " + t.By
	}
	out := study.ReportTable{Title: title + about + ", to read, not to publish: counts are adjusted so that they add up, and have no intervals", Head: []string{""}}
	var shown []int
	for g, name := range t.groups() {
		if t.known(g) {
			shown = append(shown, g)
			out.Head = append(out.Head, name)
		} else {
			out.Title += "; not shown, too few records: " + name
		}
	}
	row := func(name string, cell func(g int) string) {
		cells := []string{name}
		for _, g := range shown {
			cells = append(cells, cell(g))
		}
		out.Rows = append(out.Rows, cells)
	}
	if t.By != "" {
		row("n (%)", func(g int) string {
			return countAnd(t.Groups[g].NearestPossible, t.together(), t.Groups[g].Share)
		})
	}
	for _, c := range t.Columns {
		if c.Edges == nil {
			row(c.Column+", n (%)", func(int) string { return "" })
			for k, level := range c.Levels {
				row("  "+level, func(g int) string { return c.Groups[g].cell(k) })
			}
			continue
		}
		name := c.Column + ", mean ± sd"
		if c.Log {
			name = c.Column + ", " + geometricMean + " (one sd below to above)"
		}
		row(name, func(g int) string { return beside(c.Log, c.Groups[g].Mean, c.Groups[g].SD) })
		row("  median [quartiles]", func(g int) string { return median(c, c.Groups[g].Quantiles) })
		bins := len(c.Edges) - 1
		for k := 0; c.EdgesGiven && k < bins; k++ {
			row(fmt.Sprintf("  %s to %s, n (%%)", describe.NumberText(c.Edges[k]),
				describe.NumberText(c.Edges[k+1])), func(g int) string {
				return c.Groups[g].cell(k)
			})
		}
		if len(c.Cells()) > bins {
			row("  missing, n (%)", func(g int) string { return c.Groups[g].cell(bins) })
		}
	}
	return out
}

func (t Table) known(g int) bool {
	known := t.By == ""
	for _, c := range t.Columns {
		s := c.Groups[g]
		known = known || s.Mean != nil || slices.ContainsFunc(s.Shares, func(e *Estimate) bool {
			return e != nil
		})
	}
	return known
}

func (s Summary) cell(k int) string { return countAnd(s.Counts[k], sumOf(s.Counts), s.Shares[k]) }

func countAnd(n, of float64, share *Estimate) string {
	if share == nil || !(of > 0) {
		return fmt.Sprintf("%.0f (%s)", n, unknown)
	}
	return fmt.Sprintf("%.0f (%s)", n, percent(n/of))
}

func (t Table) together() (n float64) {
	for _, g := range t.Groups {
		n += g.NearestPossible
	}
	return n
}

func sumOf(counts []float64) (sum float64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// beside shows a mean with its standard deviation, or (log) with the numbers one standard deviation
// below and above.
func beside(log bool, mean, sd *Estimate) string {
	if mean == nil {
		return unknown
	} else if sd == nil || !log {
		return describe.NumberText(mean.NearestPossible()) + " ± " + NamedEstimate{}.Show(sd)
	}
	m, factor := mean.NearestPossible(), sd.NearestPossible()
	return fmt.Sprintf("%s (%s to %s)", describe.NumberText(m),
		describe.NumberText(max(0, (1+m)/factor-1)), describe.NumberText((1+m)*factor-1))
}

func median(c Column, q []Quantile) string {
	if len(q) != len(quartiles) {
		return unknown
	}
	return fmt.Sprintf("%s [%s to %s]", c.quantile(q[1].Estimate), c.quantile(q[0].Estimate),
		c.quantile(q[2].Estimate))
}

// quantile formats a quantile. If its interval reaches an end of the range, the text is only a
// bound.
func (c Column) quantile(q Estimate) string {
	return cmp.Or(c.open(q),
		describe.NumberText(q.Value))
}

// open formats a quantile's interval that reaches an end of the range; "" for other intervals.
func (c Column) open(q Estimate) string {
	first, last := c.Edges[0], c.Edges[len(c.Edges)-1]
	switch {
	case q.Low == q.High:
	case q.Low <= first && q.High >= last:
		return unknown
	case q.Low <= first:
		return "below " + describe.NumberText(q.High)
	case q.High >= last:
		return "above " + describe.NumberText(q.Low)
	}
	return ""
}

func percent(share float64) string {
	return strconv.FormatFloat(math.Round(1000*math.Max(0, share))/10, 'f', 1, 64)
}

// NamedEstimate is one number of a table with the words that name it: a column, what of the column
// (a level, "mean", …), and its group.
type NamedEstimate struct {
	Column, What, Group string
	*Estimate           // nil: unknown
	Measure             Measure
	Of                  Column // the column, without edges if Measure is Share
}

// Measure says what kind of number an estimate is, and so its unit.
type Measure string

// A share is in [0,1]; mean, sd and quantile are in the column's own unit.
const (
	Share           Measure = "share"
	Mean            Measure = "mean"
	SD              Measure = "sd"
	QuantileMeasure Measure = "quantile"
)

// Estimates lists a table's shares of levels and missing values, and the moments and quartiles of
// its numbers.
func (t Table) Estimates() []NamedEstimate {
	var out []NamedEstimate
	if t.MeetingCondition != nil {
		out = append(out, NamedEstimate{"", "matching", "", t.MeetingCondition.Share, Share,
			Column{}})
	}
	names := t.groups()
	for _, g := range t.Groups {
		out = append(out, NamedEstimate{t.By, g.Level, "", g.Share, Share, Column{}})
	}
	for _, c := range t.Columns {
		for g, s := range c.Groups {
			of := Column{}
			add := func(what string, e *Estimate, measure Measure) {
				out = append(out, NamedEstimate{c.Column, what, names[g], e, measure, of})
			}
			for k, cell := range c.Cells() {
				if c.Edges == nil || k == len(c.Edges)-1 {
					add(cell, s.Shares[k], Share)
				}
			}
			if c.Edges == nil {
				continue
			}
			of = c
			mean, sd := "mean", "sd"
			if c.Log {
				mean, sd = geometricMean, "sd, a factor of 1 + x"
			}
			add(mean, s.Mean, Mean)
			add(sd, s.SD, SD)
			for i, name := range quartileNames {
				var e *Estimate
				if i < len(s.Quantiles) {
					e = &s.Quantiles[i].Estimate
				}
				add(name, e, QuantileMeasure)
			}
		}
	}
	return out
}

func (t Table) intervals() study.ReportTable {
	out := study.ReportTable{
		Title: "to publish: estimates with 95 % intervals, from the counts as released, which are not adjusted, so that shares need not add up to 100 %; an estimate outside the possible range is shown as the nearer end of its interval, and an unknown estimate is left out",
		Head:  []string{"column", "", "group", "estimate", SampleInterval, NoiseInterval},
	}
	for _, e := range t.Estimates() {
		if e.Estimate != nil {
			sample, noise := e.Interval()
			out.Rows = append(out.Rows,
				[]string{e.Column, e.What, e.Group, e.Show(e.Estimate), sample, noise})
		}
	}
	return out
}

// Headings for the two intervals of NamedEstimate.Interval.
const (
	SampleInterval = "if these records are a sample"
	NoiseInterval  = "privacy noise alone"
)

// Show formats an estimate e of n's measure; if noise made its value impossible, the nearest end of
// its interval.
func (n NamedEstimate) Show(e *Estimate) string {
	if e == nil {
		return unknown
	}
	if n.Measure == QuantileMeasure {
		return n.Of.quantile(*e)
	}
	return n.show(e.NearestPossible())
}

// Interval formats both intervals of a known estimate.
func (n NamedEstimate) Interval() (population, records string) {
	return n.between(n.Low, n.High), n.between(n.NoiseLow, n.NoiseHigh)
}

func (n NamedEstimate) between(low, high float64) string {
	if n.Measure == Share && low == 0 {
		return "at most " + n.show(high)
	} else if n.Measure == QuantileMeasure && low == high { // a value with a bin of its own
		return "exactly " + n.show(low)
	}
	return n.show(low) + " to " + n.show(high)
}

func (n NamedEstimate) show(v float64) string {
	if n.Measure == Share {
		return strconv.FormatFloat(100*v, 'f', 2, 64) + " %"
	}
	return describe.NumberText(v)
}
