package dataset

import (
	"regexp"
	"slices"
	"strings"

	"caucus/dataset/dates"
)

var missingTexts = []string{"?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "-"}

// LooksLikePatientID reports whether a column's name says that it identifies persons, in English or
// German. It is a guess for drafts, which a person checks.
func LooksLikePatientID(column string) bool { return patientName.MatchString(column) }

var patientName = regexp.MustCompile(
	`(?i)(patient|subject|person|participant|mrn|proband|versicherte)`)

// usualLayouts are the date formats to guess. None but YYYYMMDD is the text of a number.
var usualLayouts = []dates.Layout{
	dates.ISO, "DD.MM.YYYY", "DD/MM/YYYY", "MM/DD/YYYY", "YYYY/MM/DD", "DD-MM-YYYY", "MM-DD-YYYY",
	"YYYYMMDD", "DD.MM.YY", "DD/MM/YY", "MM/DD/YY", "DD-MON-YYYY", "DD MON YYYY", "DD. MON YYYY",
	"DDMONYYYY", "MON DD, YYYY", "DD.MON.YYYY", "DD/MON/YYYY",
	"DD-MON-YY", "DDMONYY", "YYYY-MM", "MM/YYYY", "MON YYYY",
	"DD-MM-YY", "MM-DD-YY", "YY-MM-DD", "DD MM YYYY", "YYYY MON DD", "YYYY-MON-DD", "MON-YY",
}

// GuessLayouts returns the formats that read most of a column's dates, and so as many as each
// other: several where all days are also months, as in 03/04/1950. It returns none where these are
// less than a share least of the texts, which are counted without missing values.
func GuessLayouts(texts map[string]int, least float64) (best []dates.Layout) {
	all, dated := 0, make([]int, len(usualLayouts))
	for text, n := range texts {
		if text == "" || slices.Contains(missingTexts, text) {
			continue
		}
		all += n
		number := isNumber(text)
		for i, layout := range usualLayouts {
			if number && layout != "YYYYMMDD" {
				continue
			}
			if _, ok := layout.Parse(text); ok {
				dated[i] += n
			}
		}
	}
	most := slices.Max(dated)
	for i, layout := range usualLayouts {
		if n := dated[i]; n == most && n > 0 && float64(n) >= least*float64(all) {
			best = append(best, layout)
		}
	}
	return best
}

// LayoutNames joins formats for a message.
func LayoutNames(all []dates.Layout) string {
	var names []string
	for _, l := range all {
		names = append(names, string(l))
	}
	return strings.Join(names, " or ")
}

// Distinct counts each text of a column; nil if there is no such column.
func (t *Table) Distinct(name string) map[string]int {
	if c := t.column(name); c != nil {
		return c.distinct()
	}
	return nil
}

// MissingTexts are the usual marks of missing values.
func MissingTexts() []string { return slices.Clone(missingTexts) }

// distinct counts the texts in this column's rows. c.values may hold texts of other selections too.
func (c *column) distinct() map[string]int {
	count := make([]int, len(c.values))
	for _, code := range c.codes.narrow {
		count[code]++
	}
	for _, code := range c.codes.wide {
		count[code]++
	}
	texts := make(map[string]int)
	for code, n := range count {
		if n > 0 {
			texts[c.values[code]] = n
		}
	}
	return texts
}
