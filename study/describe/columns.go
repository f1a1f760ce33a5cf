package describe

import (
	"math"
	"slices"

	"caucus/dataset"
)

// Column is a column of the schema, or the label. Its cells are the levels or bins that are
// counted. In the released vector, each group of records has a run of consecutive numbers for the
// column.
type Column struct {
	Name   string
	Levels []string // names of cells; nil for a number
	// public edges of a number's bins, in its own unit; nil for a text
	Edges                 []float64
	Log                   bool      // positions are on the log scale
	EdgesGiven            bool      // the plan gave the edges (Terms.Cuts)
	places                []float64 // positions of the edges, in [0,1]
	BinMiddles            []float64 // positions of the bins' middles
	WidestBin, MeanMiddle float64   // the widest bin's width; the mean of the middles
	// first encoded column, −1 for the label; number of encoded columns
	encoded, width int
	flagged        bool // the encoded column after the first marks missing numbers
	// the last cell counts missing cells, which NaN marks if there is no such column
	CountsMissing bool
	// index of the first number of the first run; number of runs, one for each group
	First, groups int
}

// Names of cells that are no levels of the schema, as tables show them.
const (
	Other   = "other"
	NoClass = "no label"
	Missing = dataset.MissingCell
)

// nudge is the distance below an edge, as a share of the range, at which a number still counts as
// on the edge, because scaling by the schema has an error of up to 10⁻¹².
const nudge = 1e-10

// columnsOf lists a schema's columns. It cuts each number at the terms' edges or, without edges,
// into bins of equal width on the number's scale (logarithmic if the schema says so). With apart,
// each feature has a cell for missing values.
func columnsOf(s dataset.Schema, t Terms, apart bool) []Column {
	var all []Column
	blocks := s.Blocks()
	for _, f := range s.Features {
		for range columnsIn(f) {
			b := blocks[0]
			blocks = blocks[1:]
			c := Column{Name: b.Column, encoded: b.Start, width: b.Width, groups: 1}
			c.CountsMissing = apart || f.FlagMissing && !b.OneHot
			if b.OneHot {
				c.Levels = f.CellNames(apart)
			} else {
				c.Edges, c.flagged, c.Log = []float64{f.Min, f.Max}, f.FlagMissing, f.Log
				c = c.Cut(t.Edges[c.Name], t.Bins)
				c.EdgesGiven = slices.ContainsFunc(t.Cuts, func(of Cut) bool {
					return of.Column == c.Name
				})
			}
			if c.flagged {
				blocks = blocks[1:]
			}
			all = append(all, c)
		}
	}
	return append(all, Column{Name: s.Label.Column, encoded: -1,
		Levels: append(s.Classes(), NoClass), groups: 1})
}

func columnsIn(f dataset.Feature) int {
	if f.Column != "" {
		return 1
	}
	names, _ := dataset.ExpandNames(f.Columns) // no error: the schema was checked
	return len(names)
}

// Cut sets a column's inner edges. nil makes bins of equal width.
func (c Column) Cut(inner []float64, bins int) Column {
	edges, at := c.Edges[:1:1], []float64{0}
	for k := 1; k < bins && inner == nil; k++ {
		at = append(at, float64(k)/float64(bins))
		edges = append(edges, c.Value(at[k]))
	}
	for k, e := range inner {
		edges, at = append(edges, e), append(at, c.position(e))
		if math.Abs(at[k+1]-at[k]) < nudge {
			at[k+1] = at[k]
		}
	}
	c.Edges, c.places = append(edges, c.Edges[len(c.Edges)-1]), append(at, 1)
	for k := range c.Bins() {
		c.BinMiddles = append(c.BinMiddles, (c.places[k]+c.places[k+1])/2)
		if inner == nil {
			c.BinMiddles[k] = (float64(k) + 0.5) / float64(bins)
		}
		c.MeanMiddle += c.BinMiddles[k] / float64(c.Bins())
		c.WidestBin = max(c.WidestBin, c.places[k+1]-c.places[k])
	}
	if inner == nil { // exact values, without the rounding of the sums above
		c.MeanMiddle, c.WidestBin = 0.5, 1/float64(bins)
	}
	return c
}

