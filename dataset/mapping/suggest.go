package mapping

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"caucus/dataset"
	"caucus/dataset/dates"
	"caucus/internal/yamlfile"
)

// Suggestion is a mapping drafted from a file, for a person to check.
type Suggestion struct {
	Mapping Mapping
	// Assigned gives the file's column for each schema column, Unassigned the other schema columns,
	// UnusedColumns the file's unused columns.
	Assigned      map[string]string
	Unassigned    []string
	UnusedColumns []string
	// Notes are for a person to check. They show texts of the file.
	Notes []string
}

// Suggest drafts a mapping from column names, contents (numbers, dates, levels) and common
// synonyms. written is the mapping with which the table was read, typed are the file's columns that
// [NumberWatcher.NumberColumns] returns. The result depends on the records, so only show it to
// those who may see the file.
func Suggest(t *dataset.Table, s dataset.Schema, written Mapping, typed ...string) Suggestion {
	d := drafter{
		typed: typed,
		table: t, schema: s, free: t.Columns(), kinds: map[string]dataset.Feature{},
		all: map[string]map[string]int{}, known: map[string]facts{},
		out: Suggestion{Mapping: written, Assigned: map[string]string{}},
	}
	d.out.Mapping.Columns = map[string]Rule{}
	for _, f := range s.Features {
		names, _ := dataset.ExpandNames(slices.Concat(f.Columns, nonEmpty(f.Column)))
		for _, name := range names {
			d.kinds[name] = f
		}
	}
	d.kinds[s.Label.Column] = dataset.Feature{Kind: dataset.Categorical, Levels: s.Label.Classes}
	for _, match := range []func(string) string{d.sameName, d.synonym, d.patientNumber, d.nearName,
		d.sameLevels} {
		for _, name := range s.AllColumns() {
			if _, placed := d.out.Assigned[name]; !placed {
				if column := match(name); column != "" {
					d.place(name, column)
				}
			}
		}
	}
	d.repeats()
	d.empty()
	d.missing()
	for _, name := range s.AllColumns() {
		if _, placed := d.out.Assigned[name]; placed {
			d.rule(name)
		} else if name != s.Patient || !d.noPatient() {
			d.out.Unassigned = append(d.out.Unassigned, name)
		}
	}
	d.oneDecimal()
	d.out.UnusedColumns = d.free
	return d.out
}

type drafter struct {
	table  *dataset.Table
	schema dataset.Schema
	typed  []string
	kinds  map[string]dataset.Feature
	free   []string                  // columns of the file that are not placed
	marks  map[string]Texts          // by column, texts for a missing value there
	all    map[string]map[string]int // by column, each of its texts with its cells
	known  map[string]facts          // by column, as long as the marks stay
	out    Suggestion
}

// facts is what Suggest learned about a column from its cells that are not missing.
type facts struct {
	present map[string]int
	unit    string         // the unit that follows most numbers, such as "kg"
	bare    map[string]int // present, with the unit cut off each text
	numbers int            // cells of bare that are numbers
	layouts []dates.Layout // as layoutsOf says
	left    map[string]int
}

// distinct counts a column's texts. Nobody changes the result.
func (d *drafter) distinct(column string) map[string]int {
	texts, known := d.all[column]
	if !known {
		texts = d.table.Distinct(column)
		d.all[column] = texts
	}
	return texts
}

// factsOf reads a column's texts once, since there may be as many as records.
func (d *drafter) factsOf(column string) facts {
	f, known := d.known[column]
	if !known {
		f.present = d.present(column)
		f.unit, f.bare = unitOf(f.present)
		if slices.Contains(d.typed, column) {
			f.bare = withoutPoint(f.bare)
		}
		_, f.numbers = decimalSigns(f.bare, anything, "")
		f.layouts, f.left = layoutsOf(f.present, f.numbers)
		d.known[column] = f
	}
	return f
}

func (d *drafter) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(d.out.Notes, n) {
		d.out.Notes = append(d.out.Notes, n)
	}
}

