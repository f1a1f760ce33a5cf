package describe

import (
	"math"
	"slices"

	"caucus/dataset"
)

// column is a column of the schema, or the label, with its cells: a run of the released vector for
// each group of records.
type column struct {
	name           string
	levels         []string  // names of cells; nil for a number
	edges          []float64 // bins+1 public edges, in the number's own unit; nil for others
	log            bool      // the bins have equal width on the log scale
	encoded, width int       // first encoded column, −1 for the label; how many there are
	flagged        bool      // the next encoded column says whether the number is missing
	first, groups  int       // the first cell; the number of runs: one per level of the grouping column, or 1
}

const (
	otherLevel = "other or missing"
	noClass    = "no label"
	missing    = "missing"
)

// nudge is added to a number in bin units, so that a number on an edge falls in the bin above
// despite the rounding of the schema's scaling, whose error is below 10⁻¹² of the range.
const nudge = 1e-9

// columnsOf cuts each number into bins of equal width on its scale (log if the schema says so).
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

func columnsIn(f dataset.Feature) int {
	if f.Column != "" {
		return 1
	}
	names, _ := dataset.ExpandNames(f.Columns) // the schema was checked
	return len(names)
}

func levelsOf(f dataset.Feature, width int) []string {
	levels := slices.Clone(f.Levels)
	if len(levels) < width {
		return append(levels, otherLevel)
	}
	levels[slices.Index(levels, "other")] = otherLevel
	return levels
}

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

// cells is the number of count cells of a column in each group.
func (c column) cells() int {
	switch {
	case c.levels != nil:
		return len(c.levels)
	case c.flagged:
		return len(c.edges)
	}
	return c.bins()
}

func (c column) bins() int { return max(len(c.edges)-1, 0) }

// run is the length of a column's run in each group: its counts and, for a number, two sums of
// positions within bins.
func (c column) run() int {
	if c.levels == nil {
		return c.cells() + 2
	}
	return c.cells()
}

func (c column) at(group int) int { return c.first + group*c.run() }

// of is the cell of a record: exactly one, for every encoded row and class.
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

// binOf is the bin of a number in [0,1]; any other number goes to the first or last bin.
func binOf(v float64, bins int) int {
	if !(v > 0) {
		return 0
	}
	return min(int(math.Min(v, 1)*float64(bins)+nudge), bins-1)
}

// within is the position of a number v in [0,1] within its bin k, whose middle is m = (k+½)w with w
// = 1/bins. Both results are in units of bins: first = r = (v−m)/w, and second = ((v−½)² −
// (m−½)²)/w = 2(m−½)r + r²w. Both are within ±½, because |r| ≤ ½ and |m−½| ≤ ½ − w/2.
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
