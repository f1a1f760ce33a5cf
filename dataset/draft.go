package dataset

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	// draftLevels is the number of distinct texts above which a column of texts is
	// taken for names or free text, which make no feature.
	draftLevels = 60
	// draftNumbers is the share of cells that must be numbers for a column to be
	// numeric.
	draftNumbers = 0.95
	// draftTail: a column whose largest value is this many times its upper
	// quartile, and none of whose values is negative, gets log.
	draftTail = 20
)

// missingTexts are read as missing values when a file uses one of them.
var missingTexts = []string{"?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "-"}

// DraftSchema proposes a schema for a table of PUBLIC data: bounds and levels are
// taken from the table, so for private records it would publish their extremes.
// Read the draft, round the bounds to what is known about the quantity, and remove what
// must not be used.
//
// Columns of numbers become numeric, with bounds rounded outwards to one or two
// digits; columns of few distinct texts become categorical; columns of many
// texts (names, keys) and columns that never vary are left out.
func DraftSchema(t *Table, label string) (Schema, error) {
	at := t.column(label)
	if at == nil {
		return Schema{}, fmt.Errorf("draft schema: no column %q for the label; the file has %s", label, showColumns(t.Columns()))
	}
	if t.rows == 0 {
		return Schema{}, fmt.Errorf("draft schema: the table has no rows to judge by")
	}
	s := Schema{Missing: draftMissing(t)}
	s.Label = Label{Column: label, Classes: sortedTexts(at.distinct(), s.Missing)}
	if n := len(s.Label.Classes); n < 2 || n > draftLevels {
		return Schema{}, fmt.Errorf("draft schema: the label %q has %d distinct values; a class needs 2 to %d", label, n, draftLevels)
	}
	for i := range t.columns {
		if c := &t.columns[i]; c.name != label {
			if f, ok := draftFeature(c, t.rows, s.Missing); ok {
				s.Features = append(s.Features, f)
			}
		}
	}
	if err := s.Validate(); err != nil {
		return Schema{}, fmt.Errorf("draft schema: %w", err)
	}
	return s, nil
}

// distinct counts how often each text of the column occurs. Values that only
// occur in other selections of the same table are not counted.
func (c *column) distinct() map[string]int {
	count := make([]int, len(c.values))
	for _, code := range c.codes.narrow {
		count[code]++
	}
	for _, code := range c.codes.wide {
		count[code]++
	}
	texts := make(map[string]int)
	for code, n := range count {
		if n > 0 {
			texts[c.values[code]] = n
		}
	}
	return texts
}

// draftMissing is the usual text for a missing value that occurs in most columns.
func draftMissing(t *Table) string {
	best, most := "", 0
	for _, text := range missingTexts {
		n := 0
		for i := range t.columns {
			if slices.Contains(t.columns[i].values, text) {
				n++
			}
		}
		if n > most {
			best, most = text, n
		}
	}
	return best
}

func draftFeature(c *column, rows int, missingText string) (Feature, bool) {
	texts := c.distinct()
	var numbers []float64 // one per cell
	absent := 0
	for text, n := range texts {
		if text == "" || text == missingText {
			absent += n
		} else if v, ok := parseFinite(text); ok {
			numbers = append(numbers, slices.Repeat([]float64{v}, n)...)
		}
	}
	present := rows - absent
	if present == 0 {
		return Feature{}, false
	}
	if float64(len(numbers)) >= draftNumbers*float64(present) {
		return draftNumeric(c.name, numbers, absent > 0)
	}
	levels := sortedTexts(texts, missingText)
	if len(levels) < 2 || len(levels) > draftLevels {
		return Feature{}, false
	}
	return Feature{Column: c.name, Kind: Categorical, Levels: levels}, true
}

func draftNumeric(name string, values []float64, missing bool) (Feature, bool) {
	slices.Sort(values)
	n := len(values)
	low, high := values[0], values[n-1]
	if low == high {
		return Feature{}, false
	}
	f := Feature{Column: name, Kind: Numeric, Missing: missing}
	step := math.Pow(10, math.Floor(math.Log10(high-low))) / 2
	f.Min, f.Max = roundTo(math.Floor(low/step)*step), roundTo(math.Ceil(high/step)*step)
	if low >= 0 && f.Min < 0 {
		f.Min = 0
	}
	f.Log = low >= 0 && high > draftTail*math.Max(values[3*n/4], 1)
	return f, f.Min < f.Max
}

// roundTo removes the digits that computing with steps leaves behind.
func roundTo(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64) // cannot fail
	return short
}

// sortedTexts are the present texts, numbers in their order before other texts.
func sortedTexts(texts map[string]int, missingText string) []string {
	all := slices.Sorted(maps.Keys(texts))
	all = slices.DeleteFunc(all, func(t string) bool { return t == "" || t == missingText })
	slices.SortStableFunc(all, func(a, b string) int {
		x, okA := parseFinite(a)
		y, okB := parseFinite(b)
		switch {
		case okA && okB && x != y:
			return int(math.Copysign(1, x-y))
		case okA != okB && okA:
			return -1
		case okA != okB:
			return 1
		}
		return strings.Compare(a, b)
	})
	return all
}
