package dates

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Date is a day of the Gregorian calendar, in days since 1970-01-01.
type Date int

// NewDate returns a day of the years 1 to 9999; false if there is no such day.
func NewDate(year, month, day int) (Date, bool) {
	if year < 1 || year > 9999 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0, false
	}
	// Years begin in March here, so that a leap day ends a year: days_from_civil in H. Hinnant,
	// "chrono-Compatible Low-Level Date Algorithms", 2013.
	y := year
	if month <= 2 {
		y--
	}
	era := y / 400
	yearOfEra := y - era*400
	dayOfYear := (153*((month+9)%12)+2)/5 + day - 1
	dayOfEra := yearOfEra*365 + yearOfEra/4 - yearOfEra/100 + dayOfYear
	return Date(era*146097 + dayOfEra - 719468), true
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// YearMonthDay returns year, month and day of the month, for years 1 to 9999 (civil_from_days,
// source in Of).
func (d Date) YearMonthDay() (year, month, day int) {
	z := int(d) + 719468
	era := z / 146097
	dayOfEra := z - era*146097
	yearOfEra := (dayOfEra - dayOfEra/1460 + dayOfEra/36524 - dayOfEra/146096) / 365
	dayOfYear := dayOfEra - (365*yearOfEra + yearOfEra/4 - yearOfEra/100)
	m := (5*dayOfYear + 2) / 153
	day = dayOfYear - (153*m+2)/5 + 1
	month = (m+2)%12 + 1
	year = yearOfEra + era*400
	if month <= 2 {
		year++
	}
	return year, month, day
}

// String writes the day as ISO 8601 does, 2024-12-31.
func (d Date) String() string {
	y, m, day := d.YearMonthDay()
	return fmt.Sprintf("%04d-%02d-%02d", y, m, day)
}

// YearsUntil counts whole years until a later day, like an age. A person born on 29 February is a
// year older on 1 March. For an earlier day the result is negative.
func (d Date) YearsUntil(later Date) int {
	y, m, day := d.YearMonthDay()
	ly, lm, lday := later.YearMonthDay()
	years := ly - y
	if lm < m || lm == m && lday < day {
		years--
	}
	return years
}

// InCentury returns the date with the same month, day and last two digits of the year, in the
// hundred years from first on; false if there is no such day (29 February).
func (d Date) InCentury(first int) (Date, bool) {
	y, m, day := d.YearMonthDay()
	return NewDate(first+((y-first)%100+100)%100, m, day)
}

// Zone gives the seconds that the clocks of a time zone are ahead of UTC, at a moment in seconds
// since 1970 began in UTC. ZoneNamed finds zones by their names.
type Zone func(second int64) (ahead int64)

// Layout is a date's format such as DD.MM.YYYY: YYYY or YY; M or MM, or MON for a month's name;
// D or DD; and separators. A layout without D, such as YYYY-MM, is of the first day of the month.
type Layout string

// ISO is the default format of dates.
const ISO Layout = "YYYY-MM-DD"

// datePart finds the parts of a layout and their separators.
var datePart = regexp.MustCompile(`MON|Y+|M+|D+|.`)

var asciiWord = regexp.MustCompile(`[A-Za-z0-9%]`)

// Validate returns an error for a layout that fits no date, and says what to write.
func (l Layout) Validate() error {
	if strings.Contains(string(l), " or ") {
		return fmt.Errorf("date %q: write which one it is", string(l))
	}
	count := map[string]int{}
	for _, part := range datePart.FindAllString(string(l), -1) {
		switch {
		case slices.Contains([]string{"YYYY", "YY", "MON", "MM", "M", "DD", "D"}, part):
			count[part[:1]]++
		case asciiWord.MatchString(part):
			return fmt.Errorf("date %q: %s is no part of a date: write YYYY or YY, M, MM or "+
				"MON (a "+
				"month's name), D or DD, and separators, as in DD.MM.YYYY; a time of day "+
				"after the date needs none", string(l), part)
		}
	}
	if count["Y"] != 1 || count["M"] != 1 || count["D"] > 1 {
		return fmt.Errorf("date %q: it needs one year, one month and at most one day: write "+
			"it like DD.MM.YYYY, DD-MON-YYYY or YYYY-MM", string(l))
	}
	return nil
}

// HasTwoDigitYear reports whether the layout's years have two digits, so that each date has several
// centuries.
func (l Layout) HasTwoDigitYear() bool { return strings.Count(string(l), "Y") == 2 }

