package leastsquares

import (
	"fmt"
	"math"
	"strings"

	"caucus/aggregation/validation"
	"caucus/study"
)

// Report shows the coefficients as dots on an axis of the outcome, and in a table.
func (Results) Report(r study.Release) (study.Report, error) {
	t, err := TableOf(r)
	if err != nil {
		return study.Report{}, err
	}
	lines := []study.ReportLine{{Name: "records", Text: t.records()},
		{Name: "fit", Text: t.fit()},
		{Name: "read as", Text: t.meaning()}}
	return study.Report{Answer: t.answer(r.Parties), Lines: lines,
		Charts: []*study.ReportChart{t.chart()}, Tables: []study.ReportTable{t.table()}}, nil
}

// Name says what a coefficient compares.
func (c Coefficient) Name() string {
	switch {
	case c.Level != "":
		return fmt.Sprintf("%s: %s, not %s", c.Column, c.Level, c.To)
	case c.Log:
		return "log(1 + " + c.Column + ")"
	}
	return c.Column
}

// clear reports whether the interval leaves out 0.
func (c Coefficient) clear() bool { return c.Change.Known() && !c.Change.Covers(0) }

func (t Table) answer(parties int) string {
	var clear []string
	known := 0
	for _, c := range t.Coefficients {
		if c.Change.Known() {
			known++
		}
		if c.clear() {
			clear = append(clear, c.Name()+" "+words(c.Change, "%+.3g"))
		}
	}
	s := fmt.Sprintf("%s, %s at %d sites: %d of %d coefficients have an interval", t.Outcome,
		t.CountedWords(), parties, known, len(t.Coefficients))
	switch {
	case len(clear) > 0:
		s += "; these leave out 0, as 1 in 20 does by chance: " + strings.Join(clear, "; ")
	case known > 0:
		s += ", and each of these holds 0"
	}
	return s + " (95 % intervals)."
}

// words writes a number with its interval, each by a format.
func words(n validation.Number, format string) string {
	if !n.Known() {
		return "unknown: " + n.Unknown
	}
	return fmt.Sprintf(format+" ("+format+" to "+format+")", n.Value, n.Low, n.High)
}

// CountedWords says how many records count, ± what a 95 % interval has for noise.
func (t Table) CountedWords() string {
	if !(t.Counted > leastSignal*t.NoiseSD) {
		return "an unknown number of records"
	}
	return fmt.Sprintf("about %.0f ± %.0f records", t.Counted, z95*t.NoiseSD)
}

func (t Table) records() string {
	dropped := "without the outcome or one of the columns"
	if t.Where != "" {
		dropped += ", or for which " + t.Where + " does not hold"
	}
	s := fmt.Sprintf("%s count, with noise of standard deviation %.3g; left out are those %s",
		t.CountedWords(), t.NoiseSD, dropped)
	if t.Records > 0 {
		s = fmt.Sprintf("%d, as the sites declared; ", t.Records) + s
	}
	return s
}

func (t Table) fit() string {
	s := "R² " + words(t.R2, "%.3g") + "; standard deviation of what is left " +
		words(t.Residual, "%.3g")
	return s + fmt.Sprintf("; rows longer than %g standard deviations were shortened", t.Radius)
}

func (t Table) meaning() string {
	s := "the change of " + t.Outcome + " where a column is higher by 1, the others being equal"
	if t.Share {
		s = "the difference of the share with " + t.Outcome + " (a risk difference, no odds ratio) where a column is higher by 1, the others being equal"
	}
	return s + "; not a cause: columns that are not in the study may lie behind it"
}

func (t Table) chart() *study.ReportChart {
	c := &study.ReportChart{Title: "change of " + t.Outcome, Zero: true,
		Note: "of numbers, where the column is higher by the pool's standard deviation, which stands beside it; of texts, beside the pool's most frequent level. Bars are 95 % intervals for sampling and noise"}
	for _, of := range t.Coefficients {
		if !of.Change.Known() {
			continue
		}
		name := of.Name()
		if of.Level == "" {
			name += fmt.Sprintf(" (+%.3g)", of.Spread)
		}
		c.Bars = append(c.Bars, study.ReportBar{Name: name, Main: true,
			Value: of.Change.Value * of.Spread, Low: of.Change.Low * of.Spread,
			High: of.Change.High * of.Spread})
	}
	return c
}

func (t Table) table() study.ReportTable {
	out := study.ReportTable{Title: "coefficients",
		Head: []string{"column", "change of " + t.Outcome, "95 %", "of the variance by noise"}}
	row := func(name string, n validation.Number) {
		if !n.Known() {
			out.Rows = append(out.Rows, []string{name, "unknown", n.Unknown, ""})
			return
		}
		noise := n.NoiseSD / math.Max(n.SD, math.SmallestNonzeroFloat64)
		out.Rows = append(out.Rows, []string{name, fmt.Sprintf("%+.3g", n.Value),
			fmt.Sprintf("%+.3g to %+.3g", n.Low, n.High),
			fmt.Sprintf("%.0f %%", 100*noise*noise)})
	}
	for _, c := range t.Coefficients {
		row(c.Name(), c.Change)
	}
	row("all columns 0", t.Intercept)
	return out
}