// Cells returns how many counts a group of records has in the column.
func (c Column) Cells() int {
	switch {
	case c.Levels != nil:
		return len(c.Levels)
	case c.CountsMissing:
		return len(c.Edges)
	}
	return c.Bins()
}

// Bins returns the number of bins, 0 for a text.
func (c Column) Bins() int { return max(len(c.Edges)-1, 0) }

// NumbersPerGroup is how many released numbers a column has in each group: its counts and, for a
// numeric column, two sums (within).
func (c Column) NumbersPerGroup() int {
	if c.Levels == nil {
		return c.Cells() + 2
	}
	return c.Cells()
}

// At returns the index of the first number of a group.
func (c Column) At(group int) int { return c.First + group*c.NumbersPerGroup() }

// of returns the cell of a record. Every encoded row and class has exactly one cell.
func (c Column) of(row []float64, class int) int {
	switch {
	case c.encoded < 0:
		if class < 0 || class >= len(c.Levels)-1 {
			return len(c.Levels) - 1
		}
		return class
	case c.Levels != nil:
		one := row[c.encoded : c.encoded+c.width]
		at := slices.IndexFunc(one, func(v float64) bool { return v > 0.5 })
		if at < 0 && c.CountsMissing {
			return len(c.Levels) - 1
		}
		return max(0, at)
	case c.flagged && row[c.encoded+1] > 0.5, c.CountsMissing && row[c.encoded] != row[c.encoded]:
		return len(c.Edges) - 1
	}
	return c.BinOf(row[c.encoded])
}

// BinOf returns the bin of a number v in [0,1], which is the number of inner edges at or below v.
// Any other number goes to the first or last bin. The time does not depend on v.
func (c Column) BinOf(v float64) int {
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

// BinCorrections returns what a number v in [0,1] adds to the two sums that correct bin middles for
// v's position in its bin. Let m be the bin's middle, d = v−m, and w the widest bin's width. Then
// first = d/w and second = ((v−½)² − (m−½)²)/w = d(2(m−½)+d)/w. Both are within ±½ for all edges:
// in a bin of width b ≤ w, |d| ≤ b/2 and |m−½| ≤ ½ − b/2, so |2(m−½)+d| ≤ 1.
func (c Column) BinCorrections(v float64, bin int) (first, second float64) {
	if !(v > 0) {
		v = 0
	}
	m := c.BinMiddles[bin]
	d := math.Min(v, 1) - m
	return d / c.WidestBin, d * (2*(m-0.5) + d) / c.WidestBin
}

func (c Column) scale(v float64) float64 {
	lo, hi := c.Edges[0], c.Edges[len(c.Edges)-1]
	if c.Log {
		lo, hi = math.Log1p(lo), math.Log1p(hi)
	}
	// float64(…) forbids fused multiply-add, so that all processors compute the same edges
	return float64(lo*(1-v)) + float64(hi*v)
}

// spread turns a deviation of positions into one in the column's unit or, with a logarithmic scale,
// a factor.
func (c Column) DeviationInUnits(v float64) float64 {
	if v *= c.scale(1) - c.scale(0); c.Log {
		return math.Exp(v)
	}
	return v
}

// Value returns the number at a place in the column's range, from 0 to 1, in the column's own unit.
func (c Column) Value(v float64) float64 {
	if c.Log {
		return math.Expm1(c.scale(v))
	}
	return c.scale(v)
}

func (c Column) position(v float64) float64 {
	of := dataset.Feature{Min: c.Edges[0], Max: c.Edges[len(c.Edges)-1], Log: c.Log}
	return of.Position(v)
}
