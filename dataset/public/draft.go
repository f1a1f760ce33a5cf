package public

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"caucus/dataset"
)

const (
	// draftLevels bounds a feature's distinct texts. Columns with more texts hold names or free
	// text.
	draftLevels = 60
	// draftNumbers is the least share of numbers among a numeric column's cells.
	draftNumbers = 0.95
	// nearUnique is the least share of distinct values in a column of whole numbers that identify
	// rows.
	nearUnique = 0.9
	// A feature without negative values gets log if its largest value is above draftTail upper
	// quartiles.
	draftTail = 20
)

// OmittedColumn names a column that DraftSchema did not take as a feature, and why: it identifies
// somebody, holds free text, or has one value.
type OmittedColumn struct {
	Column string `json:"column"`
	Reason string `json:"why"`
}

// DraftSchema proposes a schema for a table of PUBLIC data. It takes bounds and levels from the
// table, so for private records it would publish their extremes. Read the draft, round the bounds
// to known facts about the quantity, and remove columns that must not be used.
//
// Columns of numbers become numeric, with bounds rounded outwards to one or two digits. Columns of
// few distinct texts become categorical. A column that looks like a patient's number becomes the
// patient column. The draft leaves out, with the reason, identifiers, dates, numbers with a decimal
// comma, columns of many texts and constant columns.
func DraftSchema(t *dataset.Table, label string) (dataset.Schema, []OmittedColumn, error) {
	fail := func(err error) (dataset.Schema, []OmittedColumn, error) {
		return dataset.Schema{}, nil, fmt.Errorf("draft schema: %w", err)
	}
	if !t.Has(label) {
		return fail(fmt.Errorf("no column %q for the label; the file has %s", label,
			dataset.NamesOrCount(t.Columns())))
	}
	if t.Rows() == 0 {
		return fail(errors.New("the table has no rows to judge by"))
	}
	s := dataset.Schema{Missing: draftMissing(t)}
	s.Label = dataset.Label{Column: label, Classes: sortedTexts(t.Distinct(label), s.Missing)}
	if n := len(s.Label.Classes); n < 2 || n > draftLevels {
		return fail(fmt.Errorf("the label %q has %d distinct values; a class needs 2 to %d", label, n, draftLevels))
	}
	var left []OmittedColumn
	for _, c := range t.Columns() {
		if c == label {
			continue
		}
		if whom := identifies(t, c, s.Missing); whom == aPatient && s.Patient == "" {
			s.Patient = c
			left = append(left, OmittedColumn{c, "it looks like a patient's number: proposed as patient, so that a patient's records stay together, and no feature"})
		} else if whom == ownInEachRow {
			left = append(left, OmittedColumn{c, "nearly each row has a whole number of its " +
				"own there, as of a key or a telephone: if it is a quantity, write it under " +
				"features; if it numbers patients, write patient: " + c})
		} else if whom != nobody {
			left = append(left, OmittedColumn{c, "it looks like an identifier, of which nothing can be learned; if it numbers patients, write patient: " + c})
		} else if f, why := draftFeature(t, c, s.Missing); why == "" {
			s.Features = append(s.Features, f)
		} else {
			left = append(left, OmittedColumn{c, why})
		}
	}
	if len(s.Features) == 0 {
		var whys []string
		for _, l := range left {
			whys = append(whys, l.Column+": "+l.Reason)
		}
		return fail(fmt.Errorf("no column can be a feature: %s", dataset.NamesOrCount(whys)))
	}
	if err := s.Validate(); err != nil {
		return fail(err)
	}
	return s, left, nil
}

type identity int

const (
	nobody identity = iota
	aRecord
	aPatient
	ownInEachRow // whatever its name, as ptid or phone
)

var identifierName = regexp.MustCompile(`[a-z](ID|Id|Nr|No|Key|Nummer)$|(?i:(^|[^a-z])(id|ids|nbr|nr|no|num|key|uuid|guid|mrn|ssn|fall|index|row)$|(nummer|number)$)`)

// identifies reports whether a column is named like patient or record numbers and has too many
// distinct values to be anything else: over draftLevels and more than a tenth of the records, or
// nearly one for each record. A column without a name, or one that counts the rows, holds record
// numbers too.
func identifies(t *dataset.Table, c, missingText string) identity {
	texts, rows := t.Distinct(c), t.Rows()
	delete(texts, "")
	delete(texts, missingText)
	patient, named := dataset.LooksLikePatientID(c), identifierName.MatchString(c)
	many := len(texts) > draftLevels && 10*len(texts) > rows
	whole, numbers, present := true, 0, 0
	for text, n := range texts {
		v, ok := dataset.ParseNumber(text)
		whole = whole && (!ok || v == math.Trunc(v))
		if present += n; ok {
			numbers += n
		}
	}
	own := len(texts) > 2 && float64(len(texts)) >= nearUnique*float64(present)
	switch {
	case (many || own) && whole && patient:
		return aPatient
	case (many || own) && whole && named, c == "" || strings.HasPrefix(c, "column") && counts(t, c):
		return aRecord
	case many && own && whole && numbers == present:
		return ownInEachRow
	}
	return nobody
}

