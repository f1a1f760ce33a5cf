package decimal

import "strings"

// Canonical returns the shortest text of a number that is written in digits with at most one sign
// and one point, so that equal numbers have equal texts: "3" for "3", "03", "+3.0" and "3.". It
// reports false for every other text. "1E1" is such a text: it is more often a code than ten.
func Canonical(text string) (string, bool) {
	digits, negative := strings.CutPrefix(strings.TrimSpace(text), "-")
	if !negative {
		digits = strings.TrimPrefix(digits, "+")
	}
	whole, fraction, _ := strings.Cut(digits, ".")
	if whole+fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return "", false
	}
	number := strings.TrimLeft(whole, "0")
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		number += "." + fraction
	}
	switch {
	case number == "":
		return "0", true
	case negative:
		return "-" + number, true
	}
	return number, true
}
