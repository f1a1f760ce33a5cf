package main

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
)

//go:embed demopage.html
var demoPage string

type shownStudy struct {
	demoStudy
	Dots *dots
}

// writeDemoPage writes a page without outside assets, best studies first.
func writeDemoPage(w io.Writer, r demoReport) error {
	t, err := pages()
	if err != nil {
		return err
	}
	if t, err = t.Parse(demoPage); err != nil {
		return err
	}
	figure := demoChart(r)
	page := struct {
		demoReport
		Title, Answer  string
		NearlyClear    float64
		Shown          []shownStudy
		Budgets        []float64
		Figure, Legend template.HTML
	}{
		demoReport: r, Title: fmt.Sprintf("%d parties learnt together without pooling their data", r.Parties), NearlyClear: nearlyClear,
		Figure: template.HTML(figure.svg()), Legend: template.HTML(figure.legend()), // drawn from numbers, names escaped
	}
	var by [worse + 1][]string
	for _, s := range r.ordered() {
		page.Shown = append(page.Shown, shownStudy{s, newDots(s.Measure.chart())})
		by[s.Measure.comparison()] = append(by[s.Measure.comparison()], s.Name)
	}
	page.Answer = fmt.Sprintf("At ε = %g, %d of %d studies did better than one party alone and than no study, by more than the error of so many records%s%s%s.",
		r.Epsilon, len(by[better]), len(r.Studies), listed(": ", by[better]), listed("; level: ", by[level]), listed("; worse: ", by[worse]))
	if len(r.Curves) > 0 {
		for _, p := range r.Curves[0].Points {
			page.Budgets = append(page.Budgets, p.Epsilon)
		}
	}
	return t.ExecuteTemplate(plainWriter{w}, "demo", page)
}

// listed joins names behind words; empty without names.
func listed(words string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return words + strings.Join(names, ", ")
}

// demoChart draws accuracy against ε: simulated lines with bars of one standard deviation,
// releases as triangles, each study's unperturbed line, and the majority class.
func demoChart(r demoReport) chart {
	c := chart{
		title: "Accuracy against the privacy budget", x: "privacy budget ε (smaller protects more)", y: "accuracy on test records",
		ticks: []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30}, low: 1,
	}
	var words []string
	reach := func(s series) {
		for _, p := range s.points {
			c.low, c.high = min(c.low, p.y-p.sd), max(c.high, p.y+p.sd)
		}
		c.series = append(c.series, s)
	}
	for i, curve := range r.Curves {
		colour := chartColours[i%len(chartColours)]
		simulated := series{name: curve.Study + ", simulated", colour: colour}
		for _, p := range curve.Points {
			simulated.points = append(simulated.points, chartPoint{p.Epsilon, p.Accuracy, p.SD})
		}
		first, last := curve.Points[0], curve.Points[len(curve.Points)-1]
		level := func(y float64) []chartPoint { return []chartPoint{{x: first.Epsilon, y: y}, {x: last.Epsilon, y: y}} }
		reach(simulated)
		reach(series{curve.Study + ", without noise", colour, dashedLine, level(curve.Unperturbed)})
		if i == len(r.Curves)-1 {
			reach(series{"majority class", chartGrey, dottedLine, level(curve.Majority)})
		}
		words = append(words, fmt.Sprintf("%s: %.3f at ε = %g, %.3f at ε = %g, %.3f without noise, the largest class alone %.3f",
			curve.Study, first.Accuracy, first.Epsilon, last.Accuracy, last.Epsilon, curve.Unperturbed, curve.Majority))
	}
	for i, s := range r.Studies[:len(r.Curves)] { // the curves are of the first studies
		reach(series{s.Name + ", this run", chartColours[i%len(chartColours)], triangles, []chartPoint{{x: s.Epsilon, y: s.Measure.Released}}})
	}
	c.low, c.high = max(0, math.Floor(20*c.low)/20), min(1, c.high+0.01)
	c.words = strings.Join(words, "; ")
	return c
}
