package yamlfile

import "strings"

// Nearest returns the text among others that is most similar to text, "" if none is near. Near
// means equal except for case, spaces and punctuation, or no more than most edits away.
func Nearest(text string, among []string, most int) string {
	want, best := Simplify(text), ""
	for _, other := range among {
		if d := edits(want, Simplify(other), most); d <= most {
			best, most = other, d-1
		}
	}
	return best
}

// Simplify returns a name in lower case, without spaces, line breaks and punctuation.
func Simplify(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \n_-.,:;/()[]\"'", r) {
			return -1
		}
		return r
	}, strings.ToLower(text))
}

// edits returns the optimal string alignment distance of a and b: letters to change, add, remove or
// swap with a neighbour. Above most, the result is any number above most.
func edits(a, b string, most int) int {
	x, y := []rune(a), []rune(b)
	// long texts are not compared
	if max(len(x)-len(y), len(y)-len(x)) > most || len(x) > 200 || len(y) > 200 {
		return most + 1
	}
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
