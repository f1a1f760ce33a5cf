package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

//go:embed demopage.html
var demoPage string

// writeDemoPage writes a page without outside assets.
func writeDemoPage(w io.Writer, r demoReport) error {
	figure, err := demoFigure(r)
	if err != nil {
		return err
	}
	t, err := template.New("report").Funcs(template.FuncMap{
		"percent": func(v float64) string { return fmt.Sprintf("%.1f %%", 100*v) },
		"short":   func(v any) string { return fmt.Sprint(v)[:12] },
		"number":  func(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) },
	}).Parse(demoPage)
	if err != nil {
		return err
	}
	return t.Execute(w, struct {
		demoReport
		NearlyClear float64
		Figure      template.HTML
	}{r, nearlyClear, template.HTML(figure)}) // drawn here from numbers alone
}

// The colours of the studies, told apart by eyes of all kinds (Okabe & Ito
// 2008).
var demoColours = []color.RGBA{{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255}}

// demoFigure draws accuracy against ε as SVG: simulated lines with bars of one
// standard deviation, the real releases as diamonds, and for each study the
// unperturbed and majority lines.
func demoFigure(r demoReport) (string, error) {
	p := plot.New()
	sans := font.Font{Typeface: "Liberation", Variant: "Sans"}
	p.X.Label.Text, p.Y.Label.Text = "privacy budget ε (smaller protects more)", "accuracy on test records"
	for _, style := range []*draw.TextStyle{&p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font = font.From(sans, 11)
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, budgets{}
	p.Legend.Top, p.Legend.Left, p.Legend.Padding = false, false, vg.Points(3)
	p.Add(plotter.NewGrid())
	low := 1.0
	for i, c := range r.Curves {
		shade := demoColours[i%len(demoColours)]
		var line plotter.XYs
		var bars errorBars
		for _, x := range c.Points {
			line = append(line, plotter.XY{X: x.Epsilon, Y: x.Accuracy})
			bars.XYs = append(bars.XYs, plotter.XY{X: x.Epsilon, Y: x.Accuracy})
			bars.YErrors = append(bars.YErrors, struct{ Low, High float64 }{x.SD, x.SD})
			low = math.Min(low, x.Accuracy-x.SD)
		}
		low = math.Min(low, c.Majority)
		curve, dots, err := plotter.NewLinePoints(line)
		if err != nil {
			return "", err
		}
		curve.Color, curve.Width, dots.Color, dots.Shape = shade, vg.Points(2), shade, draw.CircleGlyph{}
		whiskers, err := plotter.NewYErrorBars(bars)
		if err != nil {
			return "", err
		}
		whiskers.Color = shade
		p.Add(curve, dots, whiskers)
		p.Legend.Add(c.Study+", simulated", curve, dots)
		ends := func(y float64) plotter.XYs {
			return plotter.XYs{{X: c.Points[0].Epsilon, Y: y}, {X: c.Points[len(c.Points)-1].Epsilon, Y: y}}
		}
		flat, err := plotter.NewLine(ends(c.Unperturbed))
		if err != nil {
			return "", err
		}
		flat.Color, flat.Dashes = shade, []vg.Length{vg.Points(6), vg.Points(4)}
		p.Add(flat)
		p.Legend.Add(c.Study+", without noise", flat)
		if i == len(r.Curves)-1 {
			bottom, err := plotter.NewLine(ends(c.Majority))
			if err != nil {
				return "", err
			}
			bottom.Color, bottom.Dashes = color.Gray{110}, []vg.Length{vg.Points(2), vg.Points(3)}
			p.Add(bottom)
			p.Legend.Add("majority class", bottom)
		}
	}
	for i, s := range r.Studies[:len(r.Curves)] { // the curves are of the first studies
		real, err := plotter.NewScatter(plotter.XYs{{X: s.Epsilon, Y: s.Measure.Released}})
		if err != nil {
			return "", err
		}
		real.Color, real.Radius, real.Shape = demoColours[i%len(demoColours)], vg.Points(6), draw.PyramidGlyph{}
		p.Add(real)
		p.Legend.Add(s.Name+", this run", real)
	}
	p.Y.Min, p.Y.Max = math.Max(0, math.Floor(20*low)/20), math.Min(1, p.Y.Max+0.01)
	canvas := vgsvg.New(8*vg.Inch, 4.2*vg.Inch)
	p.Draw(draw.New(canvas))
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return "", err
	}
	// The XML declaration has no place inside a page.
	svg := out.Bytes()
	return string(svg[bytes.Index(svg, []byte("<svg")):]), nil
}

// errorBars is what plotter.NewYErrorBars reads.
type errorBars struct {
	plotter.XYs
	plotter.YErrors
}

// budgets marks the usual budgets on a logarithmic axis.
type budgets struct{}

func (budgets) Ticks(low, high float64) []plot.Tick {
	var out []plot.Tick
	for _, e := range []float64{0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30} {
		if e >= low*0.999 && e <= high*1.001 {
			out = append(out, plot.Tick{Value: e, Label: strconv.FormatFloat(e, 'g', -1, 64)})
		}
	}
	return out
}
