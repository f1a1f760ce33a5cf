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
	// The sign of a span is that of all its parts in these: 3.11:39:00 of .NET, +03 11:39:00 of
	// Oracle, 3:11:39:00; and 3d 11h 39m, of which two parts show that no unit is meant.
	dayClockSpan = regexp.MustCompile(`^([+-]?)()(\d+)[ .:](\d\d):([0-5]\d):([0-5]\d(?:[.,]\d+)?)$`)
	partsSpan    = regexp.MustCompile(`^([+-]?)()(?:(\d+) ?d(?:ays?)?,? ?)?` +
		`(?:(\d+) ?h(?:ours?)?,? ?)?(?:(\d+) ?m(?:in|inutes?)?,? ?)?(?:(\d+) ?s(?:ec)?)?$`)
	isoSpan = regexp.MustCompile(strings.ReplaceAll(
		`^([+-]?)P(?:#W)?(?:#D)?(?:T(?:#H)?(?:#M)?(?:#S)?)?$`, "#", `(\d+(?:[.,]\d+)?)`))
)

// spanDays returns the days of a span of time; false for other texts.
func spanDays(text string) (days float64, ok bool) {
	var parts []string
	for _, span := range []*regexp.Regexp{clockSpan, isoSpan, dayClockSpan, partsSpan} {
		if parts = span.FindStringSubmatch(text); parts != nil {
			const digits = "0123456789"
			behind := strings.TrimLeft(text, "+-"+digits)
			if span == partsSpan && !strings.ContainsAny(behind, digits) {
				return 0, false
			}
			break
		}
	}
	if parts == nil || strings.Join(parts[2:], "") == "" {
		return 0, false
	}
	seconds, sign := 0.0, 1.0
	for i, length := range []float64{7 * 86400, 86400, 3600, 60, 1} {
		part := parts[i+2]
		v, _ := strconv.ParseFloat(strings.Replace(part, ",", ".", 1), 64) // empty: 0
		// A sign before the hours is one of the minutes and seconds too.
		if length == 3600 && strings.HasPrefix(part, "-") {
			v, sign = -v, -1
		}
		seconds += sign * v * length
	}
	if parts[1] == "-" {
		seconds = -seconds
	}
	return seconds / 86400, true
}

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
