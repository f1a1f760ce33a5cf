package describe

import (
	"math"
	"slices"

	"caucus/dataset"
)

// column is a column of the schema, or the label. Its cells are the levels or bins that are counted. In the
// released vector, each group of records has a run of consecutive numbers for the column.
type column struct {
	name           string
	levels         []string  // names of cells; nil for a number
	edges          []float64 // public edges of a number's bins, in its own unit; nil for a text
	log            bool      // positions are on the log scale
	chosen         bool      // the plan gave the edges (Terms.Cuts)
	places         []float64 // positions of the edges, in [0,1]
	middles        []float64 // positions of the bins' middles
	wide, centre   float64   // the widest bin's width; the mean of the middles
	encoded, width int       // first encoded column, −1 for the label; number of encoded columns
	flagged        bool      // the encoded column after the first marks missing numbers
	apart          bool      // the last cell counts missing cells, which NaN marks if there is no such column
	first, groups  int       // index of the first number of the first run; number of runs, one for each group
}

const (
	other   = "other"
	noClass = "no label"
	missing = dataset.MissingCell
)

// nudge is the distance below an edge, as a share of the range, at which a number still counts as on the
// edge, because scaling by the schema has an error of up to 10⁻¹².
const nudge = 1e-10

// columnsOf lists a schema's columns. It cuts each number at the terms' edges or, without edges,
// into bins of equal width on the number's scale (logarithmic if the schema says so). With apart,
// each feature has a cell for missing values.
func columnsOf(s dataset.Schema, t Terms, apart bool) []column {
	var all []column
	blocks := s.Blocks()
	for _, f := range s.Features {
		for range columnsIn(f) {
			b := blocks[0]
			blocks = blocks[1:]
			c := column{name: b.Column, encoded: b.Start, width: b.Width, groups: 1}
			c.apart = apart || f.Missing && !b.OneHot
			if b.OneHot {
				c.levels = f.CellNames(apart)
			} else {
				c.edges, c.flagged, c.log = []float64{f.Min, f.Max}, f.Missing, f.Log
				c = c.cut(t.Edges[c.name], t.Bins)
				c.chosen = slices.ContainsFunc(t.Cuts, func(of Cut) bool { return of.Column == c.name })
			}
			if c.flagged {
				blocks = blocks[1:]
			}
			all = append(all, c)
		}
	}
	return append(all, column{name: s.Label.Column, encoded: -1, levels: append(s.Classes(), noClass), groups: 1})
}

func columnsIn(f dataset.Feature) int {
	if f.Column != "" {
		return 1
	}
	names, _ := dataset.ExpandNames(f.Columns) // no error: the schema was checked
	return len(names)
}

// cut sets a column's inner edges. nil makes bins of equal width.
func (c column) cut(inner []float64, bins int) column {
	edges, at := c.edges[:1:1], []float64{0}
	for k := 1; k < bins && inner == nil; k++ {
		at = append(at, float64(k)/float64(bins))
		edges = append(edges, c.value(at[k]))
	}
	for k, e := range inner {
		edges, at = append(edges, e), append(at, c.position(e))
		if math.Abs(at[k+1]-at[k]) < nudge {
			at[k+1] = at[k]
		}
	}
	c.edges, c.places = append(edges, c.edges[len(c.edges)-1]), append(at, 1)
	for k := range c.bins() {
		c.middles = append(c.middles, (c.places[k]+c.places[k+1])/2)
		if inner == nil {
			c.middles[k] = (float64(k) + 0.5) / float64(bins)
		}
		c.centre += c.middles[k] / float64(c.bins())
		c.wide = max(c.wide, c.places[k+1]-c.places[k])
	}
	if inner == nil { // exact values, without the rounding of the sums above
		c.centre, c.wide = 0.5, 1/float64(bins)
	}
	return c
}

func (c column) cells() int {
	switch {
	case c.levels != nil:
		return len(c.levels)
	case c.apart:
		return len(c.edges)
	}
	return c.bins()
}

func (c column) bins() int { return max(len(c.edges)-1, 0) }

// run is how many released numbers a column has in each group: its counts and, for a numeric column, two sums (within).
func (c column) run() int {
	if c.levels == nil {
		return c.cells() + 2
	}
	return c.cells()
}

func (c column) at(group int) int { return c.first + group*c.run() }

// of returns the cell of a record. Every encoded row and class has exactly one cell.
func (c column) of(row []float64, class int) int {
	switch {
	case c.encoded < 0:
		if class < 0 || class >= len(c.levels)-1 {
			return len(c.levels) - 1
		}
		return class
	case c.levels != nil:
		one := row[c.encoded : c.encoded+c.width]
		at := slices.IndexFunc(one, func(v float64) bool { return v > 0.5 })
		if at < 0 && c.apart {
			return len(c.levels) - 1
		}
		return max(0, at)
	case c.flagged && row[c.encoded+1] > 0.5, c.apart && row[c.encoded] != row[c.encoded]:
		return len(c.edges) - 1
	}
	return c.binOf(row[c.encoded])
}

// binOf returns the bin of a number v in [0,1], which is the number of inner edges at or below v. Any other
// number goes to the first or last bin. The time does not depend on v.
func (c column) binOf(v float64) int {
	bin := 0
	for k, at := range c.places[1 : len(c.places)-1] {
		if at == c.places[k] { // the bin below contains only this value
			at += 2 * nudge
		}
		if v >= at-nudge {
			bin++
		}
	}
	return bin
}

// within returns what a number v in [0,1] adds to the two sums that correct bin middles for v's position in
// its bin. Let m be the bin's middle, d = v−m, and w the widest bin's width. Then first = d/w and second =
// ((v−½)² − (m−½)²)/w = d(2(m−½)+d)/w. Both are within ±½ for all edges: in a bin of width b ≤ w, |d| ≤ b/2
// and |m−½| ≤ ½ − b/2, so |2(m−½)+d| ≤ 1.
func (c column) within(v float64, bin int) (first, second float64) {
	if !(v > 0) {
		v = 0
	}
	m := c.middles[bin]
	d := math.Min(v, 1) - m
	return d / c.wide, d * (2*(m-0.5) + d) / c.wide
}
