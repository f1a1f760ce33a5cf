package leastsquares

import (
	"fmt"
	"math"
	"slices"
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
		{Name: "read as", Text: t.Meaning()}}
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

// Step says what a change times Spread compares.
func (c Coefficient) Step() string {
	switch {
	case c.Level != "":
		return c.Name()
	case c.Log:
		return fmt.Sprintf("1 + %s, times %.3g", c.Column, math.Exp(c.Spread))
	}
	return fmt.Sprintf("%s, %.3g more", c.Column, c.Spread)
}

// Changed says what coefficients are changes of.
func (t Table) Changed() string {
	if t.Share {
		return "change of the share with " + t.Outcome
	}
	return "change of " + t.Outcome
}

func (t Table) answer(parties int) string {
	var clear []string
	known := 0
	for _, c := range t.Coefficients {
		if !c.Change.Known() {
			continue
		}
		if known++; !c.Change.Covers(0) {
			if t.FactorOf != "" {
				clear = append(clear, c.Step()+": × "+factor(c.Factor()))
			} else {
				clear = append(clear, c.Name()+" "+words(c.Change, "%+.3g"))
			}
		}
	}
	s := fmt.Sprintf("%s, %s at %d sites: ", t.Outcome, t.CountedWords(), parties)
	if why := t.common(); why != "" {
		return s + "no coefficient is known: " + why + "."
	}
	s += fmt.Sprintf("%d of %d coefficients have an interval", known, len(t.Coefficients))
	these := "these leave out 0"
	if t.FactorOf != "" {
		these = "as factors of " + t.FactorOf + " these leave out 1"
	}
	switch {
	case len(clear) > 0:
		s += "; " + these + ", as 1 in 20 does where a column says nothing: " +
			strings.Join(clear, "; ")
	case known > 0:
		s += ", and each of these holds 0"
	}
	return s + " (95 % intervals)."
}

// common returns the reason why no coefficient is known, "" where one is, or reasons differ.
func (t Table) common() string {
	why := t.Coefficients[0].Change.Unknown
	if slices.ContainsFunc(t.Coefficients, func(c Coefficient) bool {
		return c.Change.Unknown != why
	}) {
		return ""
	}
	return why
}

// Factor returns what the outcome that Table.FactorOf names is multiplied by for a Step, with the
// ends of its interval, and no standard deviation. In the column's unit a factor may be larger than
// any number of a computer, as of an amount that is always below a thousandth.
func (c Coefficient) Factor() validation.Number {
	n := c.Change
	if !n.Known() {
		return n
	}
	return validation.Number{Value: math.Exp(n.Value * c.Spread), Low: math.Exp(n.Low * c.Spread),
		High: math.Exp(n.High * c.Spread)}
}

// factor writes a factor with its interval, with as many digits as the interval needs.
func factor(n validation.Number) string {
	digits := min(max(1-int(math.Floor(math.Log10(math.Max(n.High-n.Low, 1e-6)))), 0), 6)
	return fmt.Sprintf("%.*f (%.*f to %.*f)", digits, n.Value, digits, n.Low, digits, n.High)
}

// words writes a number with its interval, each by a format.
func words(n validation.Number, format string) string {
	if !n.Known() {
		return "unknown: " + n.Unknown
	}
	return fmt.Sprintf(format+" ("+format+" to "+format+")", n.Value, n.Low, n.High)
}

// CountedNumber is the number of records that count, with an interval for noise.
func (t Table) CountedNumber() validation.Number {
	if !(t.Counted > leastSignal*t.NoiseSD) {
		return validation.Number{Unknown: "noise hides how many records count"}
	}
	return around(t.Counted, t.NoiseSD*t.NoiseSD, 0)
}

// CountedWords says how many records count, ± what a 95 % interval has for noise.
func (t Table) CountedWords() string {
	n := t.CountedNumber()
	if !n.Known() {
		return "an unknown number of records"
	}
	return fmt.Sprintf("about %.0f ± %.0f records", n.Value, n.High-n.Value)
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
	s := "R² " + words(t.R2, "%.3g")
	switch why := t.common(); {
	case why != "" && t.R2.Unknown == why:
		s = "unknown, as the coefficients are"
	case !t.R2.Known() && t.R2.Unknown == t.Residual.Unknown:
		s = "R² and the standard deviation of what is left are unknown: " + t.R2.Unknown
	case t.Share && t.R2.Known():
		s += ", which is mostly small for an outcome of 0 and 1, also where columns say much"
	default:
		s += "; standard deviation of what is left " + words(t.Residual, "%.3g")
	}
	return s + fmt.Sprintf("; rows longer than %g standard deviations were shortened", t.Radius)
}

// Meaning says how to read a coefficient, and what it is not.
func (t Table) Meaning() string {
	s := "the change of " + t.Outcome
	if t.Share {
		s = "the difference of the share with " + t.Outcome + " (a risk difference, no odds ratio)"
	}
	s += " where a column is higher by 1, the others being equal"
	if t.FactorOf != "" {
		s += "; a factor is what " + t.FactorOf + " is multiplied by for the step beside it"
	}
	if t.FactorOf != "" || slices.ContainsFunc(t.Coefficients, func(c Coefficient) bool {
		return c.Log
	}) {
		s += "; log is the natural logarithm: higher by 1 where what stands in brackets is 2.72 times as large"
	}
	return s + "; not a cause: columns that are not in the study may lie behind it; the intercept belongs to a record whose numbers are all 0 and whose texts are the ones compared with, mostly far from any record"
}

func (t Table) chart() *study.ReportChart {
	c := &study.ReportChart{Title: t.Changed(), Zero: t.FactorOf == "", Ratio: t.FactorOf != "",
		Note: "of numbers, for a difference of the pool's standard deviation; of texts, beside the pool's most frequent level. Bars are 95 % intervals for sampling and noise; dashed: no difference; grey: the interval holds it"}
	if c.Ratio {
		c.Title = "factor of " + t.FactorOf
		c.Note += "; the axis is logarithmic"
	}
	for _, of := range t.Coefficients {
		n, by := of.Change, of.Spread
		if !n.Known() {
			continue
		}
		if c.Ratio {
			n, by = of.Factor(), 1
		}
		c.Bars = append(c.Bars, study.ReportBar{Name: of.Step(), Main: true, Value: n.Value * by,
			Low: n.Low * by, High: n.High * by})
	}
	return c
}

func (t Table) table() study.ReportTable {
	out := study.ReportTable{Title: "coefficients, where a column is higher by 1",
		Head: []string{"column", t.Changed(), "95 %", "of the variance by privacy noise"}}
	if t.FactorOf != "" {
		out.Head = append(out.Head, "step", "factor of "+t.FactorOf)
	}
	common := t.common()
	row := func(name, step string, n, times validation.Number) {
		cells := []string{name, "unknown", n.Unknown, "", "", ""}
		if n.Unknown == common {
			cells[2] = ""
		}
		if n.Known() {
			noise := n.NoiseSD / math.Max(n.SD, math.SmallestNonzeroFloat64)
			cells = []string{name, fmt.Sprintf("%+.3g", n.Value),
				fmt.Sprintf("%+.3g to %+.3g", n.Low, n.High),
				fmt.Sprintf("%.0f %%", 100*noise*noise), step, ""}
			if step != "" {
				cells[5] = factor(times)
			}
		}
		out.Rows = append(out.Rows, cells[:len(out.Head)])
	}
	for _, c := range t.Coefficients {
		row(c.Name(), c.Step(), c.Change, c.Factor())
	}
	row("intercept", "", t.Intercept, validation.Number{})
	return out
}
