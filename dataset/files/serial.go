package files

import (
	"cmp"
	"math"
	"strings"

	"caucus/dataset"
	"caucus/dataset/dates"
)

// numberStyle says what a cell style shows numbers as.
type numberStyle int

const (
	aNumber numberStyle = iota
	aDate               // a date or a moment
	aClock              // a time of day
	aSpan               // [h]:mm, a time that may be longer than a day
)

func builtIn(number int) numberStyle {
	switch {
	case number == 46: // [h]:mm:ss
		return aSpan
	case number >= 18 && number <= 21, number == 45, number == 47:
		return aClock
	case number >= 14 && number <= 22, number >= 27 && number <= 36, number >= 50 && number <= 58:
		return aDate
	}
	return aNumber
}

// styleOf looks for a date or time part outside quotes and outside brackets for colours or
// languages.
func styleOf(code string) numberStyle {
	code, _, _ = strings.Cut(code, ";") // the part of the format for positive numbers
	shows := aNumber
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '\\', '_', '*':
			i++
		case '"':
			end := strings.IndexByte(code[i+1:], '"')
			if end < 0 {
				return shows
			}
			i += end + 1
		case '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return shows
			}
			if strings.Trim(strings.ToLower(code[i+1:i+end]), "hms") == "" { // [h]:mm
				return aSpan
			}
			i += end
		case 'd', 'D', 'y', 'Y':
			return aDate
		case 'h', 'H', 's', 'S':
			shows = aClock
		case 'm', 'M': // a month, but beside hours or seconds a minute
			shows = max(shows, aDate)
		case 'G', 'g': // the word General
			if strings.HasPrefix(strings.ToLower(code[i:]), "general") {
				i += len("general") - 1
			}
		}
	}
	return shows
}

// serialText writes Excel's date, counted in days from the day before 1900 (including a 29 February
// 1900 that never existed), or from 1904; of a time of day, whose day is 0, the time alone. It
// returns false for a number that is not a date. The day is the number's whole part: rounded are
// milliseconds alone, below which a binary fraction of a day is not exact.
func serialText(v float64, year04, timeOfDay bool) (string, bool) {
	if !(v >= 0 && v < 2958466) { // before the first date, or after the year 9999
		return "", false
	}
	day, milli := math.Floor(v), math.Round((v-math.Floor(v))*86400e3)
	if milli == 86400e3 {
		day, milli = day+1, 0
	}
	clock := ""
	if milli > 0 {
		clock = dataset.ClockText(int64(milli), 1e3)
	}
	if day == 0 && (timeOfDay || !year04) {
		return cmp.Or(clock, "00:00:00"), true
	}
	days := int(day)
	switch {
	case year04:
		days += 1462
	case days == 60:
		return strings.TrimSpace("1900-02-29 " + clock), true
	case days < 60:
		days++
	}
	const epoch = -25569 // 1899-12-30
	if text := dataset.DayText(int64(epoch + days)); text != "" {
		return strings.TrimSpace(dates.Date(epoch+days).String() + " " + clock), true
	}
	return "", false
}