func (d *drafter) place(name, column string) {
	d.out.Assigned[name] = column
	d.free = slices.DeleteFunc(d.free, func(c string) bool { return c == column })
}

func (d *drafter) sameName(name string) string {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b }, strings.EqualFold, func(a, b string) bool { return yamlfile.Simplify(a) == yamlfile.Simplify(b) },
	} {
		if i := slices.IndexFunc(d.free, func(c string) bool { return same(c, name) }); i >= 0 {
			return d.free[i]
		}
	}
	return ""
}

func (d *drafter) synonym(name string) string {
	found := ""
	for _, c := range d.free {
		if !meansTheSame(c, name) {
			continue
		}
		if texts := d.factsOf(c).present; !d.fits(c, d.kinds[name]) {
			d.note("%s is not mapped to %q, which is named like it: most of its cells are neither "+
				"numbers nor dates of a usual form, such as %q: if they are dates, map the "+
				"column, and write their form under dates", name, c, clip(firstOf(texts)))
		} else {
			if found != "" {
				return ""
			}
			found = c
		}
	}
	return found
}

// patientNumber returns the only column named like a patient's number, whatever the schema calls
// it.
func (d *drafter) patientNumber(name string) string {
	if name != d.schema.Patient {
		return ""
	}
	var found []string
	for _, c := range d.free {
		if meansTheSame(c, "patient") {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return ""
	}
	d.note("%s is taken to be the file's %q, which is named like a patient's number", name, found[0])
	return found[0]
}

// noPatient drafts "patient: none", unless a column may be the patient's number.
func (d *drafter) noPatient() bool {
	name, left := d.schema.Patient, strings.Join(d.free, ", ")
	if name == d.schema.Party {
		return false
	}
	for _, c := range d.free {
		if dataset.LooksLikePatientID(c) || meansTheSame(c, "patient") {
			d.note("%s: is one of the columns left over a patient's number (%s)? name it under columns; if none is, write patient: none", name, left)
			return false
		}
	}
	d.out.Mapping.Patient = NoPatient
	note := "nothing in the file was found for it, so the draft says patient: none: each record counts for one patient; where a patient has several records, what is proven covers each record, not the patient; if you know that no person has two records, write patient: one-record"
	if left != "" {
		note += ". If a column left over is a patient's number, name it under columns instead: " + left
	}
	d.note("%s: %s", name, note)
	return true
}

func (d *drafter) nearName(name string) string {
	near := yamlfile.Nearest(name, d.free, len(yamlfile.Simplify(name))/4)
	if near != "" && d.fits(near, d.kinds[name]) {
		d.note("%s is taken to be the file's %q, whose name is nearly the same", name, near)
		return near
	}
	return ""
}

// sameLevels finds the only column whose texts are the schema's levels, or common words for them.
func (d *drafter) sameLevels(name string) string {
	f := d.kinds[name]
	if f.Kind != dataset.Categorical {
		return ""
	}
	found := ""
	for _, c := range d.free {
		texts := d.factsOf(c).present
		if len(texts) < 2 || len(texts) > 2*len(f.Levels)+2 {
			continue
		}
		guess, _ := guessLevels(texts, f.Levels)
		known := len(guess)
		if known < 2 || 2*known < len(texts) {
			continue
		}
		if found != "" {
			d.note("%s may be the file's %q or %q: write which", name, found, c)
			return ""
		}
		found = c
	}
	if found != "" {
		d.note("%s is taken to be the file's %q, because its texts are the levels", name, found)
	}
	return found
}

func (d *drafter) fits(column string, f dataset.Feature) bool {
	return f.Kind != dataset.Numeric || d.counted(column)
}

// repeats notes rows that repeat the line of names, as files have that were put behind each other.
func (d *drafter) repeats() {
	least, at := d.table.Rows(), d.table.Columns()
	for _, name := range at {
		least = min(least, d.distinct(name)[name])
	}
	if least > 0 {
		d.note("%d rows repeat the names of the columns: remove them from the file, or they count "+
			"as records; or list the names under header and write comment: %s", least, at[0])
	}
}

// empty notes records that are empty in all columns that the schema takes, but not in others.
func (d *drafter) empty() {
	count, first := 0, 0
	columns := slices.Sorted(maps.Values(d.out.Assigned))
	for i := range d.table.Rows() {
		has := func(column string) bool {
			text, _ := d.table.Cell(i, column)
			return text != ""
		}
		if slices.ContainsFunc(columns, has) || !slices.ContainsFunc(d.free, has) {
			continue
		}
		if count++; count == 1 {
			first = i + 1
		}
	}
	if count > 0 && len(columns) > 0 {
		d.note("%s: %d, the first is record %d", ProblemNoCell, count, first)
	}
}

// counted reports whether most of a column's cells are numbers or dates.
func (d *drafter) counted(column string) bool {
	f := d.factsOf(column)
	return 2*f.numbers >= cells(f.present) || f.layouts != nil
}

// withoutPoint writes numbers so that each decimal sign reads them alike: 4.201 as 4201e-3.
func withoutPoint(texts map[string]int) map[string]int {
	alike := map[string]int{}
	for text, n := range texts {
		whole, fraction, _ := strings.Cut(text, ".")
		if _, ok := parseNumber(text, ""); ok && fraction != "" {
			text = fmt.Sprintf("%s%se-%d", whole, fraction, len(fraction))
		}
		alike[text] += n
	}
	return alike
}

// present counts a column's texts, without those for missing values and repeats of its name.
func (d *drafter) present(column string) map[string]int {
	missing := slices.Concat(missingBeside(d.distinct(column)), d.out.Mapping.Missing,
		d.marks[column])
	words := newWords(missing, d.out.Mapping.Decimal)
	return without(d.distinct(column), func(text string) bool {
		return text == "" || text == column || words.has(text)
	})
}

func (d *drafter) rule(name string) {
	column := d.out.Assigned[name]
	r := Rule{Missing: d.marks[column]}
	if column != name {
		r.FromColumn = column
	}
	f, known := d.kinds[name]
	switch seen := d.factsOf(column); {
	case !known:
	case f.Kind == dataset.Categorical:
		r.Levels = d.levels(name, column, f.Levels)
	case seen.layouts != nil:
		d.date(name, column, seen.layouts, seen.left, f, &r)
	default:
		d.number(name, column, f, &r)
	}
	d.keepRule(name, r)
}

// keepRule keeps a rule that says anything.
func (d *drafter) keepRule(name string, r Rule) {
	if len(r.Levels) == 0 {
		r.Levels = nil
	}
	if d.out.Mapping.Columns[name] = r; reflect.DeepEqual(r, Rule{}) {
		delete(d.out.Mapping.Columns, name)
	}
}

// missingCode finds numbers that stand for a missing value wherever they are out of bounds.
var missingCode = regexp.MustCompile(`^(-1|-?9+(\.9+)?)$`)

// missing finds the texts that stand for missing values, by column. A text goes to the mapping's
// own list if each column that has the text takes it for missing: None may be a level elsewhere,
// and 999 a number.
func (d *drafter) missing() {
	marks, all := map[string]Texts{}, map[string]bool{}
	var columns []string
	// A code of a column of numbers is no level of another column.
	for _, kind := range []dataset.FeatureKind{dataset.Numeric, dataset.Categorical} {
		for _, name := range d.schema.AllColumns() {
			f, column := d.kinds[name], d.out.Assigned[name]
			if f.Kind != kind || column == "" {
				continue
			}
			columns = append(columns, column)
			texts, counted := d.distinct(column), kind == dataset.Numeric && d.counted(column)
			apart := apartFrom(texts, f)
			var found []string
			usual, shifted := missingBeside(texts), map[string]int{}
			for text, n := range texts {
				mark := slices.Contains(usual, text) || kind == dataset.Categorical && all[text] ||
					counted && isMark(f, text, n) && apart(text)
				switch {
				case !mark || text == d.schema.Missing || levelFor(text, f.Levels) != "":
				case !slices.Contains(usual, text) && d.elsewhere(column, text):
					shifted[text] = n
				default:
					found = append(found, text)
				}
			}
			if len(shifted) > 0 {
				d.note("%s: %d cells hold what other columns hold, or a column's name, such as "+
					"%q: look whether a delimiter in a text without quotes shifts rows, or heads "+
					"of pages stand among them; they become missing", name, cells(shifted),
					clip(firstOf(shifted)))
			}
			slices.Sort(found)
			for _, text := range found {
				marks[column], all[text] = append(marks[column], text), true
				d.note("%q in %s is taken for a missing value: %d cells", clip(text), name,
					texts[text])
			}
		}
	}
	d.marks = map[string]Texts{}
	if len(all) > 0 {
		clear(d.known)
	}
	for _, text := range slices.Sorted(maps.Keys(all)) {
		same := newWords([]string{text}, "")
		var its []string
		value := false // somewhere
		for _, column := range columns {
			if slices.Contains(marks[column], text) {
				its = append(its, column)
			}
			for other := range d.distinct(column) {
				value = value || same.has(other) && !slices.Contains(marks[column], other)
			}
		}
		if len(its) > 0 && value {
			d.alsoNumber(text, marks)
		}
		if !value {
			d.out.Mapping.Missing, its = append(d.out.Mapping.Missing, text), nil
		}
		for _, column := range its {
			d.marks[column] = append(d.marks[column], text)
		}
	}
}

// elsewhere reports whether a text that is no number belongs to another column: it is a column's
// name, a level of another column of the schema, or stands in a column that is left over.
func (d *drafter) elsewhere(column, text string) bool {
	if _, ok := readNumber(text, ","); ok {
		return false
	}
	for name, f := range d.kinds {
		if d.out.Assigned[name] != column && levelFor(text, f.Levels) != "" {
			return true
		}
	}
	return slices.Contains(d.table.Columns(), text) ||
		slices.ContainsFunc(d.free, func(c string) bool { return d.distinct(c)[text] > 0 })
}

// alsoNumber notes where else a number stands several times that is a mark of missing values in
// other columns.
func (d *drafter) alsoNumber(mark string, marks map[string]Texts) {
	same := newWords([]string{mark}, "")
	for _, name := range slices.Sorted(maps.Keys(d.out.Assigned)) {
		column, n := d.out.Assigned[name], 0
		if d.kinds[name].Kind != dataset.Numeric || slices.Contains(marks[column], mark) {
			continue
		}
		for text, cells := range d.distinct(column) {
			if same.has(text) {
				n += cells
			}
		}
		if n >= often {
			d.note("%s, a mark of missing values in another column, also stands in %s, in %d "+
				"cells within its bounds, which are read as numbers: if it is a mark there "+
				"too, write missing: [%q] under %s", mark, name, n, mark, name)
		}
	}
}

// isMark reports whether a text of n cells, in a column of numbers or dates, stands for a missing
// value: a text without digits that many cells have, or a number outside of the bounds that is a
// code.
func isMark(f dataset.Feature, text string, n int) bool {
	v, isNumber := readNumber(text, ",")
	if !isNumber {
		return n >= often && text != "" && !strings.ContainsAny(text, "0123456789")
	}
	negative := v < 0 && f.Min >= 0 && n >= often && v == math.Trunc(v)
	plain := strconv.FormatFloat(v, 'f', -1, 64) // -9 for -9.0
	return (v < f.Min || v > f.Max) && (negative || missingCode.MatchString(plain))
}

// apartFrom tells of the texts that isMark takes for codes whether they are no values among a
// column's others. Where a tenth of its other numbers are out of bounds, the unit may be another,
// and a code is none unless it is above twice the others, or alone below 0.
func apartFrom(texts map[string]int, f dataset.Feature) func(text string) bool {
	all, outside, low, high := 0, 0, math.Inf(1), math.Inf(-1)
	for text, n := range texts {
		v, ok := readNumber(text, ",")
		if !ok || isMark(f, text, n) {
			continue
		}
		low, high = min(low, v), max(high, v)
		if all += n; v < f.Min || v > f.Max {
			outside += n
		}
	}
	return func(text string) bool {
		v, isNumber := readNumber(text, ",")
		return !isNumber || 10*outside <= all || v > 2*high || v < 0 && low >= 0
	}
}

// levels recodes texts that mean a level, and notes these and the others.
func (d *drafter) levels(name, column string, levels []string) map[string]string {
	recode := map[string]string{}
	present := d.factsOf(column).present
	guess, unsure := guessLevels(present, levels)
	if len(unsure) > 0 {
		d.note("%s: %s", name, whichLevel(present, unsure, levels))
	}
	var taken []string
	for _, text := range slices.Sorted(maps.Keys(present)) {
		switch level := guess[text]; {
		case slices.Contains(unsure, text):
			recode[text] = undecidedLevel
		case level == text:
		case level != "":
			recode[text] = level
			taken = append(taken, fmt.Sprintf("%q (%d cells) for %s", clip(text),
				present[text], level))
		case len(recode) < 100:
			often := ""
			if likely := levelFor(text, levels); likely != "" {
				often = fmt.Sprintf(" (%s often means %s, but the column's other texts leave it "+
					"open)", clip(text), likely)
			}
			d.note("%s: %q (%d cells) is no level of it (%s)%s: add it under levels, or it "+
				"counts as other", name, clip(text), present[text], few(levels), often)
		}
	}
	if len(taken) > 0 {
		d.note("%s: the draft takes %s", name, few(taken))
	}
	return recode
}

// whichLevel asks for the levels of codes of which some are no levels.
func whichLevel(texts map[string]int, unsure, levels []string) string {
	var codes []string
	for _, text := range unsure {
		codes = append(codes, fmt.Sprintf("%q (%d cells)", text, texts[text]))
	}
	return fmt.Sprintf("not all of %s are levels (%s), so those that are may mean others, as M "+
		"beside H: write each of them under levels", few(codes), few(levels))
}

// date writes the format of a column of dates and what becomes of them.
func (d *drafter) date(
	name, column string, layouts []dates.Layout, left map[string]int, f dataset.Feature, r *Rule,
) {
	layout := layouts[0]
	if layout != dates.ISO {
		r.Dates = layout
	}
	if n := cells(left); n > 0 {
		d.note("%s: most cells of %q are dates as %s, and %d are not, such as %q: these become "+
			"missing, unless you correct them or write an expression for all", name, column, layout,
			n, clip(firstOf(left)))
	}
	if others := dataset.GuessLayouts(left, 0.5); others != nil && cells(left) >= often {
		layouts = append(layouts, others...)
	}
	d.besideISO(name, column, layout, r)
	text, zoned := d.example(column, func(text string) bool {
		_, zoned, _ := layout.ParseIn(text, nil)
		return zoned
	})
	if zoned && d.out.Mapping.Zone == "" {
		d.note("%s: %q is of another day in another time zone: name the site's under zone, as in "+
			"Europe/Berlin", name, text)
	}
	for _, other := range layouts[1:] {
		text, differ := d.example(column, func(text string) bool {
			a, first := layout.Parse(text)
			b, second := other.Parse(text)
			return second && (!first || a != b)
		})
		if differ {
			says := "no date"
			if a, ok := layout.Parse(text); ok {
				says = a.String()
			}
			b, _ := other.Parse(text)
			r.Dates = dates.Layout(dataset.LayoutNames(layouts))
			d.note("%s: %q is %s as %s and %v as %s: write under dates which one it "+
				"is", name, text, says, layout, b, other)
		}
	}
	switch {
	case !meansTheSame(name, "age"):
		r.DaysSince = "YYYY-MM-DD"
		d.note("%s: %q holds dates: write under days_since the day, or the column, from which "+
			"they are counted", name, column)
	case d.schema.Date == "":
		r.YearsUntil = "YYYY-MM-DD"
		d.note("%s: %q holds dates: write under years_until the day, or the column, at which "+
			"they are ages", name, column)
	default:
		r.YearsUntil = agreedDay
	}
	until, fixed := dates.ISO.Parse(d.schema.Date)
	if r.YearsUntil == "" || !fixed {
		return
	}
	t := target{layout: layout, years: &day{until, -1}}
	age := func(text string) int {
		years, _ := t.span(text, nil)
		v, _ := strconv.Atoi(years)
		return v
	}
	old := without(d.factsOf(column).present, func(text string) bool {
		return float64(age(text)) <= f.Max
	})
	if len(old) > 0 {
		d.note("%s: %d cells of %q are dates more than %g years before %v, such as %q, and are "+
			"clamped: if they stand for a missing value, name them under missing", name, cells(old),
			column, f.Max, until, firstOf(old))
	}
	if !layout.HasTwoDigitYear() {
		return
	}
	older := func(text string) bool {
		_, ok := layout.Parse(text)
		return ok && float64(age(text)+100) <= f.Max
	}
	if text, ok := d.example(column, older); ok {
		r.FirstYear = undecidedYear
		year, _, _ := until.YearMonthDay()
		d.note("%s: years have two digits: %q is %d years or %d: write under first_year the "+
			"first of the hundred years, such as %d",
			name, text, age(text), age(text)+100, year-99)
	}
}

// besideISO notes dates of ISO 8601 beside those of a layout.
func (d *drafter) besideISO(name, column string, layout dates.Layout, r *Rule) {
	t, dated := target{layout: layout}, [2]days{}
	for text, n := range d.factsOf(column).present {
		if day, written, ok := t.date(text); ok {
			for range n {
				dated[written].add(day, nil)
			}
		}
	}
	iso, other := dated[byISO], dated[byLayout]
	if iso.all == 0 {
		return
	}
	then := "both are read"
	if exchanged(iso, other) {
		then = "none of the former has a day above 12, and all others have one, so a spreadsheet " +
			"has probably taken the day for the month: correct the file, and write under dates " +
			"how it then writes them"
		r.Dates = dates.Layout(dataset.LayoutNames([]dates.Layout{dates.ISO, layout}))
	}
	d.note("%s: %d cells of %q are dates as YYYY-MM-DD, as a workbook's own are, and %d are texts "+
		"as %s: %s", name, iso.all, column, other.all, layout, then)
}

// example returns the first text of a column, in alphabetical order, for which a condition holds.
func (d *drafter) example(column string, is func(text string) bool) (string, bool) {
	texts := slices.Sorted(maps.Keys(d.factsOf(column).present))
	if i := slices.IndexFunc(texts, is); i >= 0 {
		return texts[i], true
	}
	return "", false
}

// number checks decimal signs and units in a column of numbers.
func (d *drafter) number(name, column string, f dataset.Feature, r *Rule) {
	told := d.out.Mapping.Decimal
	seen := d.factsOf(column)
	unit, texts := seen.unit, seen.bare
	switch r.Unit = unit; unit {
	case "":
	case spanUnit:
		text, _ := d.example(column, func(text string) bool {
			_, ok := spanDays(text)
			return ok
		})
		days, _ := spanDays(text)
		d.note("%s: the cells of %q are spans of time such as %q, read as %.4g days: multiply: 24 "+
			"makes hours of them", name, column, text, days)
		told = ""
	default:
		d.note("%s: most cells of %q have %q behind the number, which unit leaves out: check that "+
			"the schema means this unit", name, column, unit)
	}
	signs, numbers := decimalSigns(texts, f, told)
	all, _ := decimalSigns(texts, anything, told)
	if numbers == 0 {
		says := ""
		if units := unitsIn(texts); len(units) > 1 {
			says = fmt.Sprintf(", and %s stand behind numbers: write an expression that makes "+
				"one unit of them", few(units))
		}
		d.note("%s: no cell of %q is a number, such as %q%s", name, column, clip(firstOf(texts)),
			says)
		return
	}
	if len(signs) == 1 && signs[0] != told && unit != spanUnit {
		r.Decimal = cmp.Or(signs[0], ".")
	}
	if len(all) > 1 {
		what := "the other is out of bounds"
		if len(signs) > 1 && told == "" {
			r.Decimal, what = undecidedSign, "write under decimal which one it is"
		}
		d.note("%s: %s: %s", name, bothWays(texts, all[0], all[1]), what)
	}
	var values []float64
	for text, n := range texts {
		if v, ok := parseNumber(text, signs[0]); ok {
			values = append(values, slices.Repeat([]float64{v}, min(n, 1000))...)
		}
	}
	odd := without(texts, func(text string) bool {
		_, ok := readNumber(text, signs[0])
		return ok
	})
	if says := noNumbers(name, column, odd); says != "" {
		d.note("%s", says)
	}
	if says := LikelyMissingMarks(texts, signs[0]); says != "" {
		d.note("%s: %s", name, says)
	}
	slices.Sort(values)
	middle := values[len(values)/2]
	switch outside := middle > f.Max || middle < f.Min; {
	case outside && birthName.MatchString(column):
		d.note("%s: the middle value of %q is %s: if the numbers are dates, such as 500304 or days "+
			"since 1900, write them anew as dates, such as 1950-03-04, or as ages", name, column,
			numberText(middle))
	case outside:
		d.note("%s: the middle value of %q is %s, outside of %s to %s: is it in another unit? write multiply (and offset)", name, column,
			strconv.FormatFloat(middle, 'g', 4, 64), strconv.FormatFloat(f.Min, 'g', -1,
				64), strconv.FormatFloat(f.Max, 'g', -1, 64))
	}
}

// birthName is the name of a column of dates of birth, which may hold numbers that are no ages.
var birthName = regexp.MustCompile(`(?i)birth|born|dob|geb|naiss|nacim|nascit`)

// noNumbers counts the cells of a column that are no numbers. An expression reads the file's
// column.
func noNumbers(name, column string, odd map[string]int) string {
	limits := without(odd, func(text string) bool { return strings.IndexAny(text, "<>≤≥") != 0 })
	switch {
	case len(limits) > 0:
		text := firstOf(limits)
		expression := fmt.Sprintf("text(%q) startsWith %q ? 0.5 : column(%q)", column,
			string([]rune(text)[0]), column)
		return fmt.Sprintf("%s: %d cells begin with a sign such as <, as %q, and become missing, "+
			"unless an expression gives them a number, in place of from: expression: '%s'",
			name, cells(limits), clip(text), strings.ReplaceAll(expression, "'", "''"))
	case len(odd) > 0:
		return fmt.Sprintf("%s: %d cells are no numbers, such as %q, and become missing", name,
			cells(odd), clip(firstOf(odd)))
	}
	return ""
}

// oneDecimal writes a decimal sign for all columns instead of each if the columns that need one
// need the same, and no other column has other numbers by it. Columns left over count, because a
// person may place them.
func (d *drafter) oneDecimal() {
	bounds := map[string]dataset.Feature{}
	for name, column := range d.out.Assigned {
		bounds[column] = d.kinds[name]
	}
	sign := ""
	var plain []map[string]int
	for _, c := range d.table.Columns() {
		f, placed := bounds[c]
		if !placed || f.Kind != dataset.Numeric {
			f = anything
		}
		seen := d.factsOf(c)
		texts := seen.bare
		switch signs, numbers := decimalSigns(texts, f, ""); {
		case numbers == 0 || len(signs) > 1 || seen.unit == spanUnit:
		case signs[0] == "":
			plain = append(plain, texts)
		case sign != "" && sign != signs[0]:
			return
		default:
			sign = signs[0]
		}
	}
	other := func(texts map[string]int) bool { return differing(texts, "", sign) != "" }
	if d.out.Mapping.Decimal != "" || sign == "" || slices.ContainsFunc(plain, other) {
		return
	}
	d.out.Mapping.Decimal = sign
	d.note("numbers have a decimal %s, in all columns", signNames[sign])
	for name, r := range d.out.Mapping.Columns {
		if r.Decimal == sign {
			r.Decimal = ""
		}
		d.keepRule(name, r)
	}
}

// undecidedSign and undecidedYear stand in a draft where two readings fit. A mapping with them is
// refused, so that a person decides.
const (
	undecidedSign = ", or ."
	undecidedYear = -1
)

func clip(text string) string {
	const most = 40
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
