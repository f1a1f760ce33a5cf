package main

import (
	"fmt"
	"html"
	"strings"

	"caucus/analyst/report"
)

// ratioPlot draws an SVG of each class's share with its interval, and a tick at its share in the
// study's sets.
func ratioPlot(d ratioEstimate) string {
	const left, width, line = 160, 480, 28
	height := line*len(d.Classes) + 70
	x := func(share float64) float64 { return left + width*share }
	var b strings.Builder
	words := make([]string, len(d.Classes))
	for k, c := range d.Classes {
		if d.NoInterval != "" {
			words[k] = fmt.Sprintf("%s %.3f (no interval; %.3f in the sets)", c.Class, c.Share,
				c.Training)
			continue
		}
		words[k] = fmt.Sprintf("%s %.3f (%.3f to %.3f; %.3f in the sets)", c.Class, c.Share, c.Low,
			c.High, c.Training)
	}
	interval := "95 % interval"
	if d.NoInterval != "" {
		interval = "no interval"
	}
	report.OpenSVG(&b, left+width+40, float64(height), "Class shares with 95 % intervals",
		strings.Join(words, "; "))
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/>`+"\n")
	for i := range 6 {
		at := x(float64(i) / 5)
		fmt.Fprintf(&b, `<line x1="%.1f" y1="20" x2="%.1f" y2="%d" stroke="#ddd"/><text x="%.1f" y="14" text-anchor="middle" fill="#555">%.1f</text>`+"\n", at, at, height-45, at, float64(i)/5)
	}
	for k, class := range d.Classes {
		y := 20 + line*k + line/2
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-10, y+4, html.EscapeString(class.Class))
		if d.NoInterval == "" {
			fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#4477aa" stroke-width="3"/>`+"\n", x(class.Low), y, x(class.High), y)
		}
		fmt.Fprintf(&b, `<circle cx="%.1f" cy="%d" r="5" fill="#4477aa"/>`+"\n", x(class.Share), y)
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#cc6677" stroke-width="2"/>`+"\n", x(class.Training), y-8, x(class.Training), y+8)
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#4477aa">● share in this file, %s</text><text x="%d" y="%d" fill="#cc6677">| share in the study's sets</text>`+"\n", left, height-24, interval, left+260, height-24)
	if d.Drift {
		fmt.Fprintf(&b, `<text x="%d" y="%d" fill="#aa3377">no mixture of the classes looks like this file: doubt the estimate</text>`+"\n", left, height-6)
	}
	b.WriteString("</svg>\n")
	return b.String()
}