// counts reports whether a column has the numbers of the rows.
func counts(t *dataset.Table, c string) bool {
	number := func(row int) (float64, bool) {
		text, _ := t.Cell(row, c)
		return dataset.ParseNumber(text)
	}
	first, ok := number(0)
	for i := range t.Rows() {
		v, fine := number(i)
		ok = ok && fine && v == first+float64(i)
	}
	return ok && t.Rows() >= 3
}

// draftMissing returns the usual text for a missing value that occurs in most columns, or "".
func draftMissing(t *dataset.Table) string {
	columns := map[string]int{} // with each text
	for _, c := range t.Columns() {
		for text := range t.Distinct(c) {
			columns[text]++
		}
	}
	best, most := "", 0
	for _, text := range dataset.MissingTexts() {
		if n := columns[text]; n > most {
			best, most = text, n
		}
	}
	return best
}

func draftFeature(t *dataset.Table, c, missingText string) (f dataset.Feature, why string) {
	texts, rows := t.Distinct(c), t.Rows()
	var numbers []float64
	absent, commas := 0, 0
	for text, n := range texts {
		if text == "" || text == missingText {
			absent += n
		} else if v, ok := dataset.ParseNumber(text); ok {
			numbers = append(numbers, slices.Repeat([]float64{v}, n)...)
		} else if decimalComma.MatchString(text) {
			commas += n
		}
	}
	present := rows - absent
	if present == 0 {
		return dataset.Feature{}, "it is empty"
	}
	enough := draftNumbers * float64(present)
	delete(texts, missingText)
	if layouts := dataset.GuessLayouts(texts, draftNumbers); layouts != nil {
		return dataset.Feature{}, fmt.Sprintf("its values are dates like %s: make a "+
			"number of them in a mapping, with years_until or days_since", dataset.LayoutNames(layouts))
	}
	if float64(len(numbers)) >= enough {
		return draftNumeric(c, numbers, absent > 0)
	}
	if commas > 0 && float64(len(numbers)+commas) >= enough {
		return dataset.Feature{}, "its numbers have a comma: read them with " +
			"--decimal , where 1,5 is meant, or --decimal . where 1,234 is a thousand"
	}
	levels := sortedTexts(texts, missingText)
	many := len(levels) > draftLevels || len(levels) > 2 && 2*len(levels) > present
	switch {
	case len(levels) < 2:
		return dataset.Feature{}, "it has the same value everywhere"
	case many && 2*len(numbers) > present:
		return dataset.Feature{}, fmt.Sprintf("%d of its %d values are numbers, and others are not, such as %q: name those that mean a missing value under missing in a mapping", len(numbers), present, firstText(levels))
	case many:
		return dataset.Feature{}, fmt.Sprintf("it has %d different texts in %d rows, as "+
			"names, keys or free text have: as levels they would be published", len(levels), present)
	}
	return dataset.Feature{Column: c, Kind: dataset.Categorical, Levels: levels}, ""
}

func firstText(levels []string) string {
	for _, l := range levels {
		if _, ok := dataset.ParseNumber(l); !ok {
			return l
		}
	}
	return ""
}

// decimalComma matches a number written 1.234,5: a comma before the decimals, and points between
// groups of three digits or none.
var decimalComma = regexp.MustCompile(`^[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+$`)

func draftNumeric(name string, values []float64, missing bool) (dataset.Feature, string) {
	slices.Sort(values)
	n := len(values)
	low, high := values[0], values[n-1]
	const same = "it has the same value everywhere"
	if low == high {
		return dataset.Feature{}, same
	}
	f := dataset.Feature{Column: name, Kind: dataset.Numeric, FlagMissing: missing}
	step := math.Pow(10, math.Floor(math.Log10(high-low))) / 2
	f.Min, f.Max = roundTo(math.Floor(low/step)*step), roundTo(math.Ceil(high/step)*step)
	if low >= 0 && f.Min < 0 {
		f.Min = 0
	}
	f.Log = low >= 0 && high > draftTail*max(values[3*n/4], 1)
	if f.Min >= f.Max {
		return dataset.Feature{}, same
	}
	return f, ""
}

// roundTo removes rounding errors that adding steps leaves in the last digits.
func roundTo(v float64) float64 {
	short, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	return short
}

// sortedTexts returns the texts without missing values: numbers in numeric order, then other texts.
func sortedTexts(texts map[string]int, missingText string) []string {
	all := slices.Sorted(maps.Keys(texts))
	all = slices.DeleteFunc(all, func(t string) bool { return t == "" || t == missingText })
	slices.SortStableFunc(all, func(a, b string) int {
		x, okA := dataset.ParseNumber(a)
		y, okB := dataset.ParseNumber(b)
		switch {
		case okA && okB && x != y:
			return int(math.Copysign(1, x-y))
		case okA != okB && okA:
			return -1
		case okA != okB:
			return 1
		}
		return strings.Compare(a, b)
	})
	return all
}
