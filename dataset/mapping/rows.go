package mapping

import (
	"hash/maphash"
	"slices"
	"strconv"
	"strings"

	"caucus/dataset"
	"caucus/dataset/dates"
	"caucus/internal/decimal"
)

// AllRows maps the records of a file for a person's own screen. The file's unused columns follow
// the schema's columns, under their own names. A file that needs no mapping keeps its columns.
// Without a schema (the zero Schema), missing values and decimal signs are normalised in every
// column.
func (m Mapping) AllRows(in dataset.Rows, s dataset.Schema) (dataset.Rows, *BoundMapping, error) {
	b, err := m.Bind(in.Columns(), s)
	if err != nil {
		return in, b, err
	}
	changes := b.changes(m)
	b.keepOthers(m)
	if !changes {
		if !slices.ContainsFunc(b.targets, func(t target) bool { return t.forms != nil }) {
			return in, b, nil
		}
		slices.SortFunc(b.targets, func(x, y target) int { return x.at - y.at })
	}
	return b.Rows(in), b, nil
}

func (b *BoundMapping) changes(m Mapping) bool {
	return len(m.Columns) > 0 || len(m.Missing) > 0 || m.Decimal != "" ||
		slices.ContainsFunc(b.targets, func(t target) bool {
			return t.at < 0 || b.columns[t.at] != t.name || t.days != nil
		})
}

// keepOthers adds the unused columns unchanged. Without a schema, which would say which columns are
// numbers, it applies the mapping's missing values and decimal sign to them.
func (b *BoundMapping) keepOthers(m Mapping) {
	for i, name := range b.columns {
		if !b.Has(name) && !slices.ContainsFunc(b.targets, func(t target) bool {
			return t.at == i
		}) {
			t := target{name: name, at: i, round: -1, multiply: 1}
			if b.free {
				t.numeric, t.decimal, t.missing = true, m.Decimal, newWords(m.Missing, m.Decimal)
			}
			b.targets = append(b.targets, t)
		}
	}
}

// Rows maps the records of a file to the schema's columns.
func (b *BoundMapping) Rows(in dataset.Rows) dataset.Rows {
	r := &mapped{Rows: in, bound: b, out: make([]string, len(b.targets))}
	for i := range b.targets {
		b.targets[i].place = in.Place
		r.names = append(r.names, b.targets[i].name)
	}
	b.typed, _ = in.(typed)
	return r
}

// NumberWatcher are rows for a draft, which knows texts alone: they note the columns with numbers
// that are no texts of the file.
type NumberWatcher struct {
	dataset.Rows
	typed typed
	found []bool // by column
}

// WatchNumbers returns rows whose columns of numbers [Suggest] is to know.
func WatchNumbers(in dataset.Rows) *NumberWatcher {
	numbers, _ := in.(typed)
	return &NumberWatcher{in, numbers, make([]bool, len(in.Columns()))}
}

// NumberColumns returns the columns in which a number was read that is no text of the file.
func (n *NumberWatcher) NumberColumns() (columns []string) {
	for i, name := range n.Columns() {
		if n.found[i] {
			columns = append(columns, name)
		}
	}
	return columns
}

// Next implements dataset.Rows. The row passes unchanged; a cell with a point in it counts as a
// number only if the file stores a number there.
func (n *NumberWatcher) Next() ([]string, bool, error) {
	cells, ok, err := n.Rows.Next()
	for i := 0; n.typed != nil && ok && i < len(cells); i++ {
		if !n.found[i] && strings.Contains(cells[i], ".") {
			n.found[i] = n.typed.IsNumber(i)
		}
	}
	return cells, ok, err
}

type mapped struct {
	dataset.Rows
	bound *BoundMapping
	names []string
	out   []string
}

func (m *mapped) Columns() []string { return m.names }

func (m *mapped) Next() ([]string, bool, error) {
	cells, ok, err := m.Rows.Next()
	if err != nil || !ok {
		return m.out, false, err
	}
	m.bound.apply(cells, m.out)
	return m.out, true, nil
}

// noText marks a cell that is not text, so that Collect counts it.
const noText = "\x00"

func (b *BoundMapping) apply(cells, out []string) {
	env := b.inputs(cells)
	for i := range b.targets {
		t := &b.targets[i]
		out[i] = t.of(cells, env, b.sign(t.decimal, t.at))
	}
}

