package survival

import (
	"slices"

	"caucus/dataset"
	"caucus/study"
)

// Layout says what each number of a plan's vector counts. Cell 0 counts the rest: records whose
// time is missing or below 0, whose event is not known, of no named group, or that fail the
// condition. Then come the groups. Each has Bins runs of Columns counts, one run for each interval
// of time: records with the event, with each cause that competes with it, and last seen without
// any. One more cell counts the records that were seen beyond the last edge.
type Layout struct {
	Edges          []float64 // upper ends of the intervals, ascending, in the time's unit
	Groups         []string  // names of the levels; one empty name without groups
	Columns        int       // counts of an interval: the event, the causes, and the censored
	CensoredLevels []string  // levels of the event's column that count as last seen without it
	time           numeric
	event          coded
	by             coded
}

// numeric is a number's encoded column.
type numeric struct {
	at      int // encoded column
	flagged bool
	places  []float64 // edges on the encoded scale
	zero    float64   // 0 on the encoded scale
}

// coded finds a category of a record: a class of the label, or a level of a text.
type coded struct {
	label        bool
	start, width int   // encoded columns of a text
	as           []int // by level or class: what the study takes the level for, −1 for the rest
}

func (c coded) of(row []float64, class int) int {
	at := class
	if !c.label {
		at = slices.IndexFunc(row[c.start:c.start+c.width], func(v float64) bool { return v > 0.5 })
	}
	if at < 0 || at >= len(c.as) {
		return -1
	}
	return c.as[at]
}

// LayoutOf returns the places of a plan's counts. The error names the term that does not fit the
// schema.
func LayoutOf(s dataset.Schema, t Terms) (Layout, error) {
	l := Layout{Edges: t.ends(), Groups: []string{""}, Columns: 2 + len(t.Causes)}
	f, block, ok := feature(s, t.Time)
	if !ok || f.Kind != dataset.Numeric {
		return l, study.PlanError("survival.time", "%q is no number of the schema: name the column of the time to the event or to when somebody was last seen, a feature of its own", t.Time)
	}
	l.time = numeric{at: block.Start, flagged: f.FlagMissing, zero: f.Position(0)}
	for _, e := range l.Edges {
		l.time.places = append(l.time.places, f.Position(e))
	}
	names := append([]string{t.Event.Is}, t.Causes...)
	var err error
	l.event, err = codedAs(s, "survival.event", t.Event.Column, func(level string) int {
		if at := slices.Index(names, level); at >= 0 {
			return at
		}
		l.CensoredLevels = append(l.CensoredLevels, level)
		return len(names) // last seen without any of them
	}, names)
	if err != nil || t.By == "" {
		return l, err
	}
	l.Groups = nil
	l.by, err = codedAs(s, "survival.by", t.By, func(level string) int {
		l.Groups = append(l.Groups, level)
		return len(l.Groups) - 1
	}, nil)
	if err != nil {
		return l, err
	}
	if len(l.Groups) == 0 {
		return l, study.PlanError("survival.by", "the schema names no level of %s", t.By)
	}
	return l, nil
}

// codedAs reads each level of a column by as, in the order of the schema. It refuses a column
// without levels, and names that are no levels.
func codedAs(s dataset.Schema, term, column string, as func(string) int,
	names []string) (coded, error) {
	var c coded
	levels := s.Label.Classes
	if c.label = column == s.Label.Column; !c.label {
		f, block, ok := feature(s, column)
		if !ok || f.Kind != dataset.Categorical {
			return c, study.PlanError(term, "%q is neither the label nor a text of the schema, whose levels are public", column)
		}
		c.start, c.width, levels = block.Start, block.Width, f.Levels
	}
	for _, name := range names {
		if !slices.Contains(levels, name) || !c.label && name == otherLevel {
			return c, study.PlanError(term, "%q is no level that the schema names of %s, which has %q", name, column,
				levels)
		}
	}
	for _, level := range levels {
		if !c.label && level == otherLevel { // whatever the schema does not name
			c.as = append(c.as, -1)
			continue
		}
		c.as = append(c.as, as(level))
	}
	return c, nil
}

// otherLevel is the level of texts that the schema does not name, where it lists one for them.
const otherLevel = "other"

// feature returns a column's own feature with its first encoded block.
func feature(s dataset.Schema, column string) (dataset.Feature, dataset.Block, bool) {
	at := slices.IndexFunc(s.Features, func(f dataset.Feature) bool {
		return f.Column == column && column != ""
	})
	if at < 0 {
		return dataset.Feature{}, dataset.Block{}, false
	}
	blocks := s.Blocks()
	return s.Features[at], blocks[slices.IndexFunc(blocks, func(b dataset.Block) bool {
		return b.Column == column
	})], true
}

// CountsPerGroup returns the number of a group's counts.
func (l Layout) CountsPerGroup() int { return len(l.Edges)*l.Columns + 1 }

// Cells returns the length of the vector.
func (l Layout) Cells() int { return 1 + len(l.Groups)*l.CountsPerGroup() }

// onEdge is the distance below an edge, as a share of the range, at which a time still counts as on
// the edge, because scaling by the schema has an error of up to 10⁻¹².
const onEdge = 1e-10

// Of returns the cell of an encoded record. A time on an edge belongs to the interval above; on the
// last edge it is beyond.
func (l Layout) Of(row []float64, class int) int {
	group, kind, v := 0, l.event.of(row, class), row[l.time.at]
	if l.by.as != nil {
		group = l.by.of(row, class)
	}
	missing := v != v || l.time.flagged && row[l.time.at+1] > 0.5
	if group < 0 || kind < 0 || missing || v < l.time.zero-onEdge {
		return 0
	}
	bin := 0
	for bin < len(l.time.places) && v >= l.time.places[bin]-onEdge {
		bin++
	}
	first := 1 + group*l.CountsPerGroup()
	if bin == len(l.Edges) {
		return first + l.CountsPerGroup() - 1
	}
	return first + bin*l.Columns + kind
}
