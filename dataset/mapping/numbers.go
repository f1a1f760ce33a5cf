package mapping

import (
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"caucus/dataset"
)

// often is how many cells must have a text before a draft takes it for more than a slip: for a mark
// of missing values, in a column otherwise of numbers or dates, or for a code.
const often = 3

// words are texts to compare with. A number among them also matches its other forms: -9 matches
// -9.0.
type words struct {
	texts   map[string]bool
	numbers map[float64]bool
	decimal string
}

func newWords(texts []string, decimal string) words {
	w := words{texts: map[string]bool{}, numbers: map[float64]bool{}, decimal: decimal}
	for _, text := range texts {
		text = composed(strings.TrimSpace(text))
		w.texts[text] = true
		if v, ok := parseNumber(text, ""); ok {
			w.numbers[v] = true
		}
	}
	return w
}

func (w words) has(text string) bool {
	if len(w.texts) == 0 {
		return false
	}
	if w.texts[composed(text)] {
		return true
	}
	if len(w.numbers) == 0 {
		return false
	}
	v, ok := readNumber(text, w.decimal)
	return ok && w.numbers[v]
}

// composed is a text in Unicode's form NFC, in which equal letters are equal bytes.
func composed(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return norm.NFC.String(text)
		}
	}
	return text
}

func parseNumber(text, decimal string) (float64, bool) {
	text, ok := plainNumber(text, decimal)
	if !ok || text == "" || strings.IndexByte("0123456789.", text[len(text)-1]) < 0 ||
		dataset.HasGoNumberSyntax(text) { // excludes Inf, NaN, 1_0 and 0x1p4
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// readNumber is parseNumber, and also reads numbers with a point that are none by the sign: a
// workbook's numbers have a point even where its texts have a comma.
func readNumber(text, decimal string) (float64, bool) {
	v, ok := parseNumber(text, decimal)
	if !ok && decimal != "" {
		return parseNumber(text, "")
	}
	return v, ok
}

// plainNumber writes a number with a point and without group signs; false for a text that is no
// number by the decimal sign, such as 0.457 or 12.34 where it is a comma.
func plainNumber(text, decimal string) (string, bool) {
	if decimal == "" {
		return text, true
	}
	whole, fraction, has := strings.Cut(text, decimal)
	joined, ok := withoutGroups(whole, decimal)
	if !ok || strings.ContainsAny(fraction, decimal+groupSigns[decimal]) {
		return "", false
	}
	if has {
		return joined + "." + fraction, true
	}
	return joined, true
}

// groupSigns are, by decimal sign, the signs between groups of three digits.
var groupSigns = map[string]string{",": ". '\u00a0\u202f", ".": ", '\u00a0\u202f"}

// withoutGroups removes signs between groups of three digits; false if a sign is elsewhere. No
// grouped number begins with 0, so that 0.457 is never 457.
func withoutGroups(whole, decimal string) (string, bool) {
	signs := groupSigns[decimal]
	behind := strings.TrimLeft(whole, "+-0123456789")
	if behind == "" {
		return whole, true
	}
	n := len(whole)
	if strings.ContainsAny(behind[:1], signs) && (n < 4 || whole[n-4] >= '0' && whole[n-4] <= '9') {
		return "", false // at once, as most numbers with a point
	}
	if !strings.ContainsAny(whole, signs) {
		return whole, true
	}
	parts := strings.Split(strings.Map(func(r rune) rune {
		if strings.ContainsRune(signs, r) {
			return ' '
		}
		return r
	}, whole), " ")
	for _, p := range parts[1:] {
		if len(p) != 3 || strings.Trim(p, "0123456789") != "" {
			return "", false
		}
	}
	first := strings.TrimLeft(parts[0], "+-")
	return strings.Join(parts, ""), len(first) > 0 && len(first) <= 3 && first[0] != '0'
}

// numberText adds 0, which turns -0 into 0.
func numberText(v float64) string { return strconv.FormatFloat(v+0, 'g', -1, 64) }
