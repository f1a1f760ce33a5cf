package dataset

import (
	"fmt"
	"strings"
)

// Date is a day of the Gregorian calendar, in days since 1970-01-01.
type Date int

// DateOf returns a day of the years 1 to 9999; false if there is no such day.
func DateOf(year, month, day int) (Date, bool) {
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

// Civil returns year, month and day of the month, for years 1 to 9999 (civil_from_days, source in DateOf).
func (d Date) Civil() (year, month, day int) {
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

func (d Date) String() string {
	y, m, day := d.Civil()
	return fmt.Sprintf("%04d-%02d-%02d", y, m, day)
}

// YearsUntil counts whole years until a later day, like an age. A person born on 29 February is a year
// older on 1 March. For an earlier day the result is negative.
func (d Date) YearsUntil(later Date) int {
	y, m, day := d.Civil()
	ly, lm, lday := later.Civil()
	years := ly - y
	if lm < m || lm == m && lday < day {
		years--
	}
	return years
}

// DateLayout is a date's format such as DD.MM.YYYY: YYYY or YY, M or MM, D or DD, and separators.
type DateLayout string

// ISODate is the default format of dates.
const ISODate DateLayout = "YYYY-MM-DD"

func (l DateLayout) Validate() error {
	rest := string(l)
	for _, part := range []string{"Y", "M", "D"} {
		first, last := strings.Index(rest, part), strings.LastIndex(rest, part)
		n := strings.Count(rest, part)
		wanted := "1 or 2"
		fine := n == 1 || n == 2
		if part == "Y" {
			wanted, fine = "2 or 4", n == 2 || n == 4
		}
		if !fine || last-first+1 != n {
			return fmt.Errorf("date %q: it needs %s %s in a row: write it like DD.MM.YYYY", string(l), wanted, part)
		}
	}
	return nil
}

// Parse reads a date. M and D accept one or two digits, and so do MM and DD. It ignores a time of day
// after a space or T. Two-digit years are 1930 to 2029.
func (l DateLayout) Parse(text string) (Date, bool) {
	text = strings.TrimSpace(text)
	var year, month, day int
	for i := 0; i < len(l); {
		c := l[i]
		n := 1
		for c != 0 && i+n < len(l) && l[i+n] == c {
			n++
		}
		if c != 'Y' && c != 'M' && c != 'D' {
			if text == "" || text[0] != c {
				return 0, false
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
			return 0, false
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
	if text != "" && text[0] != ' ' && text[0] != 'T' {
		return 0, false
	}
	return DateOf(year, month, day)
}
