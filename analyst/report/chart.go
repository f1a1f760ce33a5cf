package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Chart draws numbers against a budget, as an SVG that needs no other file. Text has the page's
// colour. Words describes the drawing for people who cannot see it. The legend is separate HTML, so
// that it wraps on a phone.
type Chart struct {
	Title, Words string
	X, Y         string
	Ticks        []float64 // marks of the logarithmic x axis; those beyond its ends are left out
	Low, High    float64   // ends of the y axis
	Series       []Series
}

// Series is one line or area of a chart. Each X must be above 0, as its axis is logarithmic. Colour
// is CSS, mostly one of Colours.
type Series struct {
	Name   string
	Colour string
	Style  Style
	Points []Point
}

// Point is a point of a series. SD is the standard deviation of Y, 0 if Y has none.
type Point struct{ X, Y, SD float64 }

// Style is the drawing style of a series.
type Style int

// Styles differ in form and not only in colour, for readers who print in black or see no colours.
const (
	LineAndDots Style = iota
	DashedLine
	DottedLine
	Triangles
	// Shaded fills the area from Y − SD to Y + SD.
	Shaded
)

// Colours can be distinguished with all kinds of colour vision, on white and black (Okabe & Ito
// 2008).
var Colours = []string{"#2c8fd1", "#d55e00", "#009e73", "#cc79a7"}

// Grey draws what is there for comparison, such as one site alone.
const Grey = "#8a8a8a"

// The frame of a chart, in units of its view box.
const (
	chartWidth, chartHeight                      = 440.0, 320.0
	chartLeft, chartRight, chartTop, chartBottom = 62.0, 14.0, 12.0, 48.0
)

