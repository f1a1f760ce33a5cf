package main

import (
	"fmt"
	"html"
	"math"
	"strings"

	"caucus/aggregation/validation"
	"caucus/study/evaluate"
)

// evaluationPage shows what an evaluation says: for each class judged its numbers, and
// calibration curve and ROC of everybody and of the subgroups, as drawings that need no
// other file.
func evaluationPage(e evaluate.Evaluation) string {
	var b strings.Builder
	b.WriteString(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Caucus: a score judged on private records</title>
<style>
  :root { color-scheme: light dark; }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 74rem; margin: 2rem auto; padding: 0 1rem; }
  h1 { font-size: 1.6rem; line-height: 1.2; } h2 { font-size: 1.2rem; margin-top: 2rem; }
  .scroll { overflow-x: auto; } table { border-collapse: collapse; font-size: .92rem; }
  th, td { text-align: left; padding: .35rem .5rem; border-bottom: 1px solid #8886; white-space: nowrap; }
  .two { display: flex; flex-wrap: wrap; gap: 1rem 2rem; } figure { margin: .5rem 0; flex: 1 1 20rem; max-width: 32rem; }
  figure svg { display: block; width: 100%; height: auto; } figcaption, .small { font-size: .88rem; opacity: .8; }
  .legend { display: flex; flex-wrap: wrap; gap: .2rem 1.2rem; padding: 0; margin: .3rem 0; list-style: none; font-size: .88rem; } .legend svg { vertical-align: middle; }
</style>
</head>
<body>
<h1>A score judged on private records</h1>
`)
	fmt.Fprintf(&b, `<p class="small">Made of noisy counts by score, label and subgroup (standard deviation of the noise %.3g records a count). Intervals are of 95 %%, of noise and of sampling.</p>`+"\n", e.NoiseSD)
	for _, c := range e.Classes {
		fmt.Fprintf(&b, "<h2>Class %s</h2>\n", html.EscapeString(c.Class))
		writeJudged(&b, c)
	}
	b.WriteString("</body>\n</html>\n")
	return b.String()
}

// shownGroups is how many curves one drawing holds beside everybody's.
const shownGroups = 3

// judgedCurve is one set of records in a drawing.
type judgedCurve struct {
	name   string
	colour string
	of     evaluate.Subgroup
}

func writeJudged(b *strings.Builder, c evaluate.Judged) {
	curves := []judgedCurve{{"everybody", chartColours[0], c.Overall}}
	b.WriteString(`<div class="scroll"><table><tr><th>records</th><th>labelled</th><th>of the class</th><th>AUC</th><th>slope</th><th>intercept</th><th>Brier</th></tr>` + "\n")
	row := func(name string, of evaluate.Subgroup) {
		fmt.Fprintf(b, "<tr><td>%s</td><td>%.0f ± %.0f</td>", html.EscapeString(name), of.Records.Value, of.Records.SD)
		for _, n := range []validation.Number{of.Prevalence, of.AUC, of.Slope, of.Intercept, of.Brier} {
			if n.Known() {
				fmt.Fprintf(b, "<td>%.3f (%s)</td>", n.Value, n.Interval(3))
			} else {
				fmt.Fprintf(b, `<td title="%s">unknown</td>`, html.EscapeString(n.Unknown))
			}
		}
		b.WriteString("</tr>\n")
	}
	row("everybody", c.Overall)
	for _, g := range c.Groupings {
		for _, l := range g.Levels {
			row(g.Column+" "+l.Level, l)
			if l.AUC.Known() && len(curves) <= shownGroups {
				curves = append(curves, judgedCurve{g.Column + " " + l.Level, chartColours[len(curves)], l})
			}
		}
	}
	b.WriteString("</table></div>\n" + `<div class="two">` + "\n")
	calibration := "Calibration: of the records with a score, the share that is of the class; on the dashed line both are alike. Bars are 95 % intervals of everybody; bins that noise drowns are left out."
	if !c.Probability {
		calibration = "The share of the class by score. Bars are 95 % intervals of everybody; bins that noise drowns are left out."
	}
	fmt.Fprintf(b, "<figure>%s<figcaption>%s</figcaption></figure>\n", calibrationSVG(c, curves), calibration)
	fmt.Fprintf(b, "<figure>%s<figcaption>%s</figcaption></figure>\n</div>\n", rocSVG(curves), "ROC: of the records of the class, and of the others, the share that scores at or above each edge of a bin, kept from falling for display.")
	b.WriteString(`<ul class="legend">`)
	for _, of := range curves {
		fmt.Fprintf(b, `<li><svg viewBox="0 0 30 16" width="30" height="16" aria-hidden="true"><line x1="2" x2="28" y1="8" y2="8" stroke="%s" stroke-width="3"/></svg> %s</li>`, of.colour, html.EscapeString(of.name))
	}
	b.WriteString("</ul>\n")
}

// The square frame of these drawings, in units of their view box.
const squareWidth, squareHeight, squareLeft, squareTop, squareSize = 420.0, 420.0, 56.0, 10.0, 350.0

// square is a frame of two axes from 0 to 1, the first's marks in words of their own.
type square struct{ b strings.Builder }

func newSquare(title, words, x, y string, mark func(v float64) string) *square {
	s := new(square)
	openSVG(&s.b, squareWidth, squareHeight, title, words)
	for k := range 6 {
		v := float64(k) / 5
		fmt.Fprintf(&s.b, `<path d="M%.1f %.1fh%.0fM%.1f %.1fv%.0f" stroke="currentColor" stroke-opacity=".15"/>`, s.x(0), s.y(v), squareSize, s.x(v), s.y(1), squareSize)
		label(&s.b, s.x(0)-8, s.y(v)+5, "end", fmt.Sprintf("%.1f", v))
		label(&s.b, s.x(v), s.y(0)+18, "middle", mark(v))
	}
	label(&s.b, s.x(.5), squareHeight-8, "middle", x)
	fmt.Fprintf(&s.b, `<text transform="translate(16 %.0f) rotate(-90)" text-anchor="middle" fill="currentColor">%s</text>`, s.y(.5), html.EscapeString(y))
	return s
}

func (s *square) x(v float64) float64 { return squareLeft + v*squareSize }
func (s *square) y(v float64) float64 { return squareTop + (1-v)*squareSize }

func (s *square) line(points []chartPoint, colour, more string) {
	at := make([]string, len(points))
	for i, p := range points {
		at[i] = fmt.Sprintf("%.1f,%.1f", s.x(p.x), s.y(p.y))
	}
	fmt.Fprintf(&s.b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, strings.Join(at, " "), colour, more)
}

func (s *square) svg() string { return s.b.String() + "</svg>\n" }

// calibrationSVG draws the share of the class against the score. A score that is no
// probability is drawn from the least bin to the largest.
func calibrationSVG(c evaluate.Judged, curves []judgedCurve) string {
	low, high := 0.0, 1.0
	if bins := c.Overall.Bins; !c.Probability {
		low, high = bins[0].Mean, bins[len(bins)-1].Mean
		if !(high > low) {
			high = low + 1
		}
	}
	words := "Everybody: "
	for _, bin := range c.Overall.Bins {
		if bin.Observed.Known() {
			words += fmt.Sprintf("score %.2f share %.2f; ", bin.Mean, bin.Observed.Value)
		}
	}
	axis := "probability that the score says"
	if !c.Probability {
		axis = "score"
	}
	s := newSquare("Calibration of class "+c.Class, words, axis, "share of the class", func(v float64) string { return fmt.Sprintf("%.3g", low+v*(high-low)) })
	if c.Probability {
		s.line([]chartPoint{{x: 0, y: 0}, {x: 1, y: 1}}, chartGrey, ` stroke-dasharray="7 5"`)
	}
	for k, of := range curves {
		var points []chartPoint
		for _, bin := range of.of.Bins {
			n := bin.Observed
			if !n.Known() {
				continue
			}
			at := chartPoint{x: math.Min(math.Max((bin.Mean-low)/(high-low), 0), 1), y: n.Value}
			points = append(points, at)
			if k == 0 {
				fmt.Fprintf(&s.b, `<path d="M%.1f %.1fV%.1f" stroke="%s" stroke-width="1.5"/>`, s.x(at.x), s.y(n.Low), s.y(n.High), of.colour)
			}
			fmt.Fprintf(&s.b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, s.x(at.x), s.y(at.y), of.colour)
		}
		s.line(points, of.colour, "")
	}
	return s.svg()
}

// rocSVG draws the share of the class at or above each edge against that of the others.
func rocSVG(curves []judgedCurve) string {
	s := newSquare("ROC", "The area under everybody's curve is the AUC of the table.", "1 − specificity", "sensitivity", func(v float64) string { return fmt.Sprintf("%.1f", v) })
	s.line([]chartPoint{{x: 0, y: 0}, {x: 1, y: 1}}, chartGrey, ` stroke-dasharray="7 5"`)
	for _, of := range curves {
		var yes, no float64
		for _, bin := range of.of.Bins {
			yes, no = yes+bin.Positives, no+bin.Negatives
		}
		if !(yes > 0 && no > 0) {
			continue
		}
		at := chartPoint{}
		points := []chartPoint{at}
		var p, n float64
		for k := len(of.of.Bins) - 1; k >= 0; k-- {
			p, n = p+of.of.Bins[k].Positives/yes, n+of.of.Bins[k].Negatives/no
			at = chartPoint{x: math.Min(math.Max(n, at.x), 1), y: math.Min(math.Max(p, at.y), 1)}
			points = append(points, at)
		}
		s.line(points, of.colour, "")
	}
	return s.svg()
}
