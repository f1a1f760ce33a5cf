package dataset

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"caucus/dataset/dates"
)

// NumberText returns the shortest text of a number with 32 or 64 bits; "" if it is not finite.
func NumberText(v float64, bits int) string {
	switch a := math.Abs(v); {
	case v-v != 0:
		return ""
	case a != 0 && (a < 1e-6 || a >= 1e21):
		return strconv.FormatFloat(v, 'e', -1, bits)
	}
	return strconv.FormatFloat(v+0, 'f', -1, bits) // +0 turns -0 into 0
}

// DayText writes a day counted from 1970; "" outside the years 1 to 9999.
func DayText(days int64) string {
	const first, last = -719162, 2932896
	if days < first || days > last {
		return ""
	}
	return dates.Date(days).String()
}

// MomentText writes a moment, t/unit seconds after 1970 began, then the zone, such as Z. Without a
// zone, midnight is the date alone.
func MomentText(t, unit int64, zone string) string {
	perDay := 86400 * unit
	day, rest := t/perDay, t%perDay
	if rest < 0 {
		day, rest = day-1, rest+perDay
	}
	return DayMomentText(day, rest, unit, zone)
}

// DayMomentText is MomentText for a day, and a time of this day in 1/unit seconds.
func DayMomentText(day, rest, unit int64, zone string) string {
	text := DayText(day)
	if text == "" || rest == 0 && zone == "" {
		return text
	}
	return text + " " + ClockText(rest, unit) + zone
}

// ClockText writes a time of day in 1/unit seconds, unit a power of ten, without trailing zeros:
// 08:30:00.5.
func ClockText(t, unit int64) string {
	second := t / unit
	text := fmt.Sprintf("%02d:%02d:%02d", second/3600, second/60%60, second%60)
	if t%unit == 0 {
		return text
	}
	return text + "." + strings.TrimRight(strconv.FormatInt(unit+t%unit, 10)[1:], "0")
}
