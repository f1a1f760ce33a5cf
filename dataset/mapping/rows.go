package mapping

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"caucus/dataset"
)

// AllRows maps the records of a file for a person's own screen. The file's unused columns follow the schema's
// columns, under their own names. A file that needs no mapping keeps its columns. Without a schema (the zero
// Schema), missing values and decimal signs are normalised in every column.
func (m Mapping) AllRows(in dataset.Rows, s dataset.Schema) (dataset.Rows, *Bound, error) {
	b, err := m.Bind(in.Columns(), s)
	if err != nil || !b.changes(m) {
		return in, b, err
	}
	b.keepOthers(m)
	return b.Rows(in), b, nil
}

func (b *Bound) changes(m Mapping) bool {
	return len(m.Columns) > 0 || len(m.Missing) > 0 || m.Decimal != "" ||
		slices.ContainsFunc(b.targets, func(t target) bool { return t.at < 0 || b.columns[t.at] != t.name })
}

// keepOthers adds the unused columns unchanged. Without a schema, which would say which columns are
// numbers, it applies the mapping's missing values and decimal sign to them.
func (b *Bound) keepOthers(m Mapping) {
	for i, name := range b.columns {
		if !b.Has(name) && !slices.ContainsFunc(b.targets, func(t target) bool { return t.at == i }) {
			t := target{name: name, at: i, round: -1, multiply: 1}
			if b.free {
				t.numeric, t.decimal, t.missing = true, m.Decimal, newWords(m.Missing, m.Decimal)
			}
			b.targets = append(b.targets, t)
		}
	}
}

// Rows maps the records of a file to the schema's columns.
func (b *Bound) Rows(in dataset.Rows) dataset.Rows {
	r := &mapped{Rows: in, bound: b, out: make([]string, len(b.targets))}
	for _, t := range b.targets {
		r.names = append(r.names, t.name)
	}
	return r
}

type mapped struct {
	dataset.Rows
	bound *Bound
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

func (b *Bound) apply(cells, out []string) {
	env := b.inputs(cells)
	for i := range b.targets {
		out[i] = b.targets[i].of(cells, env)
	}
}

func (t *target) of(cells []string, env map[string]any) string {
	var text string
	if t.at < 0 && t.expression == nil {
		return ""
	} else if t.expression != nil {
		var ok bool
		if text, ok = t.expression.of(env); !ok {
			t.noValue++
			return ""
		}
	} else if text = cells[t.at]; !dataset.IsText(text) {
		return noText
	}
	text = strings.TrimSpace(text)
	if text == "" || t.missing.has(text) {
		return ""
	}
	if t.years != nil || t.days != nil {
		var ok bool
		if text, ok = t.span(text, cells); !ok {
			t.noDate++
			return ""
		}
	}
	if level, ok := t.levels[text]; ok {
		return level
	}
	if t.numeric && !t.plain {
		if v, ok := parseNumber(text, t.decimal); ok {
			if t.expression == nil && t.multiply == 1 && t.offset == 0 && t.round < 0 {
				return plainNumber(text, t.decimal)
			}
			text = numberText(t.scaled(v))
		}
	}
	return text
}

func (t *target) scaled(v float64) float64 {
	v = v*t.multiply + t.offset
	if t.round >= 0 {
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'f', t.round, 64), 64) // an overflow gives ±Inf, which no schema takes for a number
	}
	return v
}

// span returns the years from the date in text until the day of t.years, or else the days from t.days until it.
func (t *target) span(text string, cells []string) (string, bool) {
	own, ok := t.layout.Parse(text)
	if !ok {
		return "", false
	}
	until := t.years
	if until == nil {
		until = t.days
	}
	other := until.date
	if until.at >= 0 {
		if other, ok = t.layout.Parse(cells[until.at]); !ok {
			return "", false
		}
	}
	if t.years != nil {
		return strconv.Itoa(own.YearsUntil(other)), true
	}
	return strconv.Itoa(int(own - other)), true
}

// words are texts to compare with. A number among them also matches its other forms: -9 matches -9.0.
type words struct {
	texts   map[string]bool
	numbers map[float64]bool
	decimal string
}

func newWords(texts []string, decimal string) words {
	w := words{texts: map[string]bool{}, numbers: map[float64]bool{}, decimal: decimal}
	for _, text := range texts {
		text = strings.TrimSpace(text)
		w.texts[text] = true
		if v, ok := parseNumber(text, ""); ok {
			w.numbers[v] = true
		}
	}
	return w
}

func (w words) has(text string) bool {
	if w.texts[text] {
		return true
	}
	if len(w.numbers) == 0 {
		return false
	}
	v, ok := parseNumber(text, w.decimal)
	return ok && w.numbers[v]
}

func parseNumber(text, decimal string) (float64, bool) {
	text = plainNumber(text, decimal)
	if text == "" || strings.IndexByte("0123456789.", text[len(text)-1]) < 0 || dataset.IsSourceForm(text) { // excludes Inf, NaN, 1_0 and 0x1p4
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// plainNumber writes a number with a point and without group signs. It returns other texts unchanged.
func plainNumber(text, decimal string) string {
	if decimal == "" || strings.IndexByte("0123456789.,+-", firstByte(text)) < 0 {
		return text
	}
	group := byte('.')
	if decimal == "." {
		group = ','
	}
	whole, fraction, has := strings.Cut(text, decimal)
	if has && strings.ContainsAny(fraction, ",. '\u00a0\u202f") {
		return text
	}
	joined, ok := withoutGroups(whole, group)
	if !ok {
		return text
	}
	if has {
		return joined + "." + fraction
	}
	return joined
}

func firstByte(text string) byte {
	if text == "" {
		return 0
	}
	return text[0]
}

// withoutGroups removes signs between groups of three digits; false if a sign is elsewhere.
func withoutGroups(whole string, group byte) (string, bool) {
	whole = strings.NewReplacer("\u00a0", " ", "\u202f", " ", "'", " ", string(group), " ").Replace(whole)
	parts := strings.Split(whole, " ")
	for i, p := range parts {
		if i > 0 && (len(p) != 3 || strings.Trim(p, "0123456789") != "") {
			return "", false
		}
	}
	if n := len(strings.TrimLeft(parts[0], "+-")); len(parts) > 1 && (n < 1 || n > 3) {
		return "", false
	}
	return strings.Join(parts, ""), true
}

func numberText(v float64) string { return strconv.FormatFloat(v+0, 'g', -1, 64) } // +0 turns -0 into 0
