package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"caucus/analyst/report"
	"caucus/study/stated"
)

//go:embed forecastpage.html
var forecastPage string

type forecastFigure struct {
	Title string
	SVG   template.HTML
}

// forecastCharts draws accuracy and AUC against ε, parties and records.
func forecastCharts(doc forecastDocument) (out []report.Chart) {
	for _, curve := range doc.Curves {
		for _, measure := range []struct {
			name     string
			of       func(stated.Performance) stated.DrawSummary
			majority func(forecastPoint) float64
		}{
			{"accuracy", func(l stated.Performance) stated.DrawSummary { return l.Accuracy }, func(p forecastPoint) float64 { return p.Majority }},
			{"AUC", func(l stated.Performance) stated.DrawSummary { return l.AUC }, func(forecastPoint) float64 { return .5 }},
		} {
			c := forecastChart(curve, measure.name, measure.of, measure.majority)
			c.Series[len(c.Series)-1].Name = doc.Forecast.Largest()
			out = append(out, c)
		}
	}
	return out
}

var forecastAxes = map[string]string{
	"epsilon": "privacy budget ε (smaller protects more)", "parties": "parties", "records": "records of each party",
}

func forecastChart(curve forecastCurve, measure string,
	of func(stated.Performance) stated.DrawSummary,
	majority func(forecastPoint) float64) report.Chart {
	c := report.Chart{
		Title: strings.ToUpper(measure[:1]) + measure[1:] + " against " + forecastAxes[curve.Against], X: forecastAxes[curve.Against], Y: measure,
		Ticks: []float64{.01, .03, .1, .3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 100000}, Low: 1,
	}
	lines := []report.Series{
		{Name: "released, nine of ten draws", Colour: report.Colours[0], Style: report.Shaded},
		{Name: "released", Colour: report.Colours[0]},
		{Name: "one party alone", Colour: report.Colours[1], Style: report.DashedLine},
		{Name: "all records pooled", Colour: report.Colours[2], Style: report.DashedLine},
		{Name: "largest class", Colour: report.Grey, Style: report.DottedLine},
	}
	for _, p := range curve.Points {
		r := of(p.Forecast.Released)
		for i, at := range []report.Point{
			{X: p.At, Y: (r.Low + r.High) / 2, SD: (r.High - r.Low) / 2}, {X: p.At, Y: r.Mean}, {X: p.At, Y: of(p.Alone).Mean}, {X: p.At, Y: of(p.Pooled).Mean}, {X: p.At, Y: majority(p)},
		} {
			lines[i].Points = append(lines[i].Points, at)
			c.Low, c.High = math.Min(c.Low, at.Y-at.SD), math.Max(c.High, at.Y+at.SD)
		}
	}
	if c.Series = lines; !slices.ContainsFunc(curve.Points, func(p forecastPoint) bool {
		return p.Draws > 1
	}) {
		c.Series = lines[1:] // one draw has no range
	}
	c.Low, c.High = math.Max(0, math.Floor(20*c.Low-1e-9)/20), math.Min(1, c.High+.01)
	first, last := curve.Points[0], curve.Points[len(curve.Points)-1]
	c.Words = fmt.Sprintf("Released %.3f at %g and %.3f at %g; one party alone %.3f and %.3f; all records pooled %.3f and %.3f; the largest class %.3f",
		of(first.Released).Mean, first.At, of(last.Released).Mean, last.At, of(first.Alone).Mean,
		of(last.Alone).Mean, of(first.Pooled).Mean, of(last.Pooled).Mean, majority(first))
	return c
}

// assumed says that the class shares were assumed, "" if they were given.
func (f forecastDocument) assumed() string {
	if !f.Forecast.SharesAssumed {
		return ""
	}
	var shares []string
	for _, share := range f.Forecast.Shares {
		shares = append(shares, strconv.FormatFloat(share, 'g', 2, 64))
	}
	return "The classes' shares are assumed, " + strings.Join(shares, " and ") + ": the accuracies and the largest class depend on them. Give the true shares with --class-shares."
}

func writeForecastPage(w io.Writer, doc forecastDocument) error {
	t, err := report.Template("")
	if err != nil {
		return err
	}
	if t, err = t.Funcs(template.FuncMap{
		"three": func(v float64) string { return fmt.Sprintf("%.3f", v) },
		"span":  stated.DrawSummary.Words,
		"brief": func(v float64) string { return fmt.Sprintf("%.2g", v) },
		"axis":  func(s string) string { return forecastAxes[s] },
	}).Parse(forecastPage); err != nil {
		return err
	}
	var figures []forecastFigure
	var legend template.HTML
	for _, c := range forecastCharts(doc) {
		// safe: SVG escapes its texts
		figures = append(figures, forecastFigure{c.Title, template.HTML(c.SVG())})
		legend = template.HTML(c.Legend())
	}
	return t.ExecuteTemplate(w, "forecast", struct {
		forecastDocument
		Title, Answer, Words, Assumed, Largest, Separation, Sweep string
		Figures                                                   []forecastFigure
		Legend                                                    template.HTML
	}{doc, "Would a study help?", doc.Forecast.Verdict(),
		doc.sizeWords() + ", " +
			doc.featureWords(), doc.assumed(), doc.Forecast.Largest(), doc.Forecast.SeparationText(),
		sweepWords, figures, legend})
}
