package main

import (
	"fmt"
	"html/template"
	"math"
	"strconv"

	"caucus/study"
)

// dots shows a study.ReportChart as a table: each number with its dot on one axis beside it.
// Without sight the numbers remain, and the picture has no text, so it fits every width.
type dots struct {
	Title, Note string
	Rows        []dotsRow
	From, To    string // ends of the axis
}

type dotsRow struct {
	Name, Value string
	Main        bool
	Strip       template.HTML
}

// newDots lays a chart out; nil for none.
func newDots(c *study.ReportChart) *dots {
	if c == nil || len(c.Bars) == 0 {
		return nil
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, b := range c.Bars {
		low, high = min(low, b.Low, b.Value), max(high, b.High, b.Value)
	}
	step := niceStep(max(high-low, 1e-9))
	from, to := step*math.Floor(low/step), step*math.Ceil(high/step)
	if c.Percent {
		from, to = max(from, 0), min(max(to, high), 1)
	}
	if !(to > from) {
		from, to = from-step, to+step
	}
	place := func(v float64) float64 { return 2 + 96*(min(max(v, from), to)-from)/(to-from) }
	d := &dots{Title: c.Title, Note: c.Note, From: chartTextOf(c, from), To: chartTextOf(c, to)}
	for _, b := range c.Bars {
		value := chartTextOf(c, b.Value)
		strip := `<svg aria-hidden="true" focusable="false" height="22"><line class="axis" x1="2%" x2="98%" y1="11" y2="11"/>`
		if b.High > b.Low {
			value += off(c, b)
			strip += fmt.Sprintf(`<line class="range" x1="%.2f%%" x2="%.2f%%" y1="11" y2="11" stroke-width="4"/>`, place(b.Low), place(b.High))
		}
		strip += fmt.Sprintf(`<circle class="at" cx="%.2f%%" cy="11" r="6"/></svg>`, place(b.Value))
		d.Rows = append(d.Rows, dotsRow{Name: b.Name, Value: value, Main: b.Main, Strip: template.HTML(strip)}) // made of numbers
	}
	return d
}

func chartTextOf(c *study.ReportChart, v float64) string {
	if c.Percent {
		return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// off writes a number's error.
func off(c *study.ReportChart, b study.ReportBar) string {
	if math.Abs(b.High-2*b.Value+b.Low) < 1e-9*(b.High-b.Low)+1e-12 {
		return " ± " + chartTextOf(c, (b.High-b.Low)/2)
	}
	return " (" + chartTextOf(c, b.Low) + " to " + chartTextOf(c, b.High) + ")"
}
