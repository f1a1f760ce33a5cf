package mapping

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"caucus/dataset"
	"caucus/internal/yamlfile"
)

// Suggestion is a mapping drafted from a file, for a person to check.
type Suggestion struct {
	Mapping Mapping
	// Placed gives the file's column for each schema column, Unplaced the other schema columns, Idle the
	// file's unused columns.
	Placed   map[string]string
	Unplaced []string
	Idle     []string
	// Notes are for a person to check. They show texts of the file.
	Notes []string
}

// Suggest drafts a mapping from column names, contents (numbers, dates, levels) and common synonyms.
// written is the mapping with which the table was read. The result depends on the records, so only show
// it to those who may see the file.
func Suggest(t *dataset.Table, s dataset.Schema, written Mapping) Suggestion {
	d := drafter{
		table: t, schema: s, free: t.Columns(), kinds: map[string]dataset.Feature{},
		out: Suggestion{Mapping: written, Placed: map[string]string{}},
	}
	d.out.Mapping.Columns = map[string]Rule{}
	for _, f := range s.Features {
		names, _ := dataset.ExpandNames(slices.Concat(f.Columns, nonEmpty(f.Column)))
		for _, name := range names {
			d.kinds[name] = f
		}
	}
	d.kinds[s.Label.Column] = dataset.Feature{Kind: dataset.Categorical, Levels: s.Label.Classes}
	for _, match := range []func(string) string{d.sameName, d.synonym, d.patientNumber, d.nearName, d.sameLevels} {
		for _, name := range s.AllColumns() {
			if _, placed := d.out.Placed[name]; !placed {
				if column := match(name); column != "" {
					d.place(name, column)
				}
			}
		}
	}
	for _, name := range s.AllColumns() {
		if f, known := d.kinds[name]; known && d.out.Placed[name] != "" {
			d.missing(name, d.out.Placed[name], f)
		}
	}
	for _, name := range s.AllColumns() {
		if _, placed := d.out.Placed[name]; placed {
			d.rule(name)
		} else if name != s.Patient || !d.noPatient() {
			d.out.Unplaced = append(d.out.Unplaced, name)
		}
	}
	d.decimalElsewhere()
	d.out.Idle = d.free
	return d.out
}

type drafter struct {
	table  *dataset.Table
	schema dataset.Schema
	kinds  map[string]dataset.Feature
	free   []string // columns of the file that are not placed
	out    Suggestion
}

func (d *drafter) note(format string, args ...any) {
	if n := fmt.Sprintf(format, args...); !slices.Contains(d.out.Notes, n) {
		d.out.Notes = append(d.out.Notes, n)
	}
}

func (d *drafter) place(name, column string) {
	d.out.Placed[name] = column
	d.free = slices.DeleteFunc(d.free, func(c string) bool { return c == column })
}

func (d *drafter) sameName(name string) string {
	for _, same := range []func(a, b string) bool{
		func(a, b string) bool { return a == b }, strings.EqualFold, func(a, b string) bool { return yamlfile.Bare(a) == yamlfile.Bare(b) },
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
		if meansTheSame(c, name) && d.fits(c, d.kinds[name]) {
			if found != "" {
				return ""
			}
			found = c
		}
	}
	return found
}

// patientNumber returns the only column named like a patient's number, whatever the schema calls it.
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
		if dataset.NamesPatient(c) || meansTheSame(c, "patient") {
			d.note("%s: is one of the columns left over a patient's number (%s)? name it under columns; if none is, write patient: none", name, left)
			return false
		}
	}
	d.out.Mapping.Patient = NoPatient
	note := "nothing in the file was found for it, so the draft says patient: none: each record counts for one patient; where a patient has several records, what is proven covers each record, not the patient"
	if left != "" {
		note += ". If a column left over is a patient's number, name it under columns instead: " + left
	}
	d.note("%s: %s", name, note)
	return true
}

func (d *drafter) nearName(name string) string {
	near := yamlfile.Nearest(name, d.free, len(yamlfile.Bare(name))/4)
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
		texts := d.present(c)
		if len(texts) < 2 || len(texts) > 2*len(f.Levels)+2 {
			continue
		}
		known := 0
		for text := range texts {
			if levelFor(text, f.Levels) != "" {
				known++
			}
		}
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
	if f.Kind != dataset.Numeric {
		return true
	}
	if _, ok := d.table.GuessLayout(column); ok {
		return true
	}
	numbers, all := 0, 0
	for text, n := range d.present(column) {
		all += n
		if _, ok := parseNumber(text, ","); ok {
			numbers += n
		}
	}
	return all == 0 || 2*numbers >= all
}

func (d *drafter) present(column string) map[string]int {
	texts := d.table.Distinct(column)
	words := newWords(append(dataset.MissingTexts(), d.out.Mapping.Missing...), d.out.Mapping.Decimal)
	maps.DeleteFunc(texts, func(text string, _ int) bool { return text == "" || words.has(text) })
	return texts
}

