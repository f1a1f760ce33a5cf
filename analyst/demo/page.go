package demo

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"

	"caucus/analyst/report"
	"caucus/internal/textpage"
)

//go:embed page.html
var pageHTML string

type shownStudy struct {
	Study
	Dots  *report.Dots
	Drawn *report.Figure
}

// WritePage writes a page that needs no other file, with the studies that gained most first.
func WritePage(w io.Writer, r Report) error {
	t, err := report.Template(pageHTML)
	if err != nil {
		return err
	}
	figure := budgetChart(r)
	page := struct {
		Report
		Title, Answer  string
		Shown          []shownStudy
		Budgets        []float64
		Figure, Legend template.HTML
	}{
		Report: r, Title: fmt.Sprintf("%d clinics and %d devices learnt together without pooling their data", r.Parties, r.Devices),
		// drawn from numbers, names escaped
		Figure: template.HTML(figure.SVG()), Legend: template.HTML(figure.Legend()),
	}
	var by [Worse + 1][]string
	for _, s := range r.SortedStudies() {
		shown := shownStudy{Study: s, Dots: report.NewDots(s.Measure.chart())}
		if s.Figure != nil {
			shown.Drawn = report.NewFigure(*s.Figure)
		}
		page.Shown = append(page.Shown, shown)
		by[s.Measure.Comparison()] = append(by[s.Measure.Comparison()], s.Name)
	}
	page.Answer = fmt.Sprintf("At ε = %g, %d of %d studies did better than one party alone and than no study, by more than chance moves such a figure%s%s%s.",
		r.Epsilon, len(by[Better]), len(r.Studies), listed(": ", by[Better]), listed("; level: ",
			by[Equal]), listed("; worse: ", by[Worse]))
	if len(r.Curves) > 0 {
		for _, p := range r.Curves[0].Points {
			page.Budgets = append(page.Budgets, p.Epsilon)
		}
	}
	return t.ExecuteTemplate(textpage.PlainWriter{Writer: w}, "demo", page)
}

func listed(words string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	return words + strings.Join(names, ", ")
}

// budgetChart draws accuracy against ε: simulated lines with bars of one standard deviation,
// releases as triangles, each study's unperturbed line, and the majority class.
func budgetChart(r Report) report.Chart {
	c := report.Chart{
		Title: "Accuracy against the privacy budget", X: "privacy budget ε (smaller protects more)", Y: "accuracy on test records",
		Ticks: []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30}, Low: 1,
	}
	var words []string
	reach := func(s report.Series) {
		for _, p := range s.Points {
			c.Low, c.High = min(c.Low, p.Y-p.SD), max(c.High, p.Y+p.SD)
		}
		c.Series = append(c.Series, s)
	}
	for i, curve := range r.Curves {
		colour := report.Colours[i%len(report.Colours)]
		simulated := report.Series{Name: curve.Study + ", simulated", Colour: colour}
		for _, p := range curve.Points {
			simulated.Points = append(simulated.Points,
				report.Point{X: p.Epsilon, Y: p.Accuracy, SD: p.SD})
		}
		first, last := curve.Points[0], curve.Points[len(curve.Points)-1]
		level := func(y float64) []report.Point {
			return []report.Point{{X: first.Epsilon, Y: y}, {X: last.Epsilon, Y: y}}
		}
		reach(simulated)
		reach(report.Series{Name: curve.Study + ", without noise", Colour: colour,
			Style: report.DashedLine, Points: level(curve.Unperturbed)})
		if i == len(r.Curves)-1 {
			reach(report.Series{Name: "majority class", Colour: report.Grey,
				Style: report.DottedLine, Points: level(curve.Majority)})
		}
		words = append(words, fmt.Sprintf("%s: %.3f at ε = %g, %.3f at ε = %g, %.3f without noise, the largest class alone %.3f",
			curve.Study, first.Accuracy, first.Epsilon, last.Accuracy, last.Epsilon,
			curve.Unperturbed, curve.Majority))
	}
	for i, s := range r.Studies[:len(r.Curves)] { // the curves belong to the first studies
		reach(report.Series{Name: s.Name + ", this run",
			Colour: report.Colours[i%len(report.Colours)], Style: report.Triangles,
			Points: []report.Point{{X: s.Epsilon, Y: s.Measure.Released}}})
	}
	c.Low, c.High = max(0, math.Floor(20*c.Low)/20), min(1, c.High+0.01)
	c.Words = strings.Join(words, "; ")
	return c
}
