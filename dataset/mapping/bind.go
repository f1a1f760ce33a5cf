package mapping

import (
	"cmp"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"

	"github.com/expr-lang/expr"

	"caucus/dataset"
	"caucus/dataset/dates"
	"caucus/internal/yamlfile"
)

// BoundMapping is a mapping bound to one file's columns and a schema: for each schema column it
// knows where its cells come from. It counts odd cells while rows pass, so use one for each
// reading.
type BoundMapping struct {
	targets []target
	// Notes tell a person what Bind inferred.
	Notes []string
	// Missing lists the schema's columns for which the file has no column.
	Missing []string
	// Derived lists the schema's columns made from columns under Mapping.Derived.
	Derived []string

	patient string   // the schema's patient column
	columns []string // the file's columns
	free    bool     // there is no schema, so every column may have numbers
	// a column has a name that the mapping or the schema asks for, so the first line is a header
	known bool
	used  []input // columns that expressions read
	typed typed   // the rows that are mapped; nil if all their cells are texts
}

type target struct {
	name             string
	at               int // column of the file; -1 if there is none
	expression       *expression
	missing          words
	levels           map[string]string
	numeric          bool
	decimal, unit    string
	years, days      *day
	layout           dates.Layout
	firstYear        int        // of two digits of a year; 0 for the usual ones
	zone             dates.Zone // of the site; nil if it is not known
	multiply, offset float64
	round            int  // -1 for no rounding
	plain            bool // numbers are not rewritten
	grouped          bool // a number was read that has signs between groups for certain

	forms *forms // of patients; nil for other columns, and if each form is one

	elsewhere words      // numbers that stand for a missing value in other columns
	place     func() int // the record's line or row; nil if nobody asks
	odd       [len(problems)]tally
	dated     [2]days // read byLayout and byISO
}

// forms has, of each patient's number, the first form in which it was read, both as digests. It is
// for the count of otherForm alone.
type forms struct {
	seed  maphash.Seed
	first map[uint64]uint64
}

// tally counts cells, and has the line or row of the first.
type tally struct{ all, first int }

func (t *tally) count(place func() int) {
	if t.all++; t.all == 1 && place != nil {
		t.first = place()
	}
}

// days counts dates, and those whose day of the month is no month.
type days struct {
	tally
	late int
}

func (n *days) add(d dates.Date, place func() int) {
	n.count(place)
	if _, _, day := d.YearMonthDay(); day > 12 {
		n.late++
	}
}

const (
	byLayout = iota
	byISO
)

// exchanged reports whether dates by ISO 8601 seem to have day and month exchanged: none of ten or
// more has a day above 12, while each of three or more other dates has one. A spreadsheet that
// expects MM/DD makes such dates of the cells that it can read. By chance, with each day of a month
// alike, ten dates have none in 1 of 10,000 columns.
func exchanged(iso, other days) bool {
	return iso.all >= 10 && iso.late == 0 && other.all >= 3 && other.late == other.all
}

// day is a date, or a column of dates.
type day struct {
	date dates.Date
	at   int // column of the file; -1 for a date
}

