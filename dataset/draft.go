package dataset

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"caucus/dataset/dates"
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

var missingTexts = []string{"?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "-"}

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
func DraftSchema(t *Table, label string) (Schema, []OmittedColumn, error) {
	fail := func(err error) (Schema, []OmittedColumn, error) {
		return Schema{}, nil, fmt.Errorf("draft schema: %w", err)
	}
	at := t.column(label)
	if at == nil {
		return fail(fmt.Errorf("no column %q for the label; the file has %s", label,
			showColumns(t.Columns())))
	}
	if t.rows == 0 {
		return fail(errors.New("the table has no rows to judge by"))
	}
	s := Schema{Missing: draftMissing(t)}
	s.Label = Label{Column: label, Classes: sortedTexts(at.distinct(), s.Missing)}
	if n := len(s.Label.Classes); n < 2 || n > draftLevels {
		return fail(fmt.Errorf("the label %q has %d distinct values; a class needs 2 to %d", label, n, draftLevels))
	}
	var left []OmittedColumn
	for i := range t.columns {
		c := &t.columns[i]
		if c.name == label {
			continue
		}
		if whom := c.identifies(t.rows, s.Missing); whom == aPatient && s.Patient == "" {
			s.Patient = c.name
			left = append(left, OmittedColumn{c.name, "it looks like a patient's number: proposed as patient, so that a patient's records stay together, and no feature"})
		} else if whom == ownInEachRow {
			left = append(left, OmittedColumn{c.name, "nearly each row has a whole number of its " +
				"own there, as of a key or a telephone: if it is a quantity, write it under " +
				"features; if it numbers patients, write patient: " + c.name})
		} else if whom != nobody {
			left = append(left, OmittedColumn{c.name, "it looks like an identifier, of which nothing can be learned; if it numbers patients, write patient: " + c.name})
		} else if f, why := draftFeature(c, t.rows, s.Missing); why == "" {
			s.Features = append(s.Features, f)
		} else {
			left = append(left, OmittedColumn{c.name, why})
		}
	}
	if len(s.Features) == 0 {
		var whys []string
		for _, l := range left {
			whys = append(whys, l.Column+": "+l.Reason)
		}
		return fail(fmt.Errorf("no column can be a feature: %s", listNames(whys)))
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

var (
	identifierName = regexp.MustCompile(`[a-z](ID|Id|Nr|No|Key|Nummer)$|(?i:(^|[^a-z])(id|ids|nbr|nr|no|num|key|uuid|guid|mrn|ssn|fall|index|row)$|(nummer|number)$)`)
	patientName    = regexp.MustCompile(`(?i)(patient|subject|person|participant|mrn|proband|versicherte)`)
)

// LooksLikePatientID reports whether a column's name says that it identifies persons, in English or
// German. It is a guess for drafts, which a person checks.
func LooksLikePatientID(column string) bool { return patientName.MatchString(column) }

// identifies reports whether a column is named like patient or record numbers and has too many
// distinct values to be anything else: over draftLevels and more than a tenth of the records, or
// nearly one for each record. A column without a name, or one that counts the rows, holds record
// numbers too.
func (c *column) identifies(rows int, missingText string) identity {
	texts := c.distinct()
	delete(texts, "")
	delete(texts, missingText)
	patient, named := patientName.MatchString(c.name), identifierName.MatchString(c.name)
	many := len(texts) > draftLevels && 10*len(texts) > rows
	whole, numbers, present := true, 0, 0
	for text, n := range texts {
		v, ok := ParseNumber(text)
		whole = whole && (!ok || v == math.Trunc(v))
		if present += n; ok {
			numbers += n
		}
	}
	own := len(texts) > 2 && float64(len(texts)) >= nearUnique*float64(present)
	switch {
	case (many || own) && whole && patient:
		return aPatient
	case (many || own) && whole && named, c.name == "" || strings.HasPrefix(c.name, "column") &&
		c.counts(rows):
		return aRecord
	case many && own && whole && numbers == present:
		return ownInEachRow
	}
	return nobody
}

func (c *column) counts(rows int) bool {
	if rows < 3 {
		return false
	}
	first, ok := ParseNumber(c.values[c.codes.at(0)])
	for i := range rows {
		v, fine := ParseNumber(c.values[c.codes.at(i)])
		ok = ok && fine && v == first+float64(i)
	}
	return ok
}

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

// draftMissing returns the usual text for a missing value that occurs in most columns, or "".
func draftMissing(t *Table) string {
	best, most := "", 0
	for _, text := range missingTexts {
		n := 0
		for i := range t.columns {
			if slices.Contains(t.columns[i].values, text) {
				n++
			}
		}
		if n > most {
			best, most = text, n
		}
	}
	return best
}

func draftFeature(c *column, rows int, missingText string) (f Feature, why string) {
	texts := c.distinct()
	var numbers []float64
	absent, commas := 0, 0
	for text, n := range texts {
		if text == "" || text == missingText {
			absent += n
		} else if v, ok := ParseNumber(text); ok {
			numbers = append(numbers, slices.Repeat([]float64{v}, n)...)
		} else if decimalComma.MatchString(text) {
			commas += n
		}
	}
	present := rows - absent
	if present == 0 {
		return Feature{}, "it is empty"
	}
	enough := draftNumbers * float64(present)
	delete(texts, missingText)
	if layouts := GuessLayouts(texts, draftNumbers); layouts != nil {
		return Feature{}, fmt.Sprintf("its values are dates like %s: make a number of them in "+
			"a mapping, with years_until or days_since", LayoutNames(layouts))
	}
	if float64(len(numbers)) >= enough {
		return draftNumeric(c.name, numbers, absent > 0)
	}
	if commas > 0 && float64(len(numbers)+commas) >= enough {
		return Feature{}, "its numbers have a comma: read them with --decimal , where 1,5 is " +
			"meant, or --decimal . where 1,234 is a thousand"
	}
	levels := sortedTexts(texts, missingText)
	many := len(levels) > draftLevels || len(levels) > 2 && 2*len(levels) > present
	switch {
	case len(levels) < 2:
		return Feature{}, "it has the same value everywhere"
	case many && 2*len(numbers) > present:
		return Feature{}, fmt.Sprintf("%d of its %d values are numbers, and others are not, such as %q: name those that mean a missing value under missing in a mapping", len(numbers), present, firstText(levels))
	case many:
		return Feature{}, fmt.Sprintf("it has %d different texts in %d rows, as names, keys or "+
			"free text have: as levels they would be published", len(levels), present)
	}
	return Feature{Column: c.name, Kind: Categorical, Levels: levels}, ""
}

func firstText(levels []string) string {
	for _, l := range levels {
		if _, ok := ParseNumber(l); !ok {
			return l
		}
	}
	return ""
}

// decimalComma matches a number written 1.234,5: a comma before the decimals, and points between
// groups of three digits or none.
var decimalComma = regexp.MustCompile(`^[+-]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+),[0-9]+$`)

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

func draftNumeric(name string, values []float64, missing bool) (Feature, string) {
	slices.Sort(values)
	n := len(values)
	low, high := values[0], values[n-1]
	const same = "it has the same value everywhere"
	if low == high {
		return Feature{}, same
	}
	f := Feature{Column: name, Kind: Numeric, FlagMissing: missing}
	step := math.Pow(10, math.Floor(math.Log10(high-low))) / 2
	f.Min, f.Max = roundTo(math.Floor(low/step)*step), roundTo(math.Ceil(high/step)*step)
	if low >= 0 && f.Min < 0 {
		f.Min = 0
	}
	f.Log = low >= 0 && high > draftTail*max(values[3*n/4], 1)
	if f.Min >= f.Max {
		return Feature{}, same
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
		x, okA := ParseNumber(a)
		y, okB := ParseNumber(b)
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
