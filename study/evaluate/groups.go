package evaluate

import (
	"fmt"
	"slices"

	"caucus/dataset"
	"caucus/study"
)

// GroupingColumn are the levels of a column.
type GroupingColumn struct {
	Column       string // "" for one group of all records
	Levels       []string
	start, width int       // first encoded column; number of encoded levels, 0 for a number
	edges        []float64 // cut a number, on the encoded scale
	// apart says that missing values form the last level. The column after start marks them if
	// flagged, else NaN does (dataset.Schema.MarkMissing).
	apart, flagged bool
}

var everybody = GroupingColumn{Levels: []string{""}} // no grouping

// groupsOf makes the levels of a column. With apart, every column has one for missing values.
func groupsOf(s dataset.Schema, by Grouping, apart bool) (GroupingColumn, error) {
	fail := func(format string, args ...any) (GroupingColumn, error) {
		return GroupingColumn{}, study.PlanError("evaluate.by", format, args...)
	}
	blocks := s.Blocks()
	for _, f := range s.Features {
		if f.Column != by.Column || f.Column == "" {
			continue
		}
		at := slices.IndexFunc(blocks, func(b dataset.Block) bool { return b.Column == f.Column })
		g := GroupingColumn{Column: f.Column, start: blocks[at].Start, apart: apart}
		if f.Kind == dataset.Categorical {
			if len(by.Edges) > 0 {
				return fail("column %q has levels, so it takes no edges", f.Column)
			}
			g.width, g.Levels = blocks[at].Width, f.CellNames(apart)
			return g, nil
		}
		if len(by.Edges) == 0 || len(by.Edges) > 20 {
			return fail("column %q is a number: give 1 to 20 edges that cut it into groups", f.Column)
		}
		name := "below " + fmt.Sprintf("%g", by.Edges[0])
		for i, e := range by.Edges {
			if !(e > f.Min && e < f.Max) || i > 0 && !(e > by.Edges[i-1]) {
				return fail("edges of column %q must increase between its bounds %g and %g", f.Column, f.Min, f.Max)
			}
			g.edges, g.Levels = append(g.edges, f.Position(e)), append(g.Levels, name)
			if name = fmt.Sprintf("%g and above", e); i+1 < len(by.Edges) {
				name = fmt.Sprintf("%g to %g", e, by.Edges[i+1])
			}
		}
		g.Levels, g.flagged, g.apart = append(g.Levels, name), f.FlagMissing, apart || f.FlagMissing
		if g.apart {
			g.Levels = append(g.Levels, dataset.MissingCell)
			return g, nil
		}
		middle := make([]float64, g.start+1) // a row that encodes missing values
		middle[g.start] = 0.5
		g.Levels[g.Of(middle)] += ", or missing"
		return g, nil
	}
	return fail("the schema has no column %q of its own that is a feature", by.Column)
}

// Of returns the level of an encoded record. Every row has exactly one level.
func (g GroupingColumn) Of(row []float64) int {
	switch {
	case g.Column == "":
		return 0
	case g.width > 0:
		one := row[g.start : g.start+g.width]
		at := slices.IndexFunc(one, func(v float64) bool { return v > 0.5 })
		if at < 0 && g.apart {
			return len(g.Levels) - 1
		}
		return max(0, at)
	case g.flagged && row[g.start+1] > 0.5, g.apart && row[g.start] != row[g.start]:
		return len(g.Levels) - 1
	}
	level := 0
	for _, e := range g.edges {
		if row[g.start] >= e-1e-12 {
			level++
		}
	}
	return level
}
