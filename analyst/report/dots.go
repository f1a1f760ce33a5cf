package report

import (
	"fmt"
	"html/template"
	"math"
	"strconv"

	"caucus/study"
)

// Dots shows a study.ReportChart as a table with a row for each number: its name, the number, and a
// dot with an interval on an axis that all rows share. The pictures have no text, so they fit every
// width.
type Dots struct {
	Title, Note string
	Rows        []dotsRow
	Ends        template.HTML // of the axis, and its mark
}

type dotsRow struct {
	Name, Value string
	Main        bool
	Strip       template.HTML
}

// NewDots lays out a chart. It is nil for a chart without bars.
func NewDots(c *study.ReportChart) *Dots {
	if c == nil || len(c.Bars) == 0 {
		return nil
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, b := range c.Bars {
		low, high = min(low, b.Low, b.Value), max(high, b.High, b.Value)
	}
	step := niceStep(max(high-low, 1e-9))
	from, to, scale := step*math.Floor(low/step), step*math.Ceil(high/step),
		func(v float64) float64 {
			return v
		}
	switch {
	case c.Ratio: // the axis always includes 1, and stays between 1/mostRatio and mostRatio
		from, to, scale = max(min(low, 1), 1/mostRatio), min(max(high, 1), mostRatio), math.Log
	case c.Whole:
		from, to = 0, 1
	case c.Percent:
		from, to = max(from, 0), min(max(to, high), 1)
	case c.Zero:
		from, to = min(from, 0), max(to, 0)
	}
	if !(to > from) {
		from, to = from-step, to+step
	}
	place := func(v float64) float64 {
		return 2 + 96*(scale(min(max(v, from), to))-scale(from))/(scale(to)-scale(from))
	}
	none, marked := 0., c.Ratio || c.Zero // no difference
	if c.Ratio {
		none = 1
	}
	d := &Dots{Title: c.Title, Note: c.Note}
	end := func(at float64, text, anchor string) { // safe: text is a number
		d.Ends += template.HTML(fmt.Sprintf(`<text x="%.2f%%" y="14"%s>%s</text>`, at, anchor,
			text))
	}
	// The mark has room where it stands.
	if !marked || place(none) == 2 || place(none) > leastRoom {
		end(2, textOf(c, from), "")
	}
	if !marked || place(none) == 98 || place(none) < 100-leastRoom {
		end(98, textOf(c, to), ` text-anchor="end"`)
	}
	if marked && place(none) > 2 && place(none) < 98 {
		end(place(none), strconv.Itoa(int(none)), ` text-anchor="middle"`)
	}
	for _, b := range c.Bars {
		value := textWithin(c, b.Value, (b.High-b.Low)/2)
		strip := `<svg aria-hidden="true" focusable="false" height="22"><line class="axis" x1="2%" x2="98%" y1="11" y2="11"/>`
		if marked {
			strip += fmt.Sprintf(`<line class="none" x1="%.2f%%" x2="%.2f%%" y1="0" y2="22" stroke-dasharray="4 3"/>`, place(none), place(none))
		}
		grey := ""
		if b.High > b.Low {
			value += off(c, b)
			if marked && b.Low <= none && none <= b.High {
				grey = " grey"
			}
			strip += fmt.Sprintf(`<line class="range%s" x1="%.2f%%" x2="%.2f%%" y1="11" y2="11" stroke-width="4"/>`, grey, place(b.Low), place(b.High))
		}
		strip += fmt.Sprintf(`<circle class="at%s" cx="%.2f%%" cy="11" r="6"/></svg>`, grey, place(b.Value))
		// safe: strip has no text of a release
		d.Rows = append(d.Rows, dotsRow{Name: b.Name, Value: value, Main: b.Main,
			Strip: template.HTML(strip)})
	}
	return d
}

func textOf(c *study.ReportChart, v float64) string {
	if c.Percent {
		return strconv.FormatFloat(100*v, 'f', 1, 64) + " %"
	}
	if c.Zero {
		return fmt.Sprintf("%+.3g", v)
	}
	digits := 4
	if c.Ratio {
		digits = 3
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

// leastRoom is how near an end, in % of the axis, the text of a mark leaves the end's no room.
const leastRoom = 20

// mostRatio bounds the axis of ratios. An interval that reaches beyond it is nearly useless.
const mostRatio = 100

func off(c *study.ReportChart, b study.ReportBar) string {
	within := (b.High - b.Low) / 2
	if math.Abs(b.High-2*b.Value+b.Low) < 1e-9*(b.High-b.Low)+1e-12 {
		return " ± " + textWithin(c, within, within)
	}
	return " (" + textWithin(c, b.Low, within) + " to " + textWithin(c, b.High, within) + ")"
}

// fineRatio is half an interval of ratios below which three digits may write 1 for an end beside 1.
const fineRatio = 0.05

func textWithin(c *study.ReportChart, v, within float64) string {
	if c.Percent || c.Ratio && within >= fineRatio || within <= 0 {
		return textOf(c, v)
	}
	return strconv.FormatFloat(v, 'f', max(0, 1-int(math.Floor(math.Log10(within)))), 64)
}
