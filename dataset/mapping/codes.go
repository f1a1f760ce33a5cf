package mapping

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// mayBeCode reports a number that people write for a missing value, also within a column's bounds:
// 0, a negative whole number, or one digit twice or more often, as 99, 555 and 9.99.
func mayBeCode(v float64) bool {
	digits := strings.Replace(strconv.FormatFloat(math.Abs(v), 'f', -1, 64), ".", "", 1)
	alike := strings.Trim(digits, digits[:1]) == ""
	return v == 0 || v < 0 && v == math.Trunc(v) || alike && (len(digits) > 1 || v == 9)
}

// leastValues is how many different numbers a column has at least of which one may stand out: those
// of a short scale, such as 0 to 10, are all as usual as each other.
const leastValues = 10

// LikelyMissingMarks says which of a column's numbers, of which each has so many cells, may stand
// for a missing value though the bounds let it pass; "" if none. Such a number may be a code. It
// lies alone below 0; or several cells have it, and more than twice as many as any number that is
// no code, or it lies beyond twice the largest of these. A 0 is usual unless the others are far
// from it.
func LikelyMissingMarks(numbers map[string]int, decimal string) string {
	codes := map[float64]int{}
	low, high, usual, others, negative := math.Inf(1), math.Inf(-1), 0, 0, 0
	for text, n := range numbers {
		v, ok := readNumber(text, decimal)
		switch {
		case !ok:
		case mayBeCode(v):
			if codes[v] += n; v < 0 && codes[v] == n {
				negative++
			}
		default:
			low, high, usual, others = min(low, v), max(high, v), max(usual, n), others+1
		}
	}
	var found []string
	for _, v := range slices.Sorted(maps.Keys(codes)) {
		many := codes[v] > 2*usual && (v != 0 || 2*low > high-low)
		scale := others < leastValues || codes[v] < often
		alone := v < 0 && low >= 0 && negative == 1 && others > 1 && codes[v] > 1
		if alone || !scale && (many || v > 2*high) {
			found = append(found, fmt.Sprintf("%s in %d cells", numberText(v), codes[v]))
		}
	}
	if found == nil {
		return ""
	}
	return strings.Join(found, " and ") + " lies apart from the other numbers: if it stands for a " +
		"missing value, name it under missing in a mapping"
}
