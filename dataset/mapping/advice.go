package mapping

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"caucus/dataset"
)

// Limits of advice. A rare text may identify a person, so it is counted but not shown.
const (
	adviceTexts = 3    // of a column at most this number of texts is shown
	adviceLeast = 10   // a text is shown if at least this number of records have it
	adviceShare = 0.01 // and at least this share of the records
)

// AdviceRecords is the number of a file's first records on which advice about a long file rests.
const AdviceRecords = 20_000

// Advice suggests remedies for cells outside a schema: other words for levels, decimal commas,
// dates. It shows texts of the table, so only show it to those who may see the table.
func Advice(t *dataset.Table, s dataset.Schema) []string {
	var all []string
	for _, f := range s.Features {
		names, _ := dataset.ExpandNames(slices.Concat(f.Columns, nonEmpty(f.Column)))
		for _, name := range names {
			if f.Kind == dataset.Numeric {
				all = append(all, numberAdvice(t, name, f, s.Missing)...)
				all = append(all, unitAdvice(t, name, f)...)
				if says := LikelyMissingMarks(t.Distinct(name), ""); says != "" {
					all = append(all, name+": "+says)
				}
			} else {
				all = append(all, levelAdvice(t, name, f.Levels, s.Missing, "level")...)
			}
		}
	}
	if s.Label.Column != "" && s.Label.OtherClass == "" {
		classes := slices.Concat(s.Label.Classes, slices.Sorted(maps.Keys(s.Label.Aliases)))
		all = append(all, levelAdvice(t, s.Label.Column, classes, s.Missing, "class")...)
	}
	return all
}

// levelAdvice names the most frequent unknown texts.
func levelAdvice(t *dataset.Table, name string, levels []string, missing, what string) []string {
	type stranger struct {
		text string
		n    int
	}
	var strangers []stranger
	for text, n := range t.Distinct(name) {
		if text == "" || text == missing || slices.Contains(levels, text) || n < adviceLeast ||
			float64(n) < adviceShare*float64(t.Rows()) {
			continue
		}
		if v, ok := parseNumber(text, ""); ok && slices.ContainsFunc(levels, func(l string) bool {
			w, ok := parseNumber(l, "")
			return ok && v == w
		}) {
			continue // another form of a known number
		}
		strangers = append(strangers, stranger{text, n})
	}
	slices.SortFunc(strangers, func(a, b stranger) int {
		return cmp.Or(b.n-a.n, strings.Compare(a.text, b.text))
	})
	var out []string
	texts := t.Distinct(name)
	maps.DeleteFunc(texts, func(text string, _ int) bool { return text == "" || text == missing })
	guess, unsure := guessLevels(texts, levels)
	if len(unsure) > 0 && len(strangers) > 0 {
		out = append(out, fmt.Sprintf("%s: %s", name, whichLevel(texts, unsure, levels)))
	}
	for _, x := range strangers[:min(len(strangers), adviceTexts)] {
		if slices.Contains(missingBeside(texts), x.text) || wordless(x.text) && texts["+"] == 0 {
			out = append(out, fmt.Sprintf("%s cells %q of %s look like missing values: add missing: [%q]", thousands(x.n), x.text, name, x.text))
			continue
		}
		if slices.Contains(unsure, x.text) {
			continue
		}
		level := cmp.Or(guess[x.text], "one of "+few(levels))
		advice := fmt.Sprintf("%s cells %q are not a %s of %s: add levels: {%s: %s}", thousands(x.n), clip(x.text), what, name, clip(x.text), level)
		if guess[x.text] == "" { // such as -9 or unknown
			advice += fmt.Sprintf(", or missing: [%q] if it stands for nothing", x.text)
		}
		out = append(out, advice)
	}
	var none []string
	for _, level := range levels {
		alike := func(text string) bool { return sameSpelling(text, level) }
		if !slices.ContainsFunc(slices.Collect(maps.Keys(texts)), alike) {
			none = append(none, level)
		}
	}
	if len(none) > 0 && len(none) < len(levels) && t.Rows() >= adviceLeast {
		out = append(out, fmt.Sprintf("no cell of %s is of the %s %s, of %s: look whether a text "+
			"that means it is read as another", name, what, few(none), few(levels)))
	}
	return out
}

// wordless reports a text of signs alone, such as a point or three dashes.
func wordless(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.IsNumber(r)
	})
}

// numberAdvice explains why a column's cells are not numbers.
func numberAdvice(t *dataset.Table, name string, f dataset.Feature, missing string) []string {
	texts := t.Distinct(name)
	delete(texts, "")
	delete(texts, missing)
	odd, all := map[string]int{}, 0
	strange := 0
	for text, n := range texts {
		all += n
		if _, ok := parseNumber(text, ""); !ok {
			odd[text] = n
			strange += n
		}
	}
	if strange < adviceLeast || float64(strange) < adviceShare*float64(t.Rows()) {
		return nil
	}
	var out []string
	signs, numbers := decimalSigns(texts, f, "")
	unit, _ := unitOf(texts)
	layouts, _ := layoutsOf(texts, numbers)
	switch {
	case layouts != nil:
		names := dataset.LayoutNames(layouts)
		out = append(out, fmt.Sprintf("the cells of %s are dates like %s: add dates: %s, and "+
			"years_until or days_since a day", name, names, names))
	case unit != "":
		out = append(out, fmt.Sprintf("most cells of %s are like %q: add unit: %s", name,
			clip(firstOf(odd)), unit))
	case numbers == 0:
	case len(signs) > 1:
		out = append(out, fmt.Sprintf("%s: %s: write which one it is under "+
			"decimal", name, bothWays(texts, signs[0], signs[1])))
	case signs[0] != "":
		_, commas := decimalSigns(odd, anything, signs[0])
		out = append(out, fmt.Sprintf("%s cells of %s have a decimal %s: write decimal: "+
			"%q", thousands(commas), name, signNames[signs[0]], signs[0]))
	}
	if 2*numbers > all {
		maps.DeleteFunc(odd, func(text string, n int) bool {
			_, ok := readNumber(text, signs[0])
			return ok
		})
	}
	if says := noNumbers(name, name, odd); 2*numbers > all && strings.Contains(says, "begin with") {
		out = append(out, says)
	}
	for _, text := range slices.Sorted(maps.Keys(odd)) {
		usual := slices.Contains(dataset.MissingTexts(), text)
		word := 2*numbers > all && !strings.ContainsAny(text, "0123456789")
		if odd[text] >= adviceLeast && (usual || word) {
			out = append(out, fmt.Sprintf("%s cells %q of %s look like missing values: add "+
				"missing: [%q]", thousands(odd[text]), clip(text), name, clip(text)))
		}
	}
	return out
}

// unitAdvice reports a column with most numbers outside its bounds, probably in another unit.
func unitAdvice(t *dataset.Table, name string, f dataset.Feature) []string {
	all, beyond := 0, 0
	for text, n := range t.Distinct(name) {
		if v, ok := parseNumber(text, ""); ok {
			all += n
			if v < f.Min || v > f.Max {
				beyond += n
			}
		}
	}
	if beyond < adviceLeast || 2*beyond < all {
		return nil
	}
	return []string{fmt.Sprintf("%s of %s numbers of %s are outside of %g to %g: is it in another unit? write multiply (and offset)", thousands(beyond), thousands(all), name, f.Min, f.Max)}
}

func thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
