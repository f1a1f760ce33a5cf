package main

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// figure is curves of means over draws, each with a band of ± 1 standard deviation.
type figure struct {
	Title, X, Y string
	LogX, LogY  bool
	Curves      []curve
	// Lines are straight, for references such as the majority class.
	Lines []reference
}

type curve struct {
	Name   string
	Points []point
	Dashed bool
}

// point is a mean with its standard deviation.
type point struct{ X, Y, SD float64 }

// reference is a horizontal line, or y = x.
type reference struct {
	Name     string
	Y        float64
	Identity bool
}

// curveOf is a method's curve: the mean of one column at each number of another.
func curveOf(name string, r *results, x, y string) curve {
	c := curve{Name: name}
	for _, at := range r.numbers(x) {
		if m := r.where(x, at).over(y); m.N > 0 {
			c.Points = append(c.Points, point{at, m.Mean, m.SD})
		}
	}
	return c
}

// palette is eight colours that the colour-blind can tell apart (Okabe & Ito 2008), black last.
var palette = []color.NRGBA{
	{0, 114, 178, 255}, {213, 94, 0, 255}, {0, 158, 115, 255}, {204, 121, 167, 255},
	{230, 159, 0, 255}, {86, 180, 233, 255}, {150, 130, 20, 255}, {60, 60, 60, 255},
}

// save writes the figure as SVG, its legend beside the curves.
func (f figure) save(name string) error {
	p, legend := plot.New(), plot.NewLegend()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = f.Title, f.X, f.Y
	legend.Top, legend.Left, legend.YPosition = true, true, draw.PosCenter
	legend.Padding, legend.ThumbnailWidth = vg.Points(3), vg.Points(20)
	p.Add(plotter.NewGrid())
	low, high := math.Inf(1), math.Inf(-1)
	for i, c := range f.Curves {
		c.Points = slices.DeleteFunc(slices.Clone(c.Points), func(q point) bool {
			bad := math.IsNaN(q.Y) || math.IsInf(q.Y, 0)
			return bad || f.LogX && q.X <= 0 || f.LogY && q.Y <= 0
		})
		if len(c.Points) == 0 {
			continue
		}
		low, high = min(low, c.Points[0].X), max(high, c.Points[len(c.Points)-1].X)
		if err := c.add(p, &legend, i, f.LogY); err != nil {
			return err
		}
	}
	dashes := [][]vg.Length{{vg.Points(8), vg.Points(3)}, {vg.Points(2), vg.Points(3)}}
	for i, r := range f.Lines {
		if math.IsInf(low, 1) {
			break
		}
		ends := plotter.XYs{{X: low, Y: r.Y}, {X: high, Y: r.Y}}
		if r.Identity {
			ends = plotter.XYs{{X: low, Y: low}, {X: high, Y: high}}
		}
		line, err := plotter.NewLine(ends)
		if err != nil {
			return err
		}
		line.Color, line.Dashes = color.Gray{120}, dashes[i%len(dashes)]
		p.Add(line)
		legend.Add(r.Name, line)
	}
	if f.LogX && high > low {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, decades{}
	}
	if f.LogY && !math.IsInf(low, 1) {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, decades{}
	}
	const width, height, beside = 25 * vg.Centimeter, 11 * vg.Centimeter, 9 * vg.Centimeter
	canvas := vgsvg.New(width, height)
	all := draw.New(canvas)
	p.Draw(draw.Crop(all, 0, -beside, 0, -vg.Points(5)))
	legend.Draw(draw.Crop(all, width-beside+vg.Points(6), 0, 0, -vg.Points(20)))
	return writeFile(name, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}

// decades marks a log axis, its ends included: powers of ten, with 3 between
// them over less than five of them, or with 2 and 5 over less than one and a half.
type decades struct{}

func (decades) Ticks(low, high float64) []plot.Tick {
	labelled := []float64{1}
	switch span := math.Log10(high / low); {
	case span < 1.5:
		labelled = []float64{1, 2, 5}
	case span < 5:
		labelled = []float64{1, 3}
	}
	var ticks []plot.Tick
	for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
		for m := 1.0; m < 10; m++ {
			x, _ := strconv.ParseFloat(fmt.Sprintf("%ge%g", m, e), 64)
			if x < low*(1-1e-9) || x > high*(1+1e-9) {
				continue
			}
			t := plot.Tick{Value: min(max(x, low), high)}
			if slices.Contains(labelled, m) {
				t.Label = strconv.FormatFloat(x, 'g', -1, 64)
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

func (c curve) add(p *plot.Plot, legend *plot.Legend, i int, positive bool) error {
	shade := palette[i%len(palette)]
	band, line := plotter.XYs{}, plotter.XYs{}
	for _, q := range c.Points {
		line = append(line, plotter.XY{X: q.X, Y: q.Y})
		band = append(band, plotter.XY{X: q.X, Y: q.Y + q.SD})
	}
	for _, q := range slices.Backward(c.Points) {
		bottom := q.Y - q.SD
		if positive && bottom <= 0 {
			bottom = q.Y / 3
		}
		band = append(band, plotter.XY{X: q.X, Y: bottom})
	}
	if len(c.Points) > 1 {
		area, err := plotter.NewPolygon(band)
		if err != nil {
			return err
		}
		area.LineStyle.Width = 0
		area.Color = color.NRGBA{shade.R, shade.G, shade.B, 40}
		p.Add(area)
	}
	l, marks, err := plotter.NewLinePoints(line)
	if err != nil {
		return err
	}
	l.Color, l.Width = shade, vg.Points(1.3)
	if c.Dashed || i >= len(palette) {
		l.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	}
	marks.Color, marks.Shape, marks.Radius = shade, draw.CircleGlyph{}, vg.Points(2)
	p.Add(l, marks)
	legend.Add(c.Name, l, marks)
	return nil
}
