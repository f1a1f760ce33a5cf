package mapping

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"caucus/dataset"
	"caucus/dataset/dates"
)

var signNames = map[string]string{"": "point", ".": "point", ",": "comma"}

// anything are the bounds of a column that is no feature.
var anything = dataset.Feature{Kind: dataset.Numeric, Min: math.Inf(-1), Max: math.Inf(1)}

// decimalSigns returns the signs by which most of a column's texts are numbers, and how many cells
// these are. Signs that give the same numbers count once, told first. If several are left, those
// with at least half of the numbers within the bounds are returned, if there are any.
func decimalSigns(texts map[string]int, f dataset.Feature, told string) (signs []string, most int) {
	tried := []string{told}
	for _, sign := range []string{"", ",", "."} {
		if sign != told {
			tried = append(tried, sign)
		}
	}
	var numbers, inside [3]int
	var differ [3][3]bool
	for text, n := range texts {
		var values [3]float64
		var is [3]bool
		whole := strings.TrimLeft(text, "0123456789") == "" // one number, by every sign
		for i, sign := range tried {
			if i > 0 && whole {
				values[i], is[i] = values[0], is[0]
			} else {
				values[i], is[i] = parseNumber(text, sign)
			}
			for j := range i {
				differ[i][j] = differ[i][j] || is[i] != is[j] || values[i] != values[j]
			}
			if is[i] {
				numbers[i] += n
			}
			if is[i] && values[i] >= f.Min && values[i] <= f.Max {
				inside[i] += n
			}
		}
	}
	most = max(numbers[0], numbers[1], numbers[2])
	var best []int
	within := func(i int) bool { return 2*inside[i] >= numbers[i] }
	for i, n := range numbers {
		same := func(j int) bool { return !differ[i][j] }
		if n == most && !slices.ContainsFunc(best, same) {
			best = append(best, i)
		}
	}
	some := slices.ContainsFunc(best, within)
	for _, i := range best {
		if within(i) || !some {
			signs = append(signs, tried[i])
		}
	}
	return signs, most
}

// differing returns the first text, in alphabetical order, that is another number by another sign;
// "" if none is.
func differing(texts map[string]int, a, b string) (first string) {
	for text := range texts {
		v, isA := parseNumber(text, a)
		w, isB := parseNumber(text, b)
		if (isA != isB || v != w) && (first == "" || text < first) {
			first = text
		}
	}
	return first
}

// bothWays says what a cell becomes by two signs.
func bothWays(texts map[string]int, a, b string) string {
	text := differing(texts, a, b)
	v, _ := parseNumber(text, a)
	w, _ := parseNumber(text, b)
	return fmt.Sprintf("%q is %s with a decimal %s and %s with a decimal "+
		"%s", text, numberText(v), signNames[a], numberText(w), signNames[b])
}

// layoutsOf returns the formats of a column's dates, beside which dates of ISO 8601 are read too,
// and the texts that are neither; nil if less than half of the texts are dates, or nearly all if
// most are also numbers, as so many of its cells are.
func layoutsOf(texts map[string]int, numbers int) (layouts []dates.Layout, left map[string]int) {
	dated := func(l dates.Layout) func(string) bool {
		return func(text string) bool {
			_, ok := l.Parse(text)
			return ok
		}
	}
	left, layouts = without(texts, dated(dates.ISO)), []dates.Layout{dates.ISO}
	if others := dataset.GuessLayouts(left, 0.5); others != nil {
		left, layouts = without(left, dated(others[0])), others
	}
	all, least := cells(texts), 0.5
	if 2*numbers >= all {
		least = 0.95
	}
	if read := all - cells(left); read == 0 || float64(read) < least*float64(all) {
		return nil, nil
	}
	return layouts, left
}

// without returns the texts for which a condition does not hold: the same map if it holds for none.
func without(texts map[string]int, is func(text string) bool) map[string]int {
	for text := range texts {
		if is(text) {
			left := map[string]int{}
			for text, n := range texts {
				if !is(text) {
					left[text] = n
				}
			}
			return left
		}
	}
	return texts
}

// cells counts the cells of some texts.
func cells(texts map[string]int) (n int) {
	for _, cells := range texts {
		n += cells
	}
	return n
}

func firstOf(texts map[string]int) string { return slices.Min(slices.Collect(maps.Keys(texts))) }

// withUnit finds a number and what stands behind it.
var withUnit = regexp.MustCompile(`^([+-]?\d(?:[\d.,' \x{a0}\x{202f}]*\d)?)\s*` +
	`([^\d\s.,'<>=:/-][^\s]*)$`)

// unitOf returns the unit that most cells have behind a number, and all texts without it; "" and
// the texts themselves if most have none.
func unitOf(texts map[string]int) (unit string, bare map[string]int) {
	units := map[string]int{}
	for text, n := range texts {
		if _, ok := parseNumber(text, ""); ok {
			continue
		}
		if _, ok := spanDays(text); ok {
			units[spanUnit] += n
		} else if parts := withUnit.FindStringSubmatch(text); parts != nil {
			units[parts[2]] += n
		}
	}
	all := cells(texts)
	for u, n := range units {
		if 2*n > all {
			unit = u
		}
	}
	if unit == "" {
		return "", texts
	}
	bare = map[string]int{}
	for text, n := range texts {
		if number, ok := numberBefore(text, unit); ok {
			text = number
		}
		bare[text] += n
	}
	return unit, bare
}
