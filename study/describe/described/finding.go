package described

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"caucus/dataset"
	"caucus/study/describe"
)

const mostFound = 3

// finding says in a few words what the table shows: means and most frequent levels of the first
// columns. If the table has groups, it names the columns in which two groups differ most, relative
// to the widths of intervals.
func (t Table) finding() string {
	shown := func(e NamedEstimate) string {
		interval, _ := e.Interval()
		return fmt.Sprintf("%s (%s)", e.Show(e.Estimate), interval)
	}
	type found struct {
		words        string
		share, clear float64 // clear is the difference of two groups, in widths of their intervals
	}
	var columns []string
	of := map[string]found{}
	// for each name of an estimate, the estimates of all groups
	same := map[string][]NamedEstimate{}
	for _, e := range t.Estimates() {
		rest := []string{describe.Missing, describe.Other, dataset.OtherOrMissing, describe.NoClass}
		if e.Estimate == nil || e.Measure != Share && e.Measure != Mean ||
			e.Column == "" || e.Column == t.By || slices.Contains(rest, e.What) {
			continue
		}
		name := e.Column + " " + e.What
		best, seen := of[e.Column]
		if !seen {
			columns = append(columns, e.Column)
		}
		if t.By == "" && (!seen || e.Value > best.share) {
			best = found{words: name + ": " + shown(e), share: e.Value}
		}
		for _, low := range same[name] {
			high := e
			if low.Value > high.Value {
				low, high = high, low
			}
			if clear := (high.Value - low.Value) / math.Hypot(low.High-low.Low,
				high.High-high.Low); clear > best.clear {
				best = found{fmt.Sprintf("%s: %s where %s is %s, %s where %s", name, shown(low),
					t.By, low.Group, shown(high), high.Group), 0, clear}
			}
		}
		same[name], of[e.Column] = append(same[name], e), best
	}
	slices.SortStableFunc(columns, func(a, b string) int {
		return cmp.Compare(of[b].clear, of[a].clear)
	})
	var words []string
	for _, c := range columns {
		if of[c].words != "" && len(words) < mostFound {
			words = append(words, of[c].words)
		}
	}
	return strings.Join(words, "; ")
}
