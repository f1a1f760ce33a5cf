package main

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// chart draws numbers against a budget as SVG without other files. Text takes the page's colour;
// words describe the drawing for those who cannot see it. The page prints the legend, which wraps
// on a phone.
type chart struct {
	title, words string
	x, y         string
	ticks        []float64 // marks of the logarithmic x axis; those outside are left out
	low, high    float64   // of the y axis
	series       []series
}

type series struct {
	name   string
	colour string
	style  seriesStyle
	points []chartPoint
}

// chartPoint is a number with its standard deviation, 0 for none.
type chartPoint struct{ x, y, sd float64 }

type seriesStyle int

const (
	lineAndDots seriesStyle = iota
	dashedLine
	dottedLine
	triangles
	// shaded fills the area within sd of the points.
	shaded
)

// chartColours differ for all kinds of eyes on white and black (Okabe & Ito 2008).
var chartColours = []string{"#2c8fd1", "#d55e00", "#009e73", "#cc79a7"}

// chartGrey draws baselines.
const chartGrey = "#8a8a8a"

// The frame of a chart, in units of its view box.
const (
	chartWidth, chartHeight                      = 440.0, 320.0
	chartLeft, chartRight, chartTop, chartBottom = 62.0, 14.0, 12.0, 48.0
)

func (c chart) svg() string {
	left, right := math.Inf(1), math.Inf(-1)
	for _, s := range c.series {
		for _, p := range s.points {
			left, right = min(left, math.Log(p.x)), max(right, math.Log(p.x))
		}
	}
	if !(right > left) { // one point, or none
		left, right = left-1, left+1
	}
	x := func(v float64) float64 {
		return chartLeft + 12 + (math.Log(v)-left)/(right-left)*(chartWidth-chartLeft-chartRight-24)
	}
	y := func(v float64) float64 {
		return chartTop + (c.high-v)/(c.high-c.low)*(chartHeight-chartTop-chartBottom)
	}
	var b strings.Builder
	openSVG(&b, chartWidth, chartHeight, c.title, c.words)
	step := niceStep(c.high - c.low)
	for k := math.Ceil(c.low/step - 1e-9); k*step <= c.high+1e-9; k++ {
		v := k * step
		fmt.Fprintf(&b, `<line x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f" stroke="currentColor" stroke-opacity=".15"/>`, chartLeft, chartWidth-chartRight, y(v), y(v))
		label(&b, chartLeft-8, y(v)+5, "end", strconv.FormatFloat(v, 'f', decimals(step), 64))
	}
	for _, v := range c.ticks {
		if at := math.Log(v); at < left-1e-9 || at > right+1e-9 {
			continue
		}
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.0f" y2="%.0f" stroke="currentColor" stroke-opacity=".15"/>`, x(v), x(v), chartTop, chartHeight-chartBottom)
		label(&b, x(v), chartHeight-chartBottom+18, "middle", strconv.FormatFloat(v, 'g', -1, 64))
	}
	label(&b, (chartLeft+chartWidth-chartRight)/2, chartHeight-8, "middle", c.x)
	fmt.Fprintf(&b, `<text transform="translate(16 %.0f) rotate(-90)" text-anchor="middle" fill="currentColor">%s</text>`, (chartTop+chartHeight-chartBottom)/2, html.EscapeString(c.y))
	for _, s := range c.series {
		s.draw(&b, x, y)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// draw adds the series; x and y place its numbers.
func (s series) draw(b *strings.Builder, x, y func(float64) float64) {
	if s.style == shaded {
		var above, below []string
		for i, p := range s.points {
			above = append(above, fmt.Sprintf("%.1f,%.1f", x(p.x), y(p.y+p.sd)))
			p = s.points[len(s.points)-1-i]
			below = append(below, fmt.Sprintf("%.1f,%.1f", x(p.x), y(p.y-p.sd)))
		}
		fmt.Fprintf(b, `<polygon points="%s %s" fill="%s" fill-opacity=".18"/>`, strings.Join(above, " "), strings.Join(below, " "), s.colour)
		return
	}
	if s.style != triangles {
		at := make([]string, len(s.points))
		for i, p := range s.points {
			at[i] = fmt.Sprintf("%.1f,%.1f", x(p.x), y(p.y))
		}
		dashes := map[seriesStyle]string{dashedLine: ` stroke-dasharray="7 5"`, dottedLine: ` stroke-dasharray="2 4"`}[s.style]
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, strings.Join(at, " "), s.colour, dashes)
	}
	for _, p := range s.points {
		if p.sd > 0 {
			fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="1.5"/>`, x(p.x), x(p.x), y(p.y-p.sd), y(p.y+p.sd), s.colour)
		}
		switch s.style {
		case lineAndDots:
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`, x(p.x), y(p.y), s.colour)
		case triangles:
			fmt.Fprintf(b, `<path d="M%.1f %.1fl8 14h-16z" fill="%s" stroke="currentColor"/>`, x(p.x), y(p.y)-9, s.colour)
		}
	}
}

// legend lists the series and their marks as HTML.
func (c chart) legend() string {
	var b strings.Builder
	b.WriteString(`<ul class="legend">`)
	for _, s := range c.series {
		b.WriteString(`<li><svg viewBox="0 0 30 16" width="30" height="16" aria-hidden="true">`)
		at := []chartPoint{{x: 2, y: 8}, {x: 28, y: 8}}
		if s.style == lineAndDots || s.style == triangles {
			at = slices.Insert(at, 1, chartPoint{x: 15, y: 8})
		}
		switch s.style {
		case triangles:
			at = at[1:2]
		case shaded:
			at[0].sd, at[1].sd = 6, 6
		}
		same := func(v float64) float64 { return v }
		series{colour: s.colour, style: s.style, points: at}.draw(&b, same, same)
		fmt.Fprintf(&b, `</svg> %s</li>`, html.EscapeString(s.name))
	}
	b.WriteString("</ul>\n")
	return b.String()
}

// openSVG begins a drawing with its title and description.
func openSVG(b *strings.Builder, width, height float64, title, words string) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" font-family="system-ui, sans-serif" font-size="14">`+"\n"+`<title>%s</title><desc>%s</desc>`+"\n",
		width, height, html.EscapeString(title), html.EscapeString(words))
}

func label(b *strings.Builder, x, y float64, anchor, text string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="currentColor">%s</text>`, x, y, anchor, html.EscapeString(text))
}

// niceStep divides a range into about five steps of 1, 2 or 5 times a power of ten.
func niceStep(width float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(width/5)))
	for _, k := range []float64{1, 2, 5} {
		if k*power >= width/5-1e-12 {
			return k * power
		}
	}
	return 10 * power
}

// decimals counts the decimals of a multiple of step.
func decimals(step float64) int { return max(0, int(math.Ceil(-math.Log10(step)-1e-9))) }