func (d *drafter) rule(name string) {
	column := d.out.Placed[name]
	r := Rule{}
	if column != name {
		r.From = column
	}
	f, known := d.kinds[name]
	switch {
	case !known:
	case f.Kind == dataset.Categorical:
		r.Levels = d.levels(name, column, f.Levels)
	default:
		d.number(name, column, f, &r)
	}
	if r.From != "" || len(r.Levels) > 0 || r.Dates != "" || r.YearsUntil != "" || r.DaysSince != "" {
		d.out.Mapping.Columns[name] = r
	}
}

func (d *drafter) missing(name, column string, f dataset.Feature) {
	for _, text := range slices.Sorted(maps.Keys(d.table.Distinct(column))) {
		v, isNumber := parseNumber(text, d.out.Mapping.Decimal)
		usual := slices.Contains(dataset.MissingTexts(), text)
		code := isNumber && slices.Contains([]float64{-1, -9, -99, -999, -9999, 999, 9999}, v) && f.Kind == dataset.Numeric && (v < f.Min || v > f.Max)
		isLevel := slices.Contains(f.Levels, text) || text == d.schema.Missing
		if (usual || code) && !isLevel && !slices.Contains(d.out.Mapping.Missing, text) {
			d.out.Mapping.Missing = append(d.out.Mapping.Missing, text)
			d.note("%q in %s is taken for a missing value, there and elsewhere", text, name)
		}
	}
}

// levels recodes texts that mean a level and notes the others.
func (d *drafter) levels(name, column string, levels []string) map[string]string {
	recode := map[string]string{}
	present := d.present(column)
	for _, text := range slices.Sorted(maps.Keys(present)) {
		switch level := levelFor(text, levels); {
		case level == text:
		case level != "":
			recode[text] = level
		case len(recode) < 100:
			d.note("%s: %q (%d cells) is no level of it (%s): add it under levels, or it counts as other", name, clip(text), present[text], few(levels))
		}
	}
	return recode
}

// number checks decimal signs, dates and units in a column of numbers.
func (d *drafter) number(name, column string, f dataset.Feature, r *Rule) {
	if layout, ok := d.table.GuessLayout(column); ok {
		r.Dates = layout
		if layout == dataset.ISODate {
			r.Dates = ""
		}
		switch {
		case meansTheSame(name, "age") && d.schema.Date != "":
			r.YearsUntil = agreedDay
		case meansTheSame(name, "age"):
			r.YearsUntil = "YYYY-MM-DD"
			d.note("%s: %q holds dates: write under years_until the day, or the column, at which they are ages", name, column)
		default:
			r.DaysSince = "YYYY-MM-DD"
			d.note("%s: %q holds dates: write under days_since the day, or the column, from which they are counted", name, column)
		}
		return
	}
	commas := 0
	var values []float64
	for text, n := range d.present(column) {
		if dataset.HasDecimalComma(text) {
			commas += n
		}
		if v, ok := parseNumber(text, cmp.Or(d.out.Mapping.Decimal, ",")); ok {
			values = append(values, slices.Repeat([]float64{v}, min(n, 1000))...)
		}
	}
	if commas > 0 && d.out.Mapping.Decimal == "" {
		d.out.Mapping.Decimal = ","
		d.note("%s has a decimal comma, as in 1,5: taken for all columns", name)
	}
	if len(values) == 0 {
		d.note("%s: no cell of %q is a number", name, column)
		return
	}
	slices.Sort(values)
	if middle := values[len(values)/2]; middle > f.Max || middle < f.Min {
		d.note("%s: the middle value of %q is %s, outside of %s to %s: is it in another unit? write multiply (and offset)", name, column,
			strconv.FormatFloat(middle, 'g', 4, 64), strconv.FormatFloat(f.Min, 'g', -1, 64), strconv.FormatFloat(f.Max, 'g', -1, 64))
	}
}

// decimalElsewhere looks for a decimal comma in the columns left over, because a person may still place them.
func (d *drafter) decimalElsewhere() {
	for _, c := range d.free {
		if d.out.Mapping.Decimal != "" || !d.fits(c, dataset.Feature{Kind: dataset.Numeric}) {
			continue
		}
		for text := range d.present(c) {
			if _, fraction, _ := strings.Cut(text, ","); dataset.HasDecimalComma(text) && len(fraction) != 3 { // 1,234 may mean a thousand
				d.out.Mapping.Decimal = ","
			}
		}
		if d.out.Mapping.Decimal != "" {
			d.note("%q, which is left over, has a decimal comma, as in 1,5: taken for all columns", c)
		}
	}
}

func clip(text string) string {
	const most = 40
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
