package mapping

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"go.yaml.in/yaml/v3"

	"caucus/dataset/dates"
	"caucus/dataset/files"
	"caucus/internal/yamlfile"
)

// Mapping describes a site's file and the source of each schema column. The zero value takes every
// schema column from the file's column with the same name.
type Mapping struct {
	files.TextFormat `yaml:",inline"`
	// Missing are texts for a missing value, besides an empty cell.
	Missing Texts `yaml:"missing,omitempty,flow" json:"missing,omitempty"`
	// Decimal is the decimal sign, "," or ".". If set, the other sign, spaces and apostrophes
	// between groups of three digits are ignored: "5,400" → 5400 with Decimal ".". No such number
	// begins with 0: "0.457" stays 0.457 with Decimal ",", and a remark counts it. Empty: a point,
	// and no signs between groups. Decimal is for texts: a number of a workbook, of Parquet or of a
	// query stays as it is.
	Decimal string `yaml:"decimal,omitempty" json:"decimal,omitempty"`
	// Zone is the site's time zone, such as Europe/Berlin. A moment with a zone of its own, such as
	// 2024-12-30 23:30:00Z, then is of the day that it was in Zone, in text as in Parquet; a
	// query's session gets the zone. Empty: the day as the file writes it, or as the zone of the
	// query's account has it.
	Zone string `yaml:"zone,omitempty" json:"zone,omitempty"`
	// Dates is the format of dates, such as DD.MM.YYYY, DD-MON-YYYY (MON: a month's name) or
	// YYYY-MM (the month's first day); empty is ISO 8601, in which dates are read beside any
	// format, with a remark.
	Dates dates.Layout `yaml:"dates,omitempty" json:"dates,omitempty"`
	// Patient is "none" if the file has no patient number. Then each record counts as another
	// patient, and a guarantee for a patient covers one record only. It is "one-record" if the file
	// has no patient number and no person has two records: whoever declares the source states
	// that, and the source takes part in studies at unit patient. It is "exact" if numbers such as
	// 1000 and 01000 are two patients. Otherwise they are one, as 1000.0 is.
	Patient string `yaml:"patient,omitempty" json:"patient,omitempty"`
	// Columns gives the source of schema columns. The default is the file's column with the same
	// name.
	Columns map[string]Rule `yaml:"columns,omitempty" json:"columns,omitempty"`
	// Derived names columns computed from several records, such as a rank among patients: no
	// guarantee for one record covers these, a person must vouch.
	Derived []string `yaml:"derived,omitempty,flow" json:"derived,omitempty"`
}

// Rule makes a schema column, in this order: take a column of the file or an expression; make a
// missing value empty; convert a date to whole years or days; convert a number to other units;
// replace a text by its level. In YAML a text instead of a rule names the file's column.
type Rule struct {
	// FromColumn is a column of the file. Without FromColumn and Expression it is the column with
	// the same name.
	FromColumn string `yaml:"from,omitempty" json:"from,omitempty"`
	// Expression computes a value from the columns of the same record.
	Expression string `yaml:"expression,omitempty" json:"expression,omitempty"`
	// Missing are texts for a missing value here, besides the mapping's: of the columns that an
	// expression reads, and of its value.
	Missing Texts `yaml:"missing,omitempty,flow" json:"missing,omitempty"`
	// Dates is the format of this column's dates.
	Dates dates.Layout `yaml:"dates,omitempty" json:"dates,omitempty"`
	// YearsUntil and DaysSince turn a date into a number: the whole years from the date until a day
	// (an age), or the days from a day until the date. The day is a date (2024-12-31), a column of
	// the file, or the word "schema" for the schema's date. A date after the day of YearsUntil
	// makes the cell missing, with a remark.
	YearsUntil string `yaml:"years_until,omitempty" json:"years_until,omitempty"`
	DaysSince  string `yaml:"days_since,omitempty" json:"days_since,omitempty"`
	// FirstYear is the first of the hundred years that two digits of a year mean: 1925 is for 1925
	// to 2024. Without it they are 1930 to 2029, or for YearsUntil the last hundred years before
	// the day.
	FirstYear int `yaml:"first_year,omitempty" json:"first_year,omitempty"`
	// Decimal is this column's decimal sign, and that of the columns that its expression reads, if
	// it differs from the mapping's.
	Decimal string `yaml:"decimal,omitempty" json:"decimal,omitempty"`
	// Unit is what stands behind each number, such as kg, and is left out. The word span reads
	// spans of time as days: 5 days 04:12:00, P5DT4H12M, 36:30:00, 36:30 (hours and minutes).
	Unit string `yaml:"unit,omitempty" json:"unit,omitempty"`
	// Multiply, then Offset, converts a number to the schema's unit. Round keeps that many
	// decimals.
	Multiply float64 `yaml:"multiply,omitempty" json:"multiply,omitempty"`
	Offset   float64 `yaml:"offset,omitempty" json:"offset,omitempty"`
	Round    *int    `yaml:"round,omitempty" json:"round,omitempty"`
	// Levels gives the schema's level for each text of the file.
	Levels map[string]string `yaml:"levels,omitempty,flow" json:"levels,omitempty"`
}

// The values of Mapping.Patient besides the empty one.
const (
	NoPatient     = "none"
	OneRecord     = "one-record"
	ExactPatients = "exact"
)

