package mapping

import (
	"regexp"
	"strconv"
	"strings"
)

// spanUnit is the word of a rule's unit for spans of time.
const spanUnit = "span"

// clockSpan is a span of time as pandas, Python and PostgreSQL write it, or a clock that goes
// beyond 24 hours: 5 days 04:12:00, 36:30:00, 36:30. isoSpan is one of ISO 8601, without years and
// months, which have no fixed length. The groups are a sign, and days (or weeks) to seconds.
var (
	clockSpan = regexp.MustCompile(`^()()(?:([+-]?\d+) ?(?:d|days?),? ?)?` +
		`(?:([+-]?\d+):([0-5]\d)(?::([0-5]\d(?:[.,]\d+)?))?)?$`)
	isoSpan = regexp.MustCompile(strings.ReplaceAll(
		`^([+-]?)P(?:#W)?(?:#D)?(?:T(?:#H)?(?:#M)?(?:#S)?)?$`, "#", `(\d+(?:[.,]\d+)?)`))
)

// spanDays returns the days of a span of time; false for other texts.
func spanDays(text string) (days float64, ok bool) {
	parts := clockSpan.FindStringSubmatch(text)
	if parts == nil {
		parts = isoSpan.FindStringSubmatch(text)
	}
	if parts == nil || strings.Join(parts[2:], "") == "" {
		return 0, false
	}
	seconds, sign := 0.0, 1.0
	for i, length := range []float64{7 * 86400, 86400, 3600, 60, 1} {
		part := parts[i+2]
		v, _ := strconv.ParseFloat(strings.Replace(part, ",", ".", 1), 64) // empty: 0
		if length == 3600 && strings.HasPrefix(part, "-") {                // for minutes and seconds too
			v, sign = -v, -1
		}
		seconds += sign * v * length
	}
	if parts[1] == "-" {
		seconds = -seconds
	}
	return seconds / 86400, true
}

// withUnit finds a number and what stands behind it.
var withUnit = regexp.MustCompile(`^([+-]?\d(?:[\d.,' \x{a0}\x{202f}]*\d)?)\s*([^\d\s.,'<>=:/-][^\s]*)$`)

// numberBefore returns the number of a cell with the unit behind it, as the cell writes it; for
// spans their days. It is false for other texts.
func numberBefore(text, unit string) (number string, ok bool) {
	if unit == spanUnit {
		days, ok := spanDays(text)
		return numberText(days), ok
	}
	number, ok = strings.CutSuffix(text, unit)
	return strings.TrimSpace(number), ok
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
