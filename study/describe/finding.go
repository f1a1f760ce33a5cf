package describe

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// mostFound bounds the numbers that lead an answer.
const mostFound = 3

// finding says in a few words what a table one shows: the means and most frequent levels of its
// first columns; by groups, the numbers in which two groups differ by the most widths of intervals.
func (t Table) finding() string {
	var firsts []Named // of the estimates with one name, in order
	groups := map[string][]Named{}
	for _, e := range t.Estimates() {
		if e.Estimate == nil || e.Measure != Share && e.Measure != Mean || e.Column == "" || e.What == missing {
			continue
		}
		if last := len(firsts) - 1; t.By == "" && e.Measure == Share && last >= 0 && firsts[last].Column == e.Column {
			if e.Value > firsts[last].Value {
				firsts[last] = e
			}
		} else if name := named(e); e.Column != t.By {
			if groups[name] = append(groups[name], e); len(groups[name]) == 1 {
				firsts = append(firsts, e)
			}
		}
	}
	say := func(e Named) string { // "38.5 (± 0.8)", a share in percent
		if e.Measure == Share {
			return fmt.Sprintf("%s %% (± %.1f)", percent(e.Value), 50*(e.High-e.Low))
		}
		return fmt.Sprintf("%s (± %s)", numeral(e.Value), strconv.FormatFloat((e.High-e.Low)/2, 'g', 2, 64))
	}
	said, clear := map[string]string{}, map[string]float64{}
	for _, of := range firsts {
		name := named(of)
		said[name] = name + " " + say(of)
		for _, low := range groups[name] {
			for _, high := range groups[name] {
				if by := (high.Value - low.Value) / math.Hypot(low.High-low.Low, high.High-high.Low); by > clear[name] {
					clear[name] = by
					said[name] = fmt.Sprintf("%s %s where %s is %s, %s where %s", name, say(low), t.By, low.Group, say(high), high.Group)
				}
			}
		}
	}
	slices.SortStableFunc(firsts, func(a, b Named) int { return cmp.Compare(clear[named(b)], clear[named(a)]) })
	var words []string
	for _, of := range firsts[:min(len(firsts), mostFound)] {
		words = append(words, said[named(of)])
	}
	return strings.Join(words, "; ")
}

// named names an estimate: "sex female", "stay geometric mean".
func named(e Named) string {
	return e.Column + " " + map[bool]string{false: e.What, true: "geometric mean"}[e.Of.Log]
}
