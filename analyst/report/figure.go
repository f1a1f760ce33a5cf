package report

import (
	"fmt"
	"html"
	"html/template"
	"slices"
	"strings"

	"caucus/study"
)

type figureGroup struct {
	Title   string
	Figures []*Figure
}

// Figure is a picture of lines with its words; template "curve" shows it.
type Figure struct {
	Picture template.HTML
	Caption string
	Legend  []legendEntry
	Plotted table
}

type legendEntry struct {
	Name, Colour string
	Dashes       template.HTMLAttr
}

func newFigures(all []study.ReportFigure) []figureGroup {
	var groups []figureGroup
	for _, f := range all {
		if len(groups) == 0 || groups[len(groups)-1].Title != f.Group {
			groups = append(groups, figureGroup{Title: f.Group})
		}
		last := &groups[len(groups)-1]
		last.Figures = append(last.Figures, NewFigure(f))
	}
	return groups
}

// NewFigure draws a figure as SVG, with its legend and a table of the plotted numbers.
func NewFigure(f study.ReportFigure) *Figure {
	// safe: figureSVG escapes its texts
	drawn := Figure{Picture: template.HTML(figureSVG(f)), Caption: f.Caption,
		Plotted: newTable(f.Table)}
	for i, line := range f.Lines[len(f.Below.Rows):] { // rows below are a legend
		drawn.Legend = append(drawn.Legend, legendEntry{line.Name, Colours[i%len(Colours)],
			template.HTMLAttr(dashes(i))})
	}
	return &drawn
}

// The square frame of a figure, in units of its view box, and the height of a row below it.
const (
	squareWidth, squareHeight, squareLeft, squareTop, squareSize = 420.0, 420.0, 56.0, 10.0, 350.0
	squareRow                                                    = 19.0
)

func acrossOf(v float64) float64 { return squareLeft + v*squareSize }
func downOf(v float64) float64   { return squareTop + (1-v)*squareSize }

func figureSVG(f study.ReportFigure) string {
	var b strings.Builder
	var words strings.Builder
	for _, p := range f.Lines[0].Points {
		fmt.Fprintf(&words, "%.3g: %.2f; ", f.From+p.X*(f.To-f.From), p.Y)
	}
	height := squareHeight
	if rows := len(f.Below.Rows); rows > 0 {
		height += squareRow * float64(1+2*rows)
	}
	OpenSVG(&b, squareWidth, height, f.Title,
		f.Lines[0].Name+", "+f.Y+" by "+f.X+": "+words.String())
	marks, texts := f.Marks, f.Below.Head
	for k := range 6 {
		v := float64(k) / 5
		fmt.Fprintf(&b, `<path d="M%.1f %.1fh%.0f" stroke="currentColor" stroke-opacity=".15"/>`, acrossOf(0), downOf(v), squareSize)
		label(&b, acrossOf(0)-8, downOf(v)+5, "end", fmt.Sprintf("%.1f", v))
		if len(f.Marks) == 0 {
			marks = append(marks, f.From+v*(f.To-f.From))
		}
	}
	for k, v := range marks {
		v, text := (v-f.From)/(f.To-f.From), fmt.Sprintf("%.4g", v)
		if k+1 < len(texts) {
			text = texts[k+1]
		}
		fmt.Fprintf(&b, `<path d="M%.1f %.1fv%.0f" stroke="currentColor" stroke-opacity=".15"/>`, acrossOf(v), downOf(1), squareSize)
		numbers(&b, v, downOf(0)+18, text)
	}
	label(&b, acrossOf(.5), squareHeight-8, "middle", shortened(f.X))
	fmt.Fprintf(&b, `<text transform="translate(16 %.0f) rotate(-90)" text-anchor="middle" fill="currentColor">%s</text>`, downOf(.5), html.EscapeString(f.Y))
	if f.Diagonal {
		polyline(&b, []study.ReportPoint{{}, {X: 1, Y: 1}}, Grey, ` stroke-dasharray="7 5"`)
	}
	for i, line := range f.Lines {
		colour := Colours[i%len(Colours)]
		for _, p := range line.Points {
			if p.High > p.Low && !f.Bands {
				fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1f" stroke="%s" stroke-width="1.5"/>`, acrossOf(p.X), downOf(p.Low), downOf(p.High), colour)
			}
			if line.Dots {
				fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, acrossOf(p.X),
					downOf(p.Y), colour)
			}
		}
		if f.Bands {
			band(&b, line.Points, colour)
		}
		if len(line.Points) > 0 {
			polyline(&b, line.Points, colour, dashes(i))
		}
	}
	below(&b, f)
	return b.String() + "</svg>\n"
}

// dashes distinguish lines whose colours are alike in print, and lines of one colour.
func dashes(line int) string {
	return []string{"", ` stroke-dasharray="9 4"`, ` stroke-dasharray="3 3"`}[line%3]
}

// numbers writes a text below a place of the x axis. Long texts stay inside the frame.
func numbers(b *strings.Builder, v, y float64, text string) {
	at, anchor := acrossOf(v), "middle"
	if v > .99 {
		at, anchor = squareWidth-2, "end"
	}
	label(b, at, y, anchor, text)
}

func polyline(b *strings.Builder, points []study.ReportPoint, colour, more string) {
	at := make([]string, len(points))
	for i, p := range points {
		at[i] = fmt.Sprintf("%.1f,%.1f", acrossOf(p.X), downOf(p.Y))
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, strings.Join(at, " "), colour, more)
}

// shortened cuts a name so that it fits below a figure, whose table has all of it.
func shortened(name string) string {
	if all := []rune(name); len(all) > 44 {
		return string(all[:43]) + "…"
	}
	return name
}

// below writes the rows below a figure: each line with its name, above its texts.
func below(b *strings.Builder, f study.ReportFigure) {
	if len(f.Below.Rows) == 0 {
		return
	}
	y := squareHeight + squareRow - 5
	label(b, 2, y, "start", f.Below.Title)
	for i, row := range f.Below.Rows {
		fmt.Fprintf(b, `<path d="M2 %.1fh26" stroke="%s" stroke-width="3"%s/>`, y+squareRow-5, Colours[i%len(Colours)], dashes(i))
		label(b, 34, y+squareRow, "start", shortened(row[0]))
		y += 2 * squareRow
		for k, v := range f.Marks {
			numbers(b, (v-f.From)/(f.To-f.From), y, row[k+1])
		}
	}
}

// band fills the intervals of a line.
func band(b *strings.Builder, points []study.ReportPoint, colour string) {
	b.WriteString(`<path d="`)
	for i, p := range points {
		fmt.Fprintf(b, "%c%.1f %.1f", "ML"[min(i, 1)], acrossOf(p.X), downOf(p.High))
	}
	for _, p := range slices.Backward(points) {
		fmt.Fprintf(b, "L%.1f %.1f", acrossOf(p.X), downOf(p.Low))
	}
	fmt.Fprintf(b, `Z" fill="%s" fill-opacity=".18"/>`, colour)
}
