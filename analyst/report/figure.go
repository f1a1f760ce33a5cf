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
	Figures []figure
}

type figure struct {
	Picture template.HTML
	Caption string
	Legend  []legendEntry
	Plotted table
}

type legendEntry struct{ Name, Colour string }

func newFigures(all []study.ReportFigure) (groups []figureGroup) {
	for _, f := range all {
		if len(groups) == 0 || groups[len(groups)-1].Title != f.Group {
			groups = append(groups, figureGroup{Title: f.Group})
		}
		// safe: figureSVG escapes its texts
		drawn := figure{Picture: template.HTML(figureSVG(f)), Caption: f.Caption,
			Plotted: newTable(f.Table)}
		for i, line := range f.Lines {
			drawn.Legend = append(drawn.Legend, legendEntry{line.Name, Colours[i%len(Colours)]})
		}
		last := &groups[len(groups)-1]
		last.Figures = append(last.Figures, drawn)
	}
	return groups
}

// The square frame of a figure, in units of its view box.
const squareWidth, squareHeight, squareLeft, squareTop, squareSize = 420.0, 420.0, 56.0, 10.0, 350.0

func acrossOf(v float64) float64 { return squareLeft + v*squareSize }
func downOf(v float64) float64   { return squareTop + (1-v)*squareSize }

func figureSVG(f study.ReportFigure) string {
	var b strings.Builder
	var words strings.Builder
	for _, p := range f.Lines[0].Points {
		fmt.Fprintf(&words, "%.3g: %.2f; ", f.From+p.X*(f.To-f.From), p.Y)
	}
	OpenSVG(&b, squareWidth, squareHeight, f.Title,
		f.Lines[0].Name+", "+f.Y+" by "+f.X+": "+words.String())
	for k := range 6 {
		v := float64(k) / 5
		fmt.Fprintf(&b, `<path d="M%.1f %.1fh%.0fM%.1f %.1fv%.0f" stroke="currentColor" stroke-opacity=".15"/>`, acrossOf(0), downOf(v), squareSize, acrossOf(v), downOf(1), squareSize)
		label(&b, acrossOf(0)-8, downOf(v)+5, "end", fmt.Sprintf("%.1f", v))
		at, anchor := acrossOf(v), "middle"
		if k == 5 { // long numbers stay inside the frame
			at, anchor = squareWidth-2, "end"
		}
		label(&b, at, downOf(0)+18, anchor, fmt.Sprintf("%.4g", f.From+v*(f.To-f.From)))
	}
	label(&b, acrossOf(.5), squareHeight-8, "middle", f.X)
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
				fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, acrossOf(p.X), downOf(p.Y), colour)
			}
		}
		if f.Bands {
			band(&b, line.Points, colour)
		}
		if len(line.Points) > 0 {
			polyline(&b, line.Points, colour, "")
		}
	}
	return b.String() + "</svg>\n"
}

func polyline(b *strings.Builder, points []study.ReportPoint, colour, more string) {
	at := make([]string, len(points))
	for i, p := range points {
		at[i] = fmt.Sprintf("%.1f,%.1f", acrossOf(p.X), downOf(p.Y))
	}
	fmt.Fprintf(b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`, strings.Join(at, " "), colour, more)
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
