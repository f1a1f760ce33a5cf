package dataset

import "strings"

// Nearest is the text that is most like another, "" where none is: the same but
// for case, spaces and signs, or a few letters away.
func Nearest(text string, among []string) string {
	want := Bare(text)
	best, least := "", 1+len([]rune(want))/4
	for _, other := range among {
		if d := distance(want, Bare(other), least); d < least {
			best, least = other, d
		}
	}
	return best
}

// Bare is a name in small letters, without spaces and signs.
func Bare(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" _-.,:;/()[]\"'", r) {
			return -1
		}
		return r
	}, strings.ToLower(text))
}

// distance is how many letters have to change, come or go (Levenshtein 1966),
// or most where it is more.
func distance(a, b string, most int) int {
	x, y := []rune(a), []rune(b)
	if len(x)-len(y) >= most || len(y)-len(x) >= most || len(x) > 200 || len(y) > 200 {
		return most
	}
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		corner := row[0]
		row[0] = i + 1
		for j := range y {
			cost := 1
			if x[i] == y[j] {
				cost = 0
			}
			corner, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, corner+cost)
		}
	}
	return min(row[len(y)], most)
}