// Parse reads a date. M and D accept one or two digits, and so do MM and DD; MON accepts a month's
// name in seven languages, or its first letters. A time of day may follow, with AM or PM and with a
// zone: UTC, GMT, Z or an offset; any other text behind the day is an error. Two-digit years are
// 1930 to 2029.
func (l Layout) Parse(text string) (Date, bool) {
	day, _, ok := l.ParseIn(text, nil)
	return day, ok
}

// ParseIn is Parse, but a moment with a zone of its own, such as 2024-12-30 23:30:00Z, is the day
// of this moment in the zone; nil ignores the time of day. zoned reports such a moment.
func (l Layout) ParseIn(text string, zone Zone) (date Date, zoned, ok bool) {
	text = strings.TrimSpace(text)
	year, month, day := 0, 0, 1
	for i := 0; i < len(l); {
		c := l[i]
		n := 1
		for i+n < len(l) && l[i+n] == c {
			n++
		}
		switch {
		case c == 'M' && strings.HasPrefix(string(l[i:]), "MON"):
			end := len(letters.FindString(text))
			month = monthNamed(text[:end])
			text, i = text[end:], i+len("MON")
			if !strings.HasPrefix(string(l[i:]), ".") { // of a short form: Feb.
				text = strings.TrimPrefix(text, ".")
			}
			continue
		case c != 'Y' && c != 'M' && c != 'D':
			if text == "" || text[0] != c {
				return 0, false, false
			}
			text, i = text[1:], i+1
			continue
		}
		value, digits := 0, 0
		for digits < max(n, 2) && digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
			value = value*10 + int(text[digits]-'0')
			digits++
		}
		if digits == 0 || c == 'Y' && digits != n {
			return 0, false, false
		}
		switch c {
		case 'Y':
			if year = value; n == 2 {
				if year += 1900; year < 1930 {
					year += 100
				}
			}
		case 'M':
			month = value
		case 'D':
			day = value
		}
		text, i = text[digits:], i+n
	}
	date, ok = NewDate(year, month, day)
	if text == "" || !ok {
		return date, false, ok
	}
	if l == "YYYYMMDD" && text[0] >= '0' && text[0] <= '9' { // HL7: 20240301233000+0100
		text = "T" + text
	}
	seconds, zoned, ok := clockTime(text)
	if zoned && zone != nil {
		at := int64(date)*86400 + seconds
		date = Date(math.Floor(float64(at+zone(at)) / 86400))
	}
	return date, zoned, ok
}

var letters = regexp.MustCompile(`^[\pL\p{Mn}]*`)

// clock is a time of day behind a date: hours, minutes and seconds with or without signs between
// them, AM or PM, and a zone.
var clock = regexp.MustCompile(`^(?i:(?:[T:]|,? ) ?(?:(\d\d?)[:.](\d\d)(?:[:.](\d\d)(?:[:.,]\d+)?)?|` +
	`(\d\d)(\d\d)(?:(\d\d)(?:[.,]\d+)?)?)(?: ?([AP])\.? ?M\.?| Uhr| ?h)?` +
	` ?(Z|(?:UTC|GMT)?(?:([+-]\d\d?)(?::?(\d\d))?)?))$`)

// clockTime reads the time of day, and the zone, if there is one, that follow a date. The seconds
// are of UTC since the date began, and may be negative. Without a zone they mean nothing.
func clockTime(rest string) (seconds int64, zoned, ok bool) {
	if len(rest) == len(" 23:30:00") && rest[0] == ' ' && rest[3] == ':' && rest[6] == ':' {
		h, a := strconv.ParseUint(rest[1:3], 10, 8) // as most files have it: ten times faster
		m, b := strconv.ParseUint(rest[4:6], 10, 8)
		s, c := strconv.ParseUint(rest[7:], 10, 8)
		return 0, false, a == nil && b == nil && c == nil && h <= 24 && m < 60 && s <= 60
	}
	parts := clock.FindStringSubmatch(rest)
	if parts == nil {
		return 0, false, false
	}
	var n [11]int64
	for i := range parts {
		n[i], _ = strconv.ParseInt(parts[i], 10, 64) // no number: 0
	}
	hour, minute, second := n[1]+n[4], n[2]+n[5], n[3]+n[6]
	if half := parts[7]; half != "" {
		if hour < 1 || hour > 12 {
			return 0, false, false
		}
		if hour %= 12; strings.EqualFold(half, "P") {
			hour += 12
		}
	}
	ahead := n[9]*60 + n[10]
	if strings.HasPrefix(parts[9], "-") {
		ahead -= 2 * n[10]
	}
	return hour*3600 + (minute-ahead)*60 + second, parts[8] != "",
		hour <= 24 && minute < 60 && second <= 60
}
