package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"

	"caucus/study"
)

//go:embed planpage.html
var planPage string

// planFigure is a chart as a page shows it.
type planFigure struct {
	Title string
	SVG   template.HTML
}

// planCharts draws accuracy and AUC against ε, sites and records.
func planCharts(doc planned) (out []chart) {
	for _, curve := range doc.Curves {
		for _, measure := range []struct {
			name     string
			of       func(study.Line) study.Range
			majority func(planPoint) float64
		}{
			{"accuracy", func(l study.Line) study.Range { return l.Accuracy }, func(p planPoint) float64 { return p.Majority }},
			{"AUC", func(l study.Line) study.Range { return l.AUC }, func(planPoint) float64 { return .5 }},
		} {
			c := planChart(curve, measure.name, measure.of, measure.majority)
			c.series[len(c.series)-1].name = doc.largest()
			out = append(out, c)
		}
	}
	return out
}

// planAxes are the words of what plans are drawn against.
var planAxes = map[string]string{
	"epsilon": "privacy budget ε (smaller protects more)", "sites": "sites", "records": "records of each site",
}

func planChart(curve planCurve, measure string, of func(study.Line) study.Range, majority func(planPoint) float64) chart {
	c := chart{
		title: strings.ToUpper(measure[:1]) + measure[1:] + " against " + planAxes[curve.Against], x: planAxes[curve.Against], y: measure,
		ticks: []float64{.01, .03, .1, .3, 1, 3, 10, 30, 100, 300, 1000, 3000, 10000, 100000}, low: 1,
	}
	lines := []series{
		{name: "released, range", colour: chartColours[0], style: shaded},
		{name: "released", colour: chartColours[0]},
		{name: "one site alone", colour: chartColours[1], style: dashedLine},
		{name: "all records pooled", colour: chartColours[2], style: dashedLine},
		{name: "largest class", colour: chartGrey, style: dottedLine},
	}
	for _, p := range curve.Points {
		r := of(p.Released)
		for i, at := range []chartPoint{
			{p.At, (r.Low + r.High) / 2, (r.High - r.Low) / 2}, {x: p.At, y: r.Mid}, {x: p.At, y: of(p.Alone).Mid}, {x: p.At, y: of(p.Pooled).Mid}, {x: p.At, y: majority(p)},
		} {
			lines[i].points = append(lines[i].points, at)
			c.low, c.high = math.Min(c.low, at.y-at.sd), math.Max(c.high, at.y+at.sd)
		}
	}
	c.series = lines
	c.low, c.high = math.Max(0, math.Floor(20*c.low-1e-9)/20), math.Min(1, c.high+.01)
	first, last := curve.Points[0], curve.Points[len(curve.Points)-1]
	c.words = fmt.Sprintf("Released %.3f at %g and %.3f at %g; one site alone %.3f and %.3f; pooled %.3f and %.3f; the largest class %.3f",
		of(first.Released).Mid, first.At, of(last.Released).Mid, last.At, of(first.Alone).Mid, of(last.Alone).Mid, of(first.Pooled).Mid, of(last.Pooled).Mid, majority(first))
	return c
}

// drawPlan writes all charts as one picture, two beside each other, with a legend below.
func drawPlan(b *strings.Builder, doc planned) {
	charts := planCharts(doc)
	const legendHeight = 30
	height := chartHeight * float64(len(charts)/2)
	openSVG(b, 2*chartWidth, height+legendHeight, "What a study would be worth", helpsWords(doc.Forecast, doc.size()))
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

// largest is what the row of the largest class is called.
func (d planned) largest() string {
	if d.Forecast.SharesAssumed {
		return "largest class, assumed"
	}
	return "largest class"
}

// assumed says in words what nobody said of the classes, "" where somebody did.
func (d planned) assumed() string {
	if !d.Forecast.SharesAssumed {
		return ""
	}
	var shares []string
	for _, share := range d.Forecast.Shares {
		shares = append(shares, strconv.FormatFloat(share, 'g', 2, 64))
	}
	return "The classes' shares are assumed, " + strings.Join(shares, " and ") + ": all that is said here of accuracy and of the largest class hangs on them. --classes says what they are."
}

// bracketWords say what stands in brackets: what a forecast's ranges are over.
func (d planned) bracketWords() string {
	over := "all places of truth"
	if d.Forecast.Separation.High > d.Forecast.Separation.Low {
		over = fmt.Sprintf("all places of truth and separations from AUC %.2f to %.2f", d.Forecast.Separation.Low, d.Forecast.Separation.High)
	}
	return fmt.Sprintf("the range over %s that were looked at and, of the release, over draws of the noise (one in twenty is below, one in twenty above), and %.2f more either way for what the forecast's law leaves out.",
		over, d.Forecast.LawError)
}

// writePlanPage writes a page without outside assets.
func writePlanPage(w io.Writer, doc planned) error {
	t, err := pages()
	if err != nil {
		return err
	}
	if t, err = t.Funcs(template.FuncMap{
		"three": func(v float64) string { return fmt.Sprintf("%.3f", v) },
		"span":  rangeWords,
		"brief": func(v float64) string { return fmt.Sprintf("%.2g", v) },
		"axis":  func(s string) string { return planAxes[s] },
	}).Parse(planPage); err != nil {
		return err
	}
	var figures []planFigure
	var legend template.HTML
	for _, c := range planCharts(doc) {
		figures = append(figures, planFigure{c.title, template.HTML(c.svg())}) // drawn from numbers, names escaped
		legend = template.HTML(c.legend())
	}
	return t.ExecuteTemplate(w, "plan", struct {
		planned
		Title, Answer, Words, Assumed, Largest, Separation, Brackets string
		Figures                                                      []planFigure
		Legend                                                       template.HTML
	}{doc, "What a study would be worth", helpsWords(doc.Forecast, doc.size()), doc.sitesWords() + ", " + doc.featureWords(), doc.assumed(), doc.largest(), separationWords(doc.Forecast), doc.bracketWords(), figures, legend})
}
