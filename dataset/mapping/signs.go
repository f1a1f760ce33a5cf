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
// these are, and those that make other numbers of some texts. Such a text has a point, or a comma,
// before three digits, and no other text shows what it is, as 0.5 or 1.234,5 do.
// Signs that give the same numbers count once, told first. If several are left, those with at least
// half of the numbers within the bounds are returned, if there are any.
func decimalSigns(texts map[string]int, f dataset.Feature, told string) (signs []string, most int) {
	tried := []string{told}
	for _, sign := range []string{"", ",", "."} {
		if sign != told {
			tried = append(tried, sign)
		}
	}
	var numbers, inside [3]int
	var differ [3][3]bool
	// By the points and commas of texts: those that are another number by the second sign, and
	// those that are none by it.
	var other, alone [3][3]int
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
				switch {
				case is[i] == is[j] && (!is[i] || values[i] == values[j]):
					continue
				case is[i] && is[j]:
					other[i][j] |= signsIn(text)
					other[j][i] = other[i][j]
				case is[i]:
					alone[i][j] |= signsIn(text)
				default:
					alone[j][i] |= signsIn(text)
				}
				differ[i][j] = true
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
	first := slices.Index(numbers[:], most)
	best := []int{first}
	within := func(i int) bool { return 2*inside[i] >= numbers[i] }
	for i, n := range numbers {
		same := func(j int) bool { return !differ[max(i, j)][min(i, j)] }
		open := other[first][i]&^alone[first][i] != 0
		if (open || n == most && other[first][i] == 0) && !slices.ContainsFunc(best, same) {
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

// signsIn is the set of point (1) and comma (2) in a text.
func signsIn(text string) int {
	return min(strings.Count(text, "."), 1) + 2*min(strings.Count(text, ","), 1)
}

// differing returns the first text, in alphabetical order, that is another number by another sign,
// or else one that is a number by one of them alone; "" if none is.
func differing(texts map[string]int, a, b string) (first string) {
	shown := false
	for text := range texts {
		v, isA := parseNumber(text, a)
		w, isB := parseNumber(text, b)
		both := isA && isB && v != w
		if (isA != isB || both) &&
			(first == "" || both && !shown || both == shown && text < first) {
			first, shown = text, both
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

// unitsIn lists what stands behind numbers, if numbers with it are most of the cells.
func unitsIn(texts map[string]int) []string {
	units, with := map[string]bool{}, 0
	for text, n := range texts {
		if parts := withUnit.FindStringSubmatch(text); parts != nil {
			units[parts[2]] = true
			with += n
		}
	}
	if 2*with < cells(texts) {
		return nil
	}
	return slices.Sorted(maps.Keys(units))
}

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