// Bind binds a mapping to the names of a file's columns. It depends on names alone, never on
// records. A rule for an absent column is an error. A schema column without rule or file column is
// listed in Missing, because a label may be absent outside training. Names match exactly, or else
// without case and surrounding spaces if only one column matches; Notes reports such a match.
func (m Mapping) Bind(columns []string, s dataset.Schema) (*BoundMapping, error) {
	b := &BoundMapping{columns: columns, patient: s.Patient}
	b.known = m.knows(columns, s)
	numeric := map[string]bool{}
	for _, f := range s.Features {
		if f.Kind == dataset.Numeric {
			names, _ := dataset.ExpandNames(slices.Concat(f.Columns, nonEmpty(f.Column)))
			for _, name := range names {
				numeric[name] = true
			}
		}
	}
	wanted := s.AllColumns()
	if b.free = len(wanted) == 0; b.free {
		wanted = slices.Sorted(maps.Keys(m.Columns))
	}
	for _, name := range wanted {
		rule, told := m.Columns[name]
		if name == s.Patient && m.LacksPatientNumbers() {
			if told {
				return nil, fmt.Errorf("mapping: columns: %s: patient: %s says that the file has no patient number: remove one of the two", name, m.Patient)
			}
			if name == s.Party {
				return nil, fmt.Errorf("mapping: patient: %s: %s is the schema's party column too: name its column in the file under columns", m.Patient, name)
			}
			if _, _, ok := findColumn(name, columns); ok {
				b.Notes = append(b.Notes, fmt.Sprintf("the file has a column %s, and patient: %s leaves it out: each record counts for one patient", name, m.Patient))
			}
			b.targets = append(b.targets, target{name: name, at: -1})
			continue
		}
		if name == s.PatientDate && m.Patient == NoPatient && !told {
			b.targets = append(b.targets, target{name: name, at: -1})
			continue
		}
		if name == s.PatientDate && rule.DaysSince+rule.YearsUntil+rule.Expression == "" {
			rule.DaysSince = "1970-01-01"
		}
		t, found, err := b.target(name, rule, m, s.Date)
		if err != nil {
			return nil, fmt.Errorf("mapping: columns: %s: %w", name, err)
		}
		if !found {
			if told {
				return nil, fmt.Errorf("mapping: columns: %s: %w%s", name,
					b.noColumn(cmp.Or(rule.FromColumn, name)), b.hint(name))
			}
			b.Missing = append(b.Missing, name)
			continue
		}
		t.plain = t.expression == nil && t.decimal == "" && rule.Multiply == 0 &&
			rule.Offset == 0 && rule.Round == nil &&
			rule.Unit == "" && rule.YearsUntil == "" && rule.DaysSince == ""
		t.numeric = b.free || numeric[name] || rule.Multiply != 0 || rule.Offset != 0 ||
			rule.Round != nil || rule.Unit != ""
		if name == s.Patient && m.Patient != ExactPatients {
			t.forms = &forms{maphash.MakeSeed(), map[uint64]uint64{}}
		}
		b.targets = append(b.targets, t)
	}
	b.otherMarks(m)
	var idle []string
	for _, name := range slices.Sorted(maps.Keys(m.Columns)) {
		if !slices.Contains(wanted, name) {
			idle = append(idle, name)
		}
	}
	if len(idle) > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("the mapping has rules for what is no column of this schema: %s", strings.Join(idle, ", ")))
	}
	for _, name := range m.Derived {
		at, _, ok := findColumn(name, columns)
		if !ok {
			return nil, fmt.Errorf("mapping: derived: %w", b.noColumn(name))
		}
		for _, t := range b.targets {
			if t.reads(at) && !slices.Contains(b.Derived, t.name) {
				b.Derived = append(b.Derived, t.name)
			}
		}
	}
	return b, nil
}

// otherMarks tells columns of numbers which numbers are marks of missing values in any column.
func (b *BoundMapping) otherMarks(m Mapping) {
	var marks []string
	for _, rule := range m.Columns {
		for _, text := range rule.Missing {
			if _, ok := parseNumber(text, ""); ok {
				marks = append(marks, text)
			}
		}
	}
	for i := range b.targets {
		if t := &b.targets[i]; t.numeric && t.expression == nil {
			// its own are missing before they are looked for
			t.elsewhere = newWords(marks, t.decimal)
		}
	}
}

func (t *target) reads(at int) bool {
	if t.expression != nil && slices.Contains(t.expression.inputs, at) {
		return true
	}
	return t.at == at || t.years != nil && t.years.at == at || t.days != nil && t.days.at == at
}

