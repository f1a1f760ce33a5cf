package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"

	"caucus/study/forecast"
)

//go:embed forecastpage.html
var forecastPage string

type forecastFigure struct {
	Title string
	SVG   template.HTML
}

// forecastCharts draws accuracy and AUC against ε, parties and records.
func forecastCharts(doc forecastDocument) (out []chart) {
	for _, curve := range doc.Curves {
		for _, measure := range []struct {
			name     string
			of       func(forecast.Line) forecast.Drawn
			majority func(forecastPoint) float64
		}{
			{"accuracy", func(l forecast.Line) forecast.Drawn { return l.Accuracy }, func(p forecastPoint) float64 { return p.Majority }},
			{"AUC", func(l forecast.Line) forecast.Drawn { return l.AUC }, func(forecastPoint) float64 { return .5 }},
		} {
			c := forecastChart(curve, measure.name, measure.of, measure.majority)
			c.series[len(c.series)-1].name = doc.largest()
			out = append(out, c)
		}
	}
	return out
}

var forecastAxes = map[string]string{
	"epsilon": "privacy budget ε (smaller protects more)", "parties": "parties", "records": "records of each party",
}

func forecastChart(curve forecastCurve, measure string, of func(forecast.Line) forecast.Drawn, majority func(forecastPoint) float64) chart {
	c := chart{
		title: strings.ToUpper(measure[:1]) + measure[1:] + " against " + forecastAxes[curve.Against], x: forecastAxes[curve.Against], y: measure,
		ticks: []float64{.01, .03, .1, .3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 100000}, low: 1,
	}
	lines := []series{
		{name: "released, nine of ten draws", colour: chartColours[0], style: shaded},
		{name: "released", colour: chartColours[0]},
		{name: "one party alone", colour: chartColours[1], style: dashedLine},
		{name: "all records pooled", colour: chartColours[2], style: dashedLine},
		{name: "largest class", colour: chartGrey, style: dottedLine},
	}
	for _, p := range curve.Points {
		r := of(p.Forecast.Released)
		for i, at := range []chartPoint{
			{p.At, (r.Low + r.High) / 2, (r.High - r.Low) / 2}, {x: p.At, y: r.Mean}, {x: p.At, y: of(p.Alone).Mean}, {x: p.At, y: of(p.Pooled).Mean}, {x: p.At, y: majority(p)},
		} {
			lines[i].points = append(lines[i].points, at)
			c.low, c.high = math.Min(c.low, at.y-at.sd), math.Max(c.high, at.y+at.sd)
		}
	}
	c.series = lines
	c.low, c.high = math.Max(0, math.Floor(20*c.low-1e-9)/20), math.Min(1, c.high+.01)
	first, last := curve.Points[0], curve.Points[len(curve.Points)-1]
	c.words = fmt.Sprintf("Released %.3f at %g and %.3f at %g; one party alone %.3f and %.3f; pooled %.3f and %.3f; the largest class %.3f",
		of(first.Released).Mean, first.At, of(last.Released).Mean, last.At, of(first.Alone).Mean, of(last.Alone).Mean, of(first.Pooled).Mean, of(last.Pooled).Mean, majority(first))
	return c
}

// drawForecast writes all charts as one picture, two a row, with a legend below.
func drawForecast(b *strings.Builder, doc forecastDocument) {
	charts := forecastCharts(doc)
	const legendHeight = 30
	height := chartHeight * float64(len(charts)/2)
	openSVG(b, 2*chartWidth, height+legendHeight, "What a study would be worth", doc.Forecast.Verdict())
	for i, c := range charts {
		svg := strings.Replace(c.svg(), "<svg ", fmt.Sprintf(`<svg x="%.0f" y="%.0f" width="%.0f" height="%.0f" `, float64(i%2)*chartWidth, float64(i/2)*chartHeight, chartWidth, chartHeight), 1)
		b.WriteString(svg)
	}
	for i, s := range charts[0].series[1:] {
		x := 60 + float64(i)*290
		same := func(v float64) float64 { return v }
		series{colour: s.colour, style: s.style, points: []chartPoint{{x: x, y: height + 12}, {x: x + 40, y: height + 12}}}.draw(b, same, same)
		label(b, x+50, height+17, "start", s.name)
	}
	b.WriteString("</svg>\n")
}

// largest names the row of the largest class.
func (d forecastDocument) largest() string {
	if d.Forecast.Assumed {
		return "largest class, assumed"
	}
	return "largest class"
}

// assumed describes an assumption about the classes, "" where they were given.
func (d forecastDocument) assumed() string {
	if !d.Forecast.Assumed {
		return ""
	}
	var shares []string
	for _, share := range d.Forecast.Shares {
		shares = append(shares, strconv.FormatFloat(share, 'g', 2, 64))
	}
	return "The classes' shares are assumed, " + strings.Join(shares, " and ") + ": all that is said here of accuracy and of the largest class hangs on them. --classes says what they are."
}

// writeForecastPage writes a page without outside assets.
func writeForecastPage(w io.Writer, doc forecastDocument) error {
	t, err := pages()
	if err != nil {
		return err
	}
	if t, err = t.Funcs(template.FuncMap{
		"three": func(v float64) string { return fmt.Sprintf("%.3f", v) },
		"span":  forecast.Drawn.Words,
		"brief": func(v float64) string { return fmt.Sprintf("%.2g", v) },
		"axis":  func(s string) string { return forecastAxes[s] },
	}).Parse(forecastPage); err != nil {
		return err
	}
	var figures []forecastFigure
	var legend template.HTML
	for _, c := range forecastCharts(doc) {
		figures = append(figures, forecastFigure{c.title, template.HTML(c.svg())}) // drawn from numbers, names escaped
		legend = template.HTML(c.legend())
	}
	return t.ExecuteTemplate(w, "forecast", struct {
		forecastDocument
		Title, Answer, Words, Assumed, Largest, Separation string
		Figures                                            []forecastFigure
		Legend                                             template.HTML
	}{doc, "What a study would be worth", doc.Forecast.Verdict(), doc.sizeWords() + ", " + doc.featureWords(), doc.assumed(), doc.largest(), doc.Forecast.Separation(), figures, legend})
}
