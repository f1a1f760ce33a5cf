package dataset

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"caucus/dataset/dates"
	"caucus/internal/csvfile"
	"caucus/internal/yamlfile"
)

// Validate checks names, bounds, levels, classes and the number of columns, at most 100,000. Its
// error names the field and says what to do. All other methods need a valid schema.
func (s Schema) Validate() error {
	if err := s.Label.validate(); err != nil {
		return fmt.Errorf("schema: label: %w", err)
	}
	if d, ok := dates.ISO.Parse(s.Date); s.Date != "" && (!ok || d.String() != s.Date) {
		return fmt.Errorf("schema: date: %q is no day, such as 2024-12-31", s.Date)
	}
	if utf8.RuneCountInString(s.Delimiter) > 1 {
		return fmt.Errorf("schema: delimiter %q must be a single character; write a tab as \"\\t\"", s.Delimiter)
	}
	columns, err := expandNames(s.Columns, maxColumns)
	if err != nil {
		return fmt.Errorf("schema: columns: %w", err)
	}
	if err := s.Format().Validate(); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if twice := firstRepeated(columns); twice != "" {
		return fmt.Errorf("schema: columns: %q occurs twice; rename one", twice)
	}
	if slices.Contains(columns, "") {
		return fmt.Errorf("schema: columns: a name is empty; name it, or remove it")
	}
	if len(s.Features) == 0 {
		return fmt.Errorf("schema: features: there are none; list at least one column")
	}
	role := map[string]string{s.Label.Column: "the label"}
	for _, r := range []struct{ column, is string }{{s.Party, "the party column"},
		{s.Patient, "the patient column"}, {s.PatientDate, "the day of a patient's record"}} {
		if r.column == "" {
			continue
		}
		if is := role[r.column]; is != "" && is != r.is && r.column == s.Label.Column {
			return fmt.Errorf("schema: column %q is both %s and %s; a record's owner cannot be its label", r.column, is, r.is)
		}
		role[r.column] = r.is
	}
	if s.PatientDate != "" && s.Patient == "" {
		return fmt.Errorf("schema: patient_date: name the column of the patient's number too (patient: COLUMN)")
	}
	total := 0
	for i, f := range s.Features {
		names, err := f.names(maxColumns - total)
		if err != nil {
			return fmt.Errorf("schema: feature %d: %w", i+1, err)
		}
		if err := f.validate(); err != nil {
			return fmt.Errorf("schema: feature %d (%s): %w", i+1, listNames(names), err)
		}
		for _, name := range names {
			if is := role[name]; is != "" {
				return fmt.Errorf("schema: feature %d: column %q is already %s; remove one", i+1, name, is)
			}
			role[name] = "a feature"
			total += f.width()
		}
		if total > maxColumns {
			return fmt.Errorf("schema: feature %d: the features encode to more than %d columns; leave some out", i+1, maxColumns)
		}
	}
	if len(columns) > 0 {
		for _, name := range slices.Sorted(maps.Keys(role)) {
			// The party's column may be added when the file is read.
			if !slices.Contains(columns, name) && name != s.Party {
				return fmt.Errorf("schema: %s %q is not among columns (%s)",
					strings.TrimPrefix(role[name], "a "), name, listNames(columns))
			}
		}
	}
	return nil
}

func (l Label) validate() error {
	if l.Column == "" {
		return fmt.Errorf("column is empty; name the column to be predicted")
	}
	if len(l.Classes) < 2 {
		return fmt.Errorf("classes lists %d: list two at least", len(l.Classes))
	}
	if slices.Contains(l.Classes, "") {
		return fmt.Errorf("a class is empty; name it")
	}
	for _, class := range l.Classes {
		if csvfile.IsFormula(class) {
			return fmt.Errorf("class %q would be run as a formula by a spreadsheet that opens predictions: rename it", class)
		}
	}
	if twice := firstRepeated(l.Classes); twice != "" {
		return fmt.Errorf("class %q occurs twice; remove one", twice)
	}
	for _, raw := range slices.Sorted(maps.Keys(l.Aliases)) {
		class := l.Aliases[raw]
		if !slices.Contains(l.Classes, class) {
			return fmt.Errorf("aliases: %q stands for %q, which is not among classes (%s)", raw, class, listNames(l.Classes))
		}
		if slices.Contains(l.Classes, raw) && raw != class {
			return fmt.Errorf("aliases: %q is itself a class and cannot stand for %q", raw, class)
		}
	}
	if l.OtherClass != "" && !slices.Contains(l.Classes, l.OtherClass) {
		return fmt.Errorf("other: %q is not among classes (%s)", l.OtherClass, listNames(l.Classes))
	}
	return nil
}

func (f Feature) validate() error {
	if (f.Column == "") == (len(f.Columns) == 0) {
		return fmt.Errorf("set either column (one name) or columns (several alike)")
	}
	if slices.Contains(f.Columns, "") {
		return fmt.Errorf("columns has an empty name; remove it")
	}
	switch f.Kind {
	case Numeric:
		if len(f.Levels) > 0 {
			return fmt.Errorf("a numeric feature has no levels; remove them or set kind: categorical")
		}
		if math.IsNaN(f.Max-f.Min) || math.IsInf(f.Max-f.Min, 0) {
			return fmt.Errorf("min and max must be finite numbers")
		}
		if f.Min >= f.Max {
			return fmt.Errorf("min %g is not below max %g; give the range that is known without looking at the data", f.Min, f.Max)
		}
		if f.Log && f.Min <= -1 {
			return fmt.Errorf("log takes log(1+v), so min must be above -1; it is %g", f.Min)
		}
	case Categorical:
		if len(f.Levels) == 0 {
			return fmt.Errorf("levels is empty; list the texts that may occur")
		}
		if twice := firstRepeated(f.Levels); twice != "" {
			return fmt.Errorf("level %q occurs twice; remove one", twice)
		}
		if f.Min != 0 || f.Max != 0 || f.Log || f.FlagMissing {
			return fmt.Errorf("min, max, log and missing belong to kind: numeric; remove them (a missing text counts as other)")
		}
	default:
		return fmt.Errorf("kind %q is unknown; use numeric or categorical", f.Kind)
	}
	return nil
}

func firstRepeated(texts []string) string {
	seen := make(map[string]bool, len(texts))
	for _, t := range texts {
		if seen[t] {
			return t
		}
		seen[t] = true
	}
	return ""
}

// ParseSchema reads a schema as YAML and validates it. Unknown keys, such as typos, are errors.
func ParseSchema(r io.Reader) (Schema, error) {
	var s Schema
	if err := yamlfile.DecodeAll(r, &s); err != nil {
		return Schema{}, fmt.Errorf("parse schema: %w", err)
	}
	if err := s.Validate(); err != nil {
		return Schema{}, err
	}
	return s, nil
}