func nonEmpty(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

func (b *BoundMapping) target(name string, rule Rule, m Mapping, agreed string) (t target,
	found bool,
	err error) {
	t = target{
		name: name, at: -1, levels: map[string]string{}, round: -1,
		decimal: cmp.Or(rule.Decimal, m.Decimal), layout: cmp.Or(rule.Dates, m.Dates, dates.ISO),
		multiply: cmp.Or(rule.Multiply, 1), offset: rule.Offset, firstYear: rule.FirstYear,
		unit: strings.TrimSpace(rule.Unit),
	}
	if t.unit == spanUnit {
		t.decimal = "" // the days of a span are written with a point
	}
	if m.Zone != "" {
		if t.zone, err = dates.ZoneNamed(m.Zone); err != nil {
			return target{}, false, err
		}
	}
	for text, level := range rule.Levels {
		t.levels[composed(text)] = level
	}
	t.missing = newWords(slices.Concat(m.Missing, rule.Missing), t.decimal)
	if rule.Round != nil {
		t.round = *rule.Round
	}
	if t.years, err = b.day("years_until", rule.YearsUntil, agreed); err == nil {
		t.days, err = b.day("days_since", rule.DaysSince, agreed)
	}
	if err != nil {
		return target{}, false, err
	}
	if rule.Expression != "" {
		read := input{missing: t.missing, decimal: t.decimal}
		if rule.Decimal != "" || len(rule.Missing) > 0 {
			read.name = name
		}
		// an expression's value has no local number format
		t.decimal, t.missing = "", newWords(rule.Missing, "")
		t.expression, err = b.compile(rule.Expression, read)
		return t, true, err
	}
	from := cmp.Or(rule.FromColumn, name)
	at, alike, ok := findColumn(from, b.columns)
	if alike {
		b.Notes = append(b.Notes, fmt.Sprintf("%s is the file's column %q", name, b.columns[at]))
	}
	t.at = at
	return t, ok, nil
}

// agreedDay is the word for the schema's own date.
const agreedDay = "schema"

// day parses years_until or days_since; nil if empty.
func (b *BoundMapping) day(key, text, agreed string) (*day, error) {
	if text == "" {
		return nil, nil
	}
	if text == agreedDay {
		if agreed == "" {
			return nil, fmt.Errorf("%s: schema: the schema has no date: write one here, such as 2024-12-31", key)
		}
		text = agreed
	}
	if d, ok := dates.ISO.Parse(text); ok {
		return &day{d, -1}, nil
	}
	at, _, ok := findColumn(text, b.columns)
	if !ok {
		return nil, fmt.Errorf("%s: %q is neither a date such as 2024-12-31 nor a column of the file: %w", key, text, b.noColumn(text))
	}
	return &day{at: at}, nil
}

// findColumn finds a column by name. alike reports that the file writes the name in another way.
func findColumn(name string, columns []string) (at int, alike, ok bool) {
	if i := slices.Index(columns, name); i >= 0 {
		return i, false, true
	}
	at = -1
	name = composed(strings.TrimSpace(name))
	for i, c := range columns {
		if strings.EqualFold(composed(strings.TrimSpace(c)), name) {
			if at >= 0 {
				return -1, false, false
			}
			at = i
		}
	}
	return at, at >= 0, at >= 0
}

func (m Mapping) knows(columns []string, s dataset.Schema) bool {
	wanted := s.AllColumns()
	for _, r := range m.Columns {
		wanted = append(wanted, nonEmpty(r.FromColumn)...)
		if p, err := parseExpression(r.Expression); err == nil {
			wanted = append(wanted, p.names...)
		}
	}
	return slices.ContainsFunc(wanted, func(name string) bool {
		_, _, ok := findColumn(name, columns)
		return ok
	})
}

// noColumn reports an absent column and suggests a similar one. If the file has none of the
// requested names, the error shows no names at all, because the file may have no header and its
// "names" may be a record.
func (b *BoundMapping) noColumn(name string) error {
	if shared := dataset.SharedNamesNote([]string{name}, b.columns); shared != "" {
		return fmt.Errorf("the file has no column of its own called %q%s", name, shared)
	}
	if !b.known {
		hint := "if it has no header, list its names under header"
		if d, ok := dataset.LikelyDelimiter(b.columns); ok {
			hint = fmt.Sprintf("its delimiter looks like %q: write delimiter: %q", d, d)
		}
		return fmt.Errorf("the file has no column %q, and none of the others that are looked for: %s", name, hint)
	}
	if near := yamlfile.Nearest(name, b.columns, len(yamlfile.Simplify(name))/4); near != "" {
		return fmt.Errorf("the file has no column %q; did you mean %q?", name, near)
	}
	return fmt.Errorf("the file has no column %q; it has %s", name, few(b.columns))
}

func few(names []string) string {
	const most = 12
	if len(names) > most {
		return fmt.Sprintf("%s, ... (%d in all)", strings.Join(names[:most], ", "), len(names))
	}
	return strings.Join(names, ", ")
}

// PatientHint continues the message about Missing columns if the patient column is among them.
func (b *BoundMapping) PatientHint() string { return b.hint(b.Missing...) }

func (b *BoundMapping) hint(missing ...string) string {
	if b.patient == "" || !slices.Contains(missing, b.patient) {
		return ""
	}
	return fmt.Sprintf("; if the file has no patient number (%s), write patient: none in its mapping", b.patient)
}

// Has reports whether a schema column comes from the file.
func (b *BoundMapping) Has(column string) bool {
	return slices.ContainsFunc(b.targets, func(t target) bool { return t.name == column })
}

// Cells estimates the time to map one record, in cells of plain text.
func (b *BoundMapping) Cells() float64 {
	cells := float64(len(b.used))
	for _, t := range b.targets {
		cells++
		if t.expression != nil {
			cells += t.expression.cost
		}
	}
	return cells
}

// Remarks counts the cells up to now for which no value could be computed. They are private, like
// all remarks.
func (b *BoundMapping) Remarks() []dataset.Remark {
	var all []dataset.Remark
	for _, t := range b.targets {
		if n := t.dated[byISO]; exchanged(n, t.dated[byLayout]) {
			t.odd[dayForMonth] = n.tally
		} else {
			t.odd[besideLayout] = n.tally
		}
		for i, n := range t.odd {
			if n.all > 0 && (i != markElsewhere || n.all >= often) &&
				(i != asThousands || !t.grouped) {
				all = append(all, dataset.Remark{Column: t.name, Problem: problems[i], Count: n.all,
					First: n.first})
			}
		}
	}
	return all
}

// Problems of cells that a mapping cannot turn into a value of the schema. ProblemOtherSign,
// ProblemDayAsWritten, ProblemBesideLayout, ProblemNoUnit, ProblemMarkElsewhere, ProblemThousands
// and OtherForm are only remarks.
const (
	ProblemNoDate dataset.Problem = "not a date as the mapping says they are written, taken " +
		"for missing"
	ProblemNoValue   dataset.Problem = "for which the expression has no value, taken for missing"
	ProblemAfterDay  dataset.Problem = "a date after the day of years_until, taken for missing"
	ProblemOtherSign dataset.Problem = "a number with a point although decimal says a comma, read " +
		"as such: 1.234 there is read as 1234, so write the column's own decimal under columns"
	ProblemDayForMonth dataset.Problem = "a date as YYYY-MM-DD beside others; none has a day above 12 and " +
		"all others have one, so a spreadsheet has probably taken the day for the month: correct " +
		"the file"
	ProblemBesideLayout  dataset.Problem = "a date as YYYY-MM-DD beside the format under dates, read as such"
	ProblemNoUnit        dataset.Problem = "a number without the unit of the mapping, read as if with it"
	ProblemMarkElsewhere dataset.Problem = "a number that is a mark of missing values in another column, " +
		"read as a number: if it is a mark here too, write it under missing of this column"
	ProblemThousands dataset.Problem = "a number with one point or comma, before three digits, read as " +
		"thousands as decimal says, which no number of the column shows for certain: 4.201 is read " +
		"as 4201"
	OtherForm dataset.Problem = "a patient's number in another form than before, such as 1000.0 or 01000 " +
		"after 1000, counted as the same patient: if they are two, write patient: exact"
	// ProblemNoCell is of records, which BoundMapping does not count.
	ProblemNoCell dataset.Problem = "records without a cell in any of the schema's columns, read as empty " +
		"records: if a second table, totals or heads of pages stand there, leave them out by " +
		"last_row or comment"
	ProblemDayAsWritten dataset.Problem = "a moment with a zone, taken for the day that is written " +
		"there: name the site's under zone, as in Europe/Berlin"
)

// problems numbers the problems for the counts of a target.
var problems = [...]dataset.Problem{ProblemNoDate, ProblemNoValue, ProblemAfterDay,
	ProblemOtherSign, ProblemDayAsWritten, ProblemDayForMonth,
	ProblemBesideLayout, ProblemNoUnit, ProblemMarkElsewhere, ProblemThousands, OtherForm}

const (
	noDate = iota
	noValue
	afterDay
	otherSign
	dayAsWritten
	dayForMonth
	besideLayout
	noUnit
	markElsewhere
	asThousands
	otherForm
)

// compile compiles an expression and records the columns that it reads, each as read says:
// read.name is the schema's column if it has a decimal sign or marks of missing values of its own.
func (b *BoundMapping) compile(text string, read input) (*expression, error) {
	p, err := parseExpression(text)
	if err != nil {
		return nil, err
	}
	var reads []int
	names := &namer{find: func(column string, asText bool) (string, error) {
		at, alike, ok := findColumn(column, b.columns)
		if !ok {
			return "", b.noColumn(column)
		}
		if alike {
			note := fmt.Sprintf("an expression's %s is the file's column %q", column, b.columns[at])
			if !slices.Contains(b.Notes, note) {
				b.Notes = append(b.Notes, note)
			}
		}
		reads = append(reads, at)
		name := fmt.Sprintf("%s%v %d %s", inputMark, asText, at, read.name)
		if !slices.ContainsFunc(b.used, func(i input) bool { return i.name == name }) {
			b.used = append(b.used, input{name, at, asText, read.missing, read.decimal})
		}
		return name, nil
	}}
	options := []expr.Option{expr.Env(map[string]any{}), expr.AllowUndefinedVariables(),
		expr.DisableAllBuiltins(), expr.Patch(names)}
	for _, f := range functions {
		options = append(options, expr.EnableBuiltin(f))
	}
	program, err := expr.Compile(text, options...)
	if names.err != nil {
		return nil, fmt.Errorf("expression: %w", names.err)
	}
	if err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return nil, fmt.Errorf("expression: %s", first)
	}
	return &expression{program, p.cost, reads}, nil
}

// typed are rows of a workbook, Parquet or a query, whose last record's cells are texts or numbers.
// A decimal sign is for texts: 4.201 that is a number is 4.201 by any sign.
type typed interface{ IsNumber(column int) bool }

// sign returns the decimal sign of a cell of the last record.
func (b *BoundMapping) sign(decimal string, at int) string {
	if decimal == "" || b.typed == nil || at < 0 || !b.typed.IsNumber(at) {
		return decimal
	}
	return ""
}

// inputs returns a record's values for expressions, made again for each record: a number if the
// cell is one, otherwise its text; nil if the cell is missing.
func (b *BoundMapping) inputs(cells []string) map[string]any {
	if len(b.used) == 0 {
		return nil
	}
	env := make(map[string]any, len(b.used))
	for _, in := range b.used {
		text := cells[in.at]
		if len(text) > maxText || !dataset.IsValidText(text) {
			env[in.name] = nil
			continue
		}
		text = strings.TrimSpace(text)
		v, isNumber := readNumber(text, b.sign(in.decimal, in.at))
		switch {
		case text == "" || in.missing.has(text):
			env[in.name] = nil
		case isNumber && !in.asText:
			env[in.name] = v
		default:
			env[in.name] = text
		}
	}
	return env
}
