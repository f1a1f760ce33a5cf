package main

import (
	"fmt"
	"html"
	"html/template"
	"math"
	"strings"

	"caucus/study/evaluate"
)

// curves are the calibration and ROC pictures of a class's scores, for everybody and for some
// subgroups.
type curves struct {
	Class            string
	Calibration, ROC curvePicture
}

// curvePicture holds a drawing, its description and its numbers.
type curvePicture struct {
	Picture template.HTML
	Caption string
	Legend  []legendEntry
	Plotted pageTable
}

type legendEntry struct{ Name, Colour string }

// shownGroups bounds the subgroup curves of one drawing.
const shownGroups = 3

// judgedCurve is the curve of one set of records.
type judgedCurve struct {
	legendEntry
	of evaluate.Subgroup
}

// newCurves draws the scores of a class; nil where noise hides them all.
func newCurves(c evaluate.Judged) *curves {
	if !c.Overall.AUC.Known() {
		return nil
	}
	all := []judgedCurve{{legendEntry{"everybody", chartColours[0]}, c.Overall}}
	for _, g := range c.Groupings {
		for _, l := range g.Levels {
			if l.AUC.Known() && len(all) <= shownGroups && len(l.Bins) == len(c.Overall.Bins) {
				all = append(all, judgedCurve{legendEntry{g.Column + " " + l.Level, chartColours[len(all)]}, l})
			}
		}
	}
	var legend []legendEntry
	for _, of := range all {
		legend = append(legend, of.legendEntry)
	}
	calibration := "Calibration: of the records with a score, the share that is of the class; on the dashed line both are alike. Bars are 95 % intervals of everybody; bins that noise drowns are left out."
	if !c.Probability {
		calibration = "The share of the class by score. Bars are 95 % intervals of everybody; bins that noise drowns are left out."
	}
	roc := "ROC: of the records of the class, and of the others, the share that scores at or above each edge of a bin, kept from falling for display. The area under everybody's curve is the AUC, " + c.Overall.AUC.Words(3) + "."
	return &curves{
		Class: c.Class,
		// Both drawings hold only numbers and escaped texts.
		Calibration: curvePicture{template.HTML(calibrationSVG(c, all)), calibration, legend, calibrationTable(c, all)},
		ROC:         curvePicture{template.HTML(rocSVG(all)), roc, legend, rocTable(c, all)},
	}
}

func calibrationTable(c evaluate.Judged, all []judgedCurve) pageTable {
	t := pageTable{Title: "score (the pool's mean in a bin) and share of the class, with 95 % intervals", Head: []string{"score"}}
	for _, of := range all {
		t.Head = append(t.Head, of.Name)
	}
	for k, bin := range c.Overall.Bins {
		row := []pageCell{{t.Head[0], fmt.Sprintf("%.3f", bin.Mean)}}
		for _, of := range all {
			row = append(row, pageCell{of.Name, of.of.Bins[k].Observed.Words(3)})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func rocTable(c evaluate.Judged, all []judgedCurve) pageTable {
	t := pageTable{Title: "1 − specificity, sensitivity where records at or above a score are called one of the class", Head: []string{"score"}}
	var points [][][2]float64
	for _, of := range all {
		t.Head = append(t.Head, of.Name)
		points = append(points, of.of.ROC())
	}
	for k := range len(c.Edges) + 2 {
		row := []pageCell{{t.Head[0], rocScore(c, k)}}
		for i, of := range all {
			text := "unknown"
			if k < len(points[i]) {
				text = fmt.Sprintf("%.3f, %.3f", points[i][k][0], points[i][k][1])
			}
			row = append(row, pageCell{of.Name, text})
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// rocScore returns the threshold of the k-th point.
func rocScore(c evaluate.Judged, k int) string {
	switch {
	case k == 0:
		return "none"
	case k > len(c.Edges):
		return "all"
	}
	v := c.Edges[len(c.Edges)-k]
	if c.Probability { // edges are log-odds
		v = 1 / (1 + math.Exp(-v))
	}
	return fmt.Sprintf("%.3f", v)
}

// The square frame of these drawings, in units of their view box.
const squareWidth, squareHeight, squareLeft, squareTop, squareSize = 420.0, 420.0, 56.0, 10.0, 350.0

// square frames two axes from 0 to 1; the first has its own marks.
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

// calibrationSVG draws the share of the class against the score. Scores that are no probabilities
// run from the least bin to the largest.
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
			at := chartPoint{x: math.Min(math.Max((bin.Mean-low)/(high-low), 0), 1), y: math.Min(math.Max(n.Value, 0), 1)}
			points = append(points, at)
			if k == 0 {
				low, high := n.Ends()
				fmt.Fprintf(&s.b, `<path d="M%.1f %.1fV%.1f" stroke="%s" stroke-width="1.5"/>`, s.x(at.x), s.y(low), s.y(high), of.Colour)
			}
			fmt.Fprintf(&s.b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, s.x(at.x), s.y(at.y), of.Colour)
		}
		s.line(points, of.Colour, "")
	}
	return s.svg()
}

// rocSVG draws ROC curves.
func rocSVG(curves []judgedCurve) string {
	s := newSquare("ROC", "The area under everybody's curve is the AUC: "+curves[0].of.AUC.Words(3)+".", "1 − specificity", "sensitivity", func(v float64) string { return fmt.Sprintf("%.1f", v) })
	s.line([]chartPoint{{x: 0, y: 0}, {x: 1, y: 1}}, chartGrey, ` stroke-dasharray="7 5"`)
	for _, of := range curves {
		var points []chartPoint
		for _, p := range of.of.ROC() {
			points = append(points, chartPoint{x: p[0], y: p[1]})
		}
		s.line(points, of.Colour, "")
	}
	return s.svg()
}
