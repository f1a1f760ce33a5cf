package describe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

const mostFound = 3

// candidate is a number of a table that may lead the answer, one estimate for each group.
type candidate struct {
	name  string
	of    []*Estimate
	share bool
}

func (c candidate) words(g int) string {
	e := c.of[g]
	if c.share {
		return fmt.Sprintf("%s %s %% (± %.1f)", c.name, percent(e.Value), 50*(e.High-e.Low))
	}
	return fmt.Sprintf("%s %s (± %s)", c.name, numeral(e.Value), strconv.FormatFloat((e.High-e.Low)/2, 'g', 2, 64))
}

// finding says in a few words what a table one shows: the means and most frequent levels of its
// first columns; by groups, the numbers in which two groups differ most clearly, that is by the
// most widths of their intervals.
func (t Table) finding() string {
	var said []string
	if t.By == "" {
		for _, c := range t.candidates() {
			if c.of[0] != nil && len(said) < mostFound {
				said = append(said, c.words(0))
			}
		}
		return strings.Join(said, "; ")
	}
	type found struct {
		words string
		clear float64
	}
	var all []found
	for _, c := range t.candidates() {
		best := found{}
		for a, low := range c.of {
			for b, high := range c.of {
				if low == nil || high == nil {
					continue
				}
				if clear := (high.Value - low.Value) / math.Hypot(low.High-low.Low, high.High-high.Low); clear > best.clear {
					best = found{fmt.Sprintf("%s where %s is %s, %s where %s", c.words(a), t.By, t.Groups[a].Level, strings.TrimPrefix(c.words(b), c.name+" "), t.Groups[b].Level), clear}
				}
			}
		}
		if best.clear > 0 {
			all = append(all, best)
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return cmp.Compare(b.clear, a.clear) })
	for _, f := range all[:min(len(all), mostFound)] {
		said = append(said, f.words)
	}
	return strings.Join(said, "; ")
}

// candidates lists the mean of each number and the share of each level; without groups, of the most
// frequent level alone.
func (t Table) candidates() (all []candidate) {
	for _, c := range t.Columns {
		if c.Edges != nil {
			name := "mean " + c.Column
			if c.Log {
				name = "geometric mean of " + c.Column
			}
			mean := candidate{name: name}
			for _, s := range c.Groups {
				mean.of = append(mean.of, s.Mean)
			}
			all = append(all, mean)
			continue
		}
		for k, level := range c.Levels {
			if t.By == "" && c.Groups[0].Counts[k] < slices.Max(c.Groups[0].Counts[:len(c.Levels)]) {
				continue
			}
			share := candidate{name: c.Column + " " + level, share: true}
			for _, s := range c.Groups {
				share.of = append(share.of, s.Shares[k])
			}
			all = append(all, share)
		}
	}
	return all
}