// SVG returns an element of 440 by 320 units that scales with its frame. X is logarithmic, so each
// X must be above 0. Text is escaped.
func (c Chart) SVG() string {
	left, right := math.Inf(1), math.Inf(-1)
	for _, s := range c.Series {
		for _, p := range s.Points {
			left, right = min(left, math.Log(p.X)), max(right, math.Log(p.X))
		}
	}
	if !(right > left) { // there is at most one point
		left, right = left-1, left+1
	}
	x := func(v float64) float64 {
		return chartLeft + 12 + (math.Log(v)-left)/(right-left)*(chartWidth-chartLeft-chartRight-24)
	}
	y := func(v float64) float64 {
		return chartTop + (c.High-v)/(c.High-c.Low)*(chartHeight-chartTop-chartBottom)
	}
	var b strings.Builder
	OpenSVG(&b, chartWidth, chartHeight, c.Title, c.Words)
	step := niceStep(c.High - c.Low)
	for k := math.Ceil(c.Low/step - 1e-9); k*step <= c.High+1e-9; k++ {
		v := k * step
		fmt.Fprintf(&b, `<line x1="%.0f" x2="%.0f" y1="%.1f" y2="%.1f" stroke="currentColor" stroke-opacity=".15"/>`, chartLeft, chartWidth-chartRight, y(v), y(v))
		label(&b, chartLeft-8, y(v)+5, "end", strconv.FormatFloat(v, 'f', decimals(step), 64))
	}
	for _, v := range c.Ticks {
		if at := math.Log(v); at < left-1e-9 || at > right+1e-9 {
			continue
		}
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.0f" y2="%.0f" stroke="currentColor" stroke-opacity=".15"/>`, x(v), x(v), chartTop, chartHeight-chartBottom)
		label(&b, x(v), chartHeight-chartBottom+18, "middle", strconv.FormatFloat(v, 'g', -1, 64))
	}
	label(&b, (chartLeft+chartWidth-chartRight)/2, chartHeight-8, "middle", c.X)
	fmt.Fprintf(&b, `<text transform="translate(16 %.0f) rotate(-90)" text-anchor="middle" fill="currentColor">%s</text>`, (chartTop+chartHeight-chartBottom)/2, html.EscapeString(c.Y))
	for _, s := range c.Series {
		s.draw(&b, x, y)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func (s Series) draw(b *strings.Builder, x, y func(float64) float64) {
	if s.Style == Shaded {
		var above, below []string
		for i, p := range s.Points {
			above = append(above, fmt.Sprintf("%.1f,%.1f", x(p.X), y(p.Y+p.SD)))
			p = s.Points[len(s.Points)-1-i]
			below = append(below, fmt.Sprintf("%.1f,%.1f", x(p.X), y(p.Y-p.SD)))
		}
		fmt.Fprintf(b, `<polygon points="%s %s" fill="%s" fill-opacity=".18"/>`, strings.Join(above, " "), strings.Join(below, " "), s.Colour)
		return
	}
	if s.Style != Triangles {
		at := make([]string, len(s.Points))
		for i, p := range s.Points {
			at[i] = fmt.Sprintf("%.1f,%.1f", x(p.X), y(p.Y))
		}
		dashes := map[Style]string{DashedLine: ` stroke-dasharray="7 5"`, DottedLine: ` stroke-dasharray="2 4"`}[s.Style]
		fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, strings.Join(at, " "), s.Colour, dashes)
	}
	for _, p := range s.Points {
		if p.SD > 0 {
			fmt.Fprintf(b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" stroke-width="1.5"/>`, x(p.X), x(p.X), y(p.Y-p.SD), y(p.Y+p.SD), s.Colour)
		}
		switch s.Style {
		case LineAndDots:
			fmt.Fprintf(b, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`, x(p.X), y(p.Y), s.Colour)
		case Triangles:
			fmt.Fprintf(b, `<path d="M%.1f %.1fl8 14h-16z" fill="%s" stroke="currentColor"/>`, x(p.X), y(p.Y)-9, s.Colour)
		}
	}
}

// Legend lists the series and their marks as HTML.
func (c Chart) Legend() string {
	var b strings.Builder
	b.WriteString(`<ul class="legend">`)
	for _, s := range c.Series {
		b.WriteString(`<li><svg viewBox="0 0 30 16" width="30" height="16" aria-hidden="true">`)
		at := []Point{{X: 2, Y: 8}, {X: 28, Y: 8}}
		if s.Style == LineAndDots || s.Style == Triangles {
			at = slices.Insert(at, 1, Point{X: 15, Y: 8})
		}
		switch s.Style {
		case Triangles:
			at = at[1:2]
		case Shaded:
			at[0].SD, at[1].SD = 6, 6
		}
		same := func(v float64) float64 { return v }
		Series{Colour: s.Colour, Style: s.Style, Points: at}.draw(&b, same, same)
		fmt.Fprintf(&b, `</svg> %s</li>`, html.EscapeString(s.Name))
	}
	b.WriteString("</ul>\n")
	return b.String()
}

// CombineCharts draws charts as one picture, two per row and without shaded areas, above the first
// chart's legend.
func CombineCharts(charts []Chart, title, words string) string {
	const legendHeight = 30
	height := chartHeight * float64((len(charts)+1)/2)
	var b strings.Builder
	OpenSVG(&b, 2*chartWidth, height+legendHeight, title, words)
	for i, c := range charts {
		b.WriteString(strings.Replace(c.SVG(), "<svg ", fmt.Sprintf(`<svg x="%.0f" y="%.0f" width="%.0f" height="%.0f" `, float64(i%2)*chartWidth, float64(i/2)*chartHeight, chartWidth, chartHeight), 1))
	}
	for i, s := range charts[0].Series[1:] {
		x := 60 + float64(i)*290
		same := func(v float64) float64 { return v }
		Series{Colour: s.Colour, Style: s.Style,
			Points: []Point{{X: x, Y: height + 12}, {X: x + 40, Y: height + 12}}}.draw(&b, same,
			same)
		label(&b, x+50, height+17, "start", s.Name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// OpenSVG writes an svg element's start with title and description for screen readers, both
// escaped; the caller writes the end. Sizes are units of the view box.
func OpenSVG(b *strings.Builder, width, height float64, title, words string) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" role="img" font-family="system-ui, sans-serif" font-size="14">`+"\n"+`<title>%s</title><desc>%s</desc>`+"\n",
		width, height, html.EscapeString(title), html.EscapeString(words))
}

func label(b *strings.Builder, x, y float64, anchor, text string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" fill="currentColor">%s</text>`, x, y, anchor, html.EscapeString(text))
}

func niceStep(width float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(width/5)))
	for _, k := range []float64{1, 2, 5} {
		if k*power >= width/5-1e-12 {
			return k * power
		}
	}
	return 10 * power
}

func decimals(step float64) int { return max(0, int(math.Ceil(-math.Log10(step)-1e-9))) }
