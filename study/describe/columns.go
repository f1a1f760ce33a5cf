package describe

import (
	"math"
	"slices"

	"caucus/dataset"
)

// column is one column of the schema, features first and the label last, with its
// cells: a run of the released vector for each group of records.
type column struct {
	name string
	// levels name the cells of a text or a label; nil for a number.
	levels []string
	// edges are bins+1 public numbers in the column's own unit; nil but for a number.
	edges []float64
	// log: the bins are equal on the logarithm's scale.
	log bool
	// encoded is the first of the record's encoded columns, −1 for the label; width
	// how many there are.
	encoded, width int
	// flagged: the encoded column behind a number's says whether it is missing.
	flagged bool
	// first is the column's first cell, groups how many runs of cells it has: one for
	// each level of the grouping column, or 1.
	first, groups int
}

// The cells of what has no cell of its own.
const (
	otherLevel = "other or missing"
	noClass    = "no label"
	missing    = "missing"
)

// nudge is added to a number in units of a bin, so that one that is an edge falls
// above it however the schema's scaling rounds, whose error is below 10⁻¹² of that.
const nudge = 1e-9

// columnsOf lists the columns of a schema, each number in so many bins, equal on
// the scale that the schema encodes it by (the logarithm's where it says log).
func columnsOf(s dataset.Schema, bins int) []column {
	var all []column
	blocks := s.Blocks()
	for _, f := range s.Features {
		for range columnsIn(f) {
			b := blocks[0]
			blocks = blocks[1:]
			c := column{name: b.Column, encoded: b.Start, width: b.Width, groups: 1}
			if b.OneHot {
				c.levels = levelsOf(f, b.Width)
			} else {
				c.edges, c.flagged, c.log = edgesOf(f, bins), f.Missing, f.Log
			}
			if c.flagged {
				blocks = blocks[1:]
			}
			all = append(all, c)
		}
	}
	return append(all, column{name: s.Label.Column, encoded: -1, levels: append(s.Classes(), noClass), groups: 1})
}

// columnsIn is how many columns of the file a feature stands for.
func columnsIn(f dataset.Feature) int {
	if f.Column != "" {
		return 1
	}
	names, _ := dataset.ExpandNames(f.Columns) // the schema was checked
	return len(names)
}

// levelsOf name the cells of a text: one takes what is no level.
func levelsOf(f dataset.Feature, width int) []string {
	levels := slices.Clone(f.Levels)
	if len(levels) < width {
		return append(levels, otherLevel)
	}
	levels[slices.Index(levels, "other")] = otherLevel
	return levels
}

// edgesOf cut a number's public range.
func edgesOf(f dataset.Feature, bins int) []float64 {
	edges := make([]float64, bins+1)
	lo, hi := f.Min, f.Max
	if f.Log {
		lo, hi = math.Log1p(lo), math.Log1p(hi)
	}
	for k := range edges {
		share := float64(k) / float64(bins)
		edges[k] = lo*(1-share) + hi*share
		if f.Log {
			edges[k] = math.Expm1(edges[k])
		}
	}
	edges[0], edges[bins] = f.Min, f.Max
	return edges
}

// cells is how many cells of counts a column has in each group.
func (c column) cells() int {
	switch {
	case c.levels != nil:
		return len(c.levels)
	case c.flagged:
		return len(c.edges)
	}
	return c.bins()
}

// bins is how many cells are intervals of a number.
func (c column) bins() int { return max(len(c.edges)-1, 0) }

// run is how many numbers of the vector a column has in each group: its counts, and
// of a number the two sums of what bins leave out.
func (c column) run() int {
	if c.levels == nil {
		return c.cells() + 2
	}
	return c.cells()
}

// at is where the run of a group begins.
func (c column) at(group int) int { return c.first + group*c.run() }

// of is the cell of the column in which a record lies: exactly one, whatever the
// encoded row and the class are.
func (c column) of(row []float64, class int) int {
	switch {
	case c.encoded < 0:
		if class < 0 || class >= len(c.levels)-1 {
			return len(c.levels) - 1
		}
		return class
	case c.levels != nil:
		return max(0, slices.IndexFunc(row[c.encoded:c.encoded+c.width], func(v float64) bool { return v > 0.5 }))
	case c.flagged && row[c.encoded+1] > 0.5:
		return len(c.edges) - 1
	}
	return binOf(row[c.encoded], len(c.edges)-1)
}

// binOf is the bin of a number in [0,1]; anything else goes to an end.
func binOf(v float64, bins int) int {
	if !(v > 0) {
		return 0
	}
	return min(int(math.Min(v, 1)*float64(bins)+nudge), bins-1)
}

// within is where in its bin, whose middle is (k+½)/bins, a number of [0,1] lies:
// first = its distance from the middle in bins, and second = what its square of the
// distance from ½ has beyond that of the middle, in bins too. Neither is beyond ±½:
// with w = 1/bins, m the middle and r the first, the second is 2(m−½)r + r²w, and
// |m−½| ≤ ½ − w/2.
func within(v float64, k, bins int) (first, second float64) {
	if !(v > 0) {
		v = 0
	}
	v = math.Min(v, 1)
	w := 1 / float64(bins)
	middle := (float64(k) + 0.5) * w
	r := (v - middle) / w
	return r, 2*(middle-0.5)*r + r*r*w
}
