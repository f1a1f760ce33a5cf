package describe

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Counts implements study.Counter.
func (t Task) Counts(v []int64) (lines []string, record int64) {
	l := t.Counted.Layout
	if len(v) != l.cells {
		return nil, l.Step
	}
	count := func(at int) float64 { return float64(v[at]) / float64(l.Step) }
	groups := []string{"all"}
	if l.CountsCondition {
		lines = append(lines, fmt.Sprintf("records the study is about: %g", count(0)))
	}
	if l.Group != nil {
		groups = l.Group.Levels
		for g, level := range groups {
			lines = append(lines,
				fmt.Sprintf("%s %s: %g", l.Group.Name, level, count(l.Group.First+g)))
		}
	}
	for _, c := range l.Columns {
		for g, group := range groups {
			line := fmt.Sprintf("%s, %s |", c.Name, group)
			for k, name := range c.cellNames() {
				line += fmt.Sprintf(" %s: %.4g,", name, count(c.At(g)+k))
			}
			for k := c.Cells(); k < c.NumbersPerGroup(); k++ {
				line += fmt.Sprintf(" %s: %.4g,",
					[]string{"sum for mean",
						"sum for sd"}[k-c.Cells()], float64(v[c.At(g)+k])/float64(2*l.Most))
			}
			lines = append(lines, strings.TrimSuffix(line, ","))
		}
	}
	return lines, l.Step
}

func (c Column) cellNames() []string {
	if c.Levels != nil {
		return c.Levels
	}
	return BinNames(c.Edges, c.Log, c.CountsMissing)
}

// binNames names the bins between a number's edges. apart says that a last cell counts missing
// values.
func BinNames(edges []float64, log, apart bool) (names []string) {
	for k := 1; k < len(edges); k++ {
		name := NumberText(edges[k-1])
		if edges[k] != edges[k-1] {
			name += " to " + NumberText(edges[k])
		}
		names = append(names, name)
	}
	switch bins := len(names); {
	case apart:
		names = append(names, Missing)
	// the bin at the middle of the range also counts missing values, which are encoded as ½
	case bins > 0:
		names[Column{Edges: edges, Log: log}.Cut(edges[1:bins], 0).BinOf(0.5)] += ", or " + Missing
	}
	return names
}

// position returns where a number is in its range, from 0 to 1, on the number's scale.
func Position(edges []float64, log bool, v float64) float64 {
	return Column{Edges: edges, Log: log}.position(v)
}

// NumberText writes a number of the schema's for people, with four digits.
func NumberText(v float64) string {
	if a := math.Abs(v); a >= 1000 && a < 1e15 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