// LacksPatientNumbers reports whether the mapping says that the file has no patient number.
func (m Mapping) LacksPatientNumbers() bool {
	return m.Patient == NoPatient || m.Patient == OneRecord
}

// Texts is a list of texts, or one text. A single NULL must be listed or quoted, otherwise it is no
// text. In a list, NULL, ~, -9 and true are texts.
type Texts []string

// UnmarshalYAML takes one text or a list. It keeps each as written, so 007 stays 007.
func (t *Texts) UnmarshalYAML(n *yaml.Node) error {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		nodes = n.Content
	}
	*t = nil
	for _, n := range nodes {
		if n.Kind != yaml.ScalarNode {
			return fmt.Errorf("line %d: write a list of texts, such as [\"-9\", NULL]", n.Line)
		}
		*t = append(*t, n.Value)
	}
	return nil
}

// UnmarshalYAML reads a text as the name of a column.
func (r *Rule) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		r.FromColumn = n.Value
		return nil
	}
	type plain Rule
	return yamlfile.DecodeNode(n, (*plain)(r))
}

const maxBytes = 1 << 20

// Parse reads a mapping as YAML and validates it. An unknown key is an error.
func Parse(r io.Reader) (Mapping, error) {
	fail := func(err error) (Mapping, error) { return Mapping{}, fmt.Errorf("mapping: %w", err) }
	text, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return fail(err)
	}
	if len(text) > maxBytes {
		return fail(fmt.Errorf("it is longer than %d MiB", maxBytes>>20))
	}
	file, err := yamlfile.Parse("", text)
	if err != nil {
		return fail(err)
	}
	var m Mapping
	if err := file.Decode(&m); err != nil {
		return fail(err)
	}
	if err := file.AddPosition(m.Validate()); err != nil {
		return fail(err)
	}
	return m, nil
}

// YAML writes the mapping as a site's configuration has it, without empty settings.
func (m Mapping) YAML() ([]byte, error) {
	out, err := yamlfile.Encode(m)
	if err != nil {
		return nil, fmt.Errorf("write mapping: %w", err)
	}
	return out, nil
}

// Equivalent reports whether both make the same records of every file: equal settings, however they
// were written in YAML. It is false if either cannot be encoded.
func (m Mapping) Equivalent(other Mapping) bool {
	a, errA := json.Marshal(m)
	b, errB := json.Marshal(other)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}

// Validate checks everything that needs no file: formats, signs, zones, dates, and each rule. Its
// error begins with the setting's name.
func (m Mapping) Validate() error {
	if err := m.TextFormat.Validate(); err != nil {
		return err
	}
	if err := checkDecimal(m.Decimal); err != nil {
		return err
	}
	if m.Zone != "" {
		if _, err := dates.ZoneNamed(m.Zone); err != nil {
			return err
		}
	}
	if m.Dates != "" {
		if err := m.Dates.Validate(); err != nil {
			return fmt.Errorf("dates: %w", err)
		}
	}
	if !slices.Contains([]string{"", NoPatient, OneRecord, ExactPatients}, m.Patient) {
		return fmt.Errorf("patient: %q: write none if the file has no patient number, or one-record if also no person has two records; else name its column under columns (exact: 1000 and 01000 are two patients)", m.Patient)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Columns)) {
		if err := m.Columns[name].validate(); err != nil {
			return fmt.Errorf("columns: %s: %w", name, err)
		}
	}
	return nil
}

func checkDecimal(sign string) error {
	if sign != "" && sign != "," && sign != "." {
		return fmt.Errorf("decimal: %q: write \",\" or \".\"", sign)
	}
	return nil
}

// undecidedLevel stands in a draft for the level of a code that may mean several. A mapping with it
// is refused, so that a person decides.
const undecidedLevel = "which level?"

func (r Rule) validate() error {
	if r.FromColumn != "" && r.Expression != "" {
		return errors.New("it has both from and expression: an expression names its columns itself")
	}
	if r.Expression != "" {
		if _, err := parseExpression(r.Expression); err != nil {
			return err
		}
	}
	if err := checkDecimal(r.Decimal); err != nil {
		return err
	}
	if r.Dates != "" {
		if err := r.Dates.Validate(); err != nil {
			return fmt.Errorf("dates: %w", err)
		}
	}
	if r.YearsUntil != "" && r.DaysSince != "" {
		return errors.New("it has both years_until and days_since: keep one")
	}
	if r.FirstYear < 0 || r.FirstYear > 9900 {
		return fmt.Errorf("first_year: %d: write the first of a hundred years, such as "+
			"1925", r.FirstYear)
	}
	for _, v := range []float64{r.Multiply, r.Offset} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return errors.New("multiply and offset: give finite numbers")
		}
	}
	if r.Round != nil && (*r.Round < 0 || *r.Round > 15) {
		return fmt.Errorf("round: %d: give 0 to 15 digits behind the point", *r.Round)
	}
	for text, level := range r.Levels {
		if level == undecidedLevel {
			return fmt.Errorf("levels: %s: write its level in place of %q", text, level)
		}
	}
	if _, ok := r.Levels[""]; ok {
		return errors.New("levels: an empty cell is a missing value and no level: remove it")
	}
	return nil
}