// of makes a record's cell of the schema. decimal is the sign of the file's cell.
func (t *target) of(cells []string, env map[string]any, decimal string) string {
	var text string
	if t.at < 0 && t.expression == nil {
		return ""
	} else if t.expression != nil {
		var ok bool
		if text, ok = t.expression.of(env); !ok {
			return t.without(noValue)
		}
	} else if text = cells[t.at]; !dataset.IsValidText(text) {
		return noText
	}
	text = strings.TrimSpace(text)
	if text == "" || t.missing.has(text) {
		return ""
	}
	if t.elsewhere.has(text) {
		t.odd[markElsewhere].count(t.place)
	}
	if t.years != nil || t.days != nil {
		var why int
		if text, why = t.span(text, cells); why >= 0 {
			return t.without(why)
		}
	}
	if len(t.levels) > 0 {
		if level, ok := t.levels[composed(text)]; ok {
			return level
		}
	}
	if t.forms != nil {
		return t.patient(text, decimal)
	}
	if !t.numeric || t.plain {
		return text
	}
	if t.unit != "" {
		bare, ok := numberBefore(text, t.unit)
		if _, number := readNumber(bare, decimal); ok && number {
			text = bare
		} else if _, number := readNumber(text, decimal); number {
			t.odd[noUnit].count(t.place)
		}
	}
	plain, bySign := plainNumber(text, decimal)
	v, ok := readNumber(text, decimal)
	switch {
	case !ok:
		return text
	case !bySign: // such as 0.457 where the sign is a comma
		t.odd[otherSign].count(t.place)
		plain = text
	case len(plain) < len(text): // without signs between groups
		switch signs := strings.Count(text, ".") + strings.Count(text, ","); {
		case signs > 1:
			t.grouped = true
		case signs == 1 && !strings.Contains(text, decimal):
			t.odd[asThousands].count(t.place)
		}
	}
	if t.expression == nil && t.multiply == 1 && t.offset == 0 && t.round < 0 {
		return plain
	}
	return numberText(t.scaled(v))
}

// patient returns a patient's number in one form for all in which it may be written: without outer
// spaces and in Unicode's form NFC, and of digits alone without zeros that change nothing. It
// counts numbers that were read in another form before. Two of 5 million share a digest by chance
// in less than one of 10⁶ files, which a count bears.
func (t *target) patient(text, sign string) string {
	plain := composed(text)
	if sign == "," { // a point between digits is no decimal sign
		plain = strings.NewReplacer(".", "\x00", ",", ".").Replace(plain)
	}
	number, ok := decimal.Canonical(plain)
	if !ok {
		number = composed(text)
	}
	key, form := maphash.String(t.forms.seed, number), maphash.String(t.forms.seed, text)
	if first, seen := t.forms.first[key]; !seen {
		t.forms.first[key] = form
	} else if first != form {
		t.odd[otherForm].count(t.place)
	}
	return number
}

// without counts a cell's problem, and makes the cell empty.
func (t *target) without(problem int) string {
	t.odd[problem].count(t.place)
	return ""
}

func (t *target) scaled(v float64) float64 {
	v = v*t.multiply + t.offset
	if t.round >= 0 {
		// an overflow gives ±Inf, which no schema takes for a number
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', t.round, 64), 64)
	}
	return v
}

// span returns the years from the date in text until the day of t.years, or else the days from
// t.days until it; or the problem why it has none, else -1.
func (t *target) span(text string, cells []string) (number string, problem int) {
	own, written, ok := t.date(text)
	if !ok {
		return "", noDate
	}
	t.dated[written].add(own, t.place)
	until := t.years
	if until == nil {
		until = t.days
	}
	other := until.date
	if until.at >= 0 {
		if other, _, ok = t.date(cells[until.at]); !ok {
			return "", noDate
		}
	}
	if written == byLayout {
		if own, ok = t.inCentury(own, other); !ok {
			return "", noDate
		}
	}
	switch {
	case t.years == nil:
		return strconv.Itoa(int(own - other)), -1
	case own > other:
		return "", afterDay
	}
	return strconv.Itoa(own.YearsUntil(other)), -1
}

// date reads a date by the layout, or else by ISO 8601, in which a workbook's own dates stand. ISO
// is no other reading of what a layout may mean, but for a year before the day.
func (t *target) date(text string) (d dates.Date, written int, ok bool) {
	d, zoned, ok := t.layout.ParseIn(text, t.zone)
	if !ok && !strings.HasPrefix(string(t.layout), "YYYY-D") {
		written = byISO
		d, zoned, ok = dates.ISO.ParseIn(text, t.zone)
	}
	if zoned && t.zone == nil {
		t.odd[dayAsWritten].count(t.place)
	}
	return d, written, ok
}

// inCentury finds the century of a date whose year has two digits: that of first_year, or for years
// until a day the last one in which the date is not after the day, as a birth is not.
func (t *target) inCentury(own, day dates.Date) (dates.Date, bool) {
	first := t.firstYear
	switch {
	case !t.layout.HasTwoDigitYear() || first == 0 && t.years == nil:
		return own, true
	case first == 0:
		year, _, _ := day.YearMonthDay()
		first = year - 99
		if last, ok := own.InCentury(first); ok && last > day {
			first--
		}
	}
	return own.InCentury(first)
}
