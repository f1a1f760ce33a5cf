package export

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"

	"caucus/aggregation/validation"
	"caucus/internal/csvfile"
	"caucus/study"
	"caucus/study/kinds/results"
	"caucus/study/survival/lifetable"
)

// Curves are the numbers of a survival release, a row each. Times are in the study's unit.
type Curves struct {
	About    About
	Axis     string // the time with its unit
	Rows     []CurveRow
	Warnings []string
}

// CurveRow is one number. Measure without_event is the share without the event at Time, the end of
// an interval; events counts those of the interval, at_risk who is seen at Time without the event.
type CurveRow struct {
	Measure string
	By      string // the column whose level Group is
	Group   string // "all" without groups
	Against string // the group that a comparison divides by or subtracts
	Time    float64
	Number  validation.Number
}

// NewCurves reads a survival release's numbers, and refuses other kinds. It checks no signature:
// verify first.
func NewCurves(r study.Release) (Curves, error) {
	p, err := results.CheckedPlan(r)
	if err != nil {
		return Curves{}, err
	}
	t, err := lifetable.TableOf(r)
	if err != nil {
		return Curves{}, err
	}
	c := Curves{About: aboutOf(r, p), Axis: t.Axis(), Warnings: r.Result.Warnings}
	c.About.Label = t.Event
	add := func(measure, group, against string, time float64, n validation.Number) {
		if group == "" {
			group = "all"
		}
		c.Rows = append(c.Rows, CurveRow{measure, t.By, group, against, time, n})
	}
	none := math.NaN()
	count := func(n float64) validation.Number {
		return validation.Number{Value: n, SD: none, NoiseSD: none, NoLow: true, NoHigh: true}
	}
	for _, g := range t.Groups {
		add("without_event", g.Level, "", 0, validation.Number{Value: 1, Low: 1, High: 1})
		for _, q := range g.Points {
			add("without_event", g.Level, "", q.Time, q.Survival)
		}
		from := 0.
		for _, q := range g.Points {
			add("at_risk", g.Level, "", from, count(q.AtRisk))
			add("events", g.Level, "", q.Time, count(q.Events))
			from = q.Time
		}
		if len(g.Points) == len(t.Edges) {
			add("at_risk", g.Level, "", from, count(g.Beyond))
		}
		add("all_records", g.Level, "", none, count(g.Records))
		add("all_events", g.Level, "", none, count(g.Events))
		g.Median.SD, g.Median.NoiseSD = none, none
		if !g.Median.Known() && g.MedianLow > 0 { // the page says so, too
			g.Median.Low, g.Median.NoHigh = g.MedianLow, true
		}
		add("median", g.Level, "", none, g.Median)
		add("restricted_mean", g.Level, "", g.MeanTo, g.Mean)
	}
	for _, d := range t.Compared {
		add("hazard_ratio", d.Of, d.To, none, d.Ratio)
		p := validation.Number{Unknown: "the groups share no events"}
		if d.P != nil {
			p = count(*d.P)
		}
		add("log_rank_p", d.Of, d.To, none, p)
		add("difference", d.Of, d.To, d.At, d.Difference)
	}
	return c, nil
}

// CurveColumns are the columns of a CSV file and of an R frame: first texts, then numbers.
var CurveColumns = []string{"measure", "by", "group", "against", "unknown", "time", "value", "low",
	"high", "sd", "noise_sd"}

func (c CurveRow) texts() []string {
	return []string{c.Measure, c.By, c.Group, c.Against, c.Number.Unknown}
}

// numbers are NaN where there is no number, and infinite where noise leaves an end open. A count
// has neither an interval nor a deviation of its own; a median without a value may have a low end.
func (c CurveRow) numbers() []float64 {
	n, none := c.Number, math.NaN()
	switch {
	case !n.Known() && !n.NoHigh:
		return []float64{c.Time, none, none, none, none, none}
	case n.NoLow && n.NoHigh:
		n.Low, n.High = none, none
	case n.NoLow:
		n.Low = math.Inf(-1)
	case n.NoHigh:
		n.High = math.Inf(1)
	}
	if !n.Known() {
		n.Value = none
	}
	return []float64{c.Time, n.Value, n.Low, n.High, n.SD, n.NoiseSD}
}

// CSV writes a header and a row for each number. An empty cell is no number.
func (c Curves) CSV() ([]byte, error) {
	var out bytes.Buffer
	w := csvfile.Marked(&out)
	rows := [][]string{CurveColumns}
	for _, r := range c.Rows {
		row := r.texts()
		for _, v := range r.numbers() {
			text := ""
			if v == v {
				text = strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+") // of +Inf
			}
			row = append(row, text)
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		if err := w.Write(row); err != nil {
			return nil, fmt.Errorf("export: write CSV: %w", err)
		}
	}
	err := w.Close()
	return out.Bytes(), err
}

//go:embed curves.R
var rCurves string

// R writes one R file that needs no package: the numbers as a data frame, and a function that draws
// the curves with their bands and the numbers at risk.
func (c Curves) R() ([]byte, error) {
	var b strings.Builder
	for _, line := range c.words() {
		b.WriteString("# " + oneLine(line) + "\n")
	}
	fmt.Fprintf(&b, "#\ncaucus_axis <- %s\ncaucus_event <- %s\ncaucus_simulated <- %s\n",
		rText(c.Axis), rText(c.About.Label),
		strings.ToUpper(strconv.FormatBool(c.About.Simulated)))
	b.WriteString("caucus_numbers <- data.frame(")
	for k, column := range CurveColumns {
		separate(&b, k)
		var cells []string
		for _, r := range c.Rows {
			if texts := r.texts(); k < len(texts) {
				cells = append(cells, rText(texts[k]))
			} else {
				cells = append(cells, rNumber(r.numbers()[k-len(texts)]))
			}
		}
		fmt.Fprintf(&b, "\n  %s = c(%s)", column, strings.Join(cells, ", "))
	}
	b.WriteString(",\n  stringsAsFactors = FALSE\n)\n\n" + rCurves)
	return []byte(b.String()), nil
}

func rNumber(v float64) string {
	switch {
	case v != v:
		return "NA_real_"
	case math.IsInf(v, 1):
		return "Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	}
	return number(v)
}

func (c Curves) words() []string {
	return c.About.words(c.Warnings,
		fmt.Sprintf("Share without %s, of the study %s. Written by caucus release export.",
			c.About.Label, c.About.Study),
		"Groups are not adjusted: they may differ in age, sex and all else. A hazard ratio is an average over time.")
}
