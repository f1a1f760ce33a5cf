package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"caucus/internal/yamlfile"
)

// Schema gives the meaning of a file's columns before any record is seen: their bounds, levels and
// classes. It is public, part of a study's plan, and alone decides how records are encoded. The
// zero value is not valid; [ParseSchema] makes one from YAML and checks it.
type Schema struct {
	// Name is for people.
	Name string `yaml:"name,omitempty" json:"name,omitempty"`
	// Label is the column to be predicted.
	Label Label `yaml:"label" json:"label"`
	// Features are the other columns, in order of encoding.
	Features []Feature `yaml:"features" json:"features"`
	// Missing is the text of a missing value, besides an empty cell: often "?" or "NA".
	Missing string `yaml:"missing,omitempty" json:"missing,omitempty"`
	// Party names the column of a record's party, in a file of several parties.
	Party string `yaml:"party,omitempty" json:"party,omitempty"`
	// Patient names the column that identifies the patient: all records of a patient share a shard.
	Patient string `yaml:"patient,omitempty" json:"patient,omitempty"`
	// PatientDate names the column of a record's day, by which a study may choose the first or last
	// record of a patient. A site's mapping turns dates into days since 1970-01-01.
	PatientDate string `yaml:"patient_date,omitempty" json:"patient_date,omitempty"`
	// Date is the day, such as 2024-12-31, for features that depend on one: a site's mapping turns
	// birth dates into ages in whole years on that day (years_until: schema).
	Date string `yaml:"date,omitempty" json:"date,omitempty"`
	// Delimiter, Columns and Comment describe the file; see [Schema.Format]. Columns may
	// abbreviate: "p0..p783".
	Delimiter string   `yaml:"delimiter,omitempty" json:"delimiter,omitempty"`
	Columns   []string `yaml:"columns,omitempty,flow" json:"columns,omitempty"`
	Comment   string   `yaml:"comment,omitempty" json:"comment,omitempty"`
	// MarkMissing encodes a cell without a value as NaN, at the place that is otherwise filled: by
	// the middle of a number's range, or by 1 in a text's column of other texts. A number with a
	// flag for missing values has no NaN. Programs set this field for private records; neither
	// files nor plans have it.
	MarkMissing bool `yaml:"-" json:"-"`
}

// Label is the column to be predicted.
type Label struct {
	// Column is the name of the label's column.
	Column string `yaml:"column" json:"column"`
	// Classes are at least two; their order numbers them.
	Classes []string `yaml:"classes,flow" json:"classes"`
	// Aliases gives the class of texts that are not themselves a class.
	Aliases map[string]string `yaml:"aliases,omitempty" json:"aliases,omitempty"`
	// OtherClass is the class of texts that are neither class nor alias; empty leaves them
	// unlabelled.
	OtherClass string `yaml:"other,omitempty" json:"other,omitempty"`
}

// FeatureKind decides how many encoded columns a feature has, and their values in [0,1].
type FeatureKind string

const (
	// Numeric is clamped to [Min, Max] and scaled to [0,1]: one column.
	Numeric FeatureKind = "numeric"
	// Categorical has one 0/1 column per level and one for all other texts.
	Categorical FeatureKind = "categorical"
)

// Feature is a column of the file, or several alike, with public bounds or levels.
type Feature struct {
	// Column names one column; Columns names several that share everything else, and may
	// abbreviate: "p0..p783". Set exactly one.
	Column  string   `yaml:"column,omitempty" json:"column,omitempty"`
	Columns []string `yaml:"columns,omitempty,flow" json:"columns,omitempty"`
	// Kind is numeric or categorical.
	Kind FeatureKind `yaml:"kind" json:"kind"`
	// Min and Max bound a numeric feature in its own unit: public knowledge, never the data's
	// extremes.
	Min float64 `yaml:"min" json:"min,omitempty" with:"max"`
	Max float64 `yaml:"max" json:"max,omitempty" with:"min"`
	// Log scales log(1+v) instead of v: for sizes, counts and sums of money.
	Log bool `yaml:"log,omitempty" json:"log,omitempty"`
	// FlagMissing adds a 0/1 column that flags a missing number.
	FlagMissing bool `yaml:"missing,omitempty" json:"missing,omitempty"`
	// Levels are a categorical feature's known texts. If "other" is among them, unknown texts count
	// as that level and get no column of their own.
	Levels []string `yaml:"levels,omitempty,flow" json:"levels,omitempty"`
}

const maxColumns = 100_000

// YAML writes the schema so that ParseSchema reads the same one.
func (s Schema) YAML() ([]byte, error) {
	out, err := yamlfile.Encode(s)
	if err != nil {
		return nil, fmt.Errorf("write schema: %w", err)
	}
	return out, nil
}

// MarshalYAML writes both bounds of a numeric feature, 0 too, and none of another feature.
func (f Feature) MarshalYAML() (any, error) {
	type bare Feature // without this method
	var n yaml.Node
	err := n.Encode(bare(f))
	if f.Kind == Numeric {
		return &n, err
	}
	keep := n.Content[:0]
	for i := 0; i < len(n.Content); i += 2 {
		if key := n.Content[i].Value; key != "min" && key != "max" {
			keep = append(keep, n.Content[i:i+2]...)
		}
	}
	n.Content = keep
	return &n, err
}

// Format returns how files of this schema are written, unless a site's mapping says otherwise.
// Abbreviated columns are written out.
func (s Schema) Format() Format {
	f := Format{Comment: s.Comment}
	if s.Delimiter != "" {
		f.Delimiter, _ = utf8.DecodeRuneInString(s.Delimiter)
	}
	if len(s.Columns) > 0 {
		// no error: Validate has checked the names
		f.Columns, _ = expandNames(s.Columns, maxColumns)
	}
	return f
}

// WithoutFormat returns the schema without the file format, which is each holder's choice.
func (s Schema) WithoutFormat() Schema {
	s.Delimiter, s.Columns, s.Comment = "", nil, ""
	return s
}

// Classes returns a copy of the label's classes: class k is number k, 0..K−1.
func (s Schema) Classes() []string { return slices.Clone(s.Label.Classes) }

// WithoutColumns returns the schema without the named feature columns. Other names change nothing.
func (s Schema) WithoutColumns(columns ...string) Schema {
	var kept []Feature
	for _, f := range s.Features {
		if f.Column != "" {
			if !slices.Contains(columns, f.Column) {
				kept = append(kept, f)
			}
			continue
		}
		names, _ := expandNames(f.Columns, maxColumns)
		if slices.ContainsFunc(names, func(n string) bool { return slices.Contains(columns, n) }) {
			f.Columns = slices.DeleteFunc(names, func(n string) bool {
				return slices.Contains(columns, n)
			})
		}
		if len(f.Columns) > 0 {
			kept = append(kept, f)
		}
	}
	s.Features = kept
	return s
}

func (f Feature) names(most int) ([]string, error) {
	if f.Column != "" {
		return []string{f.Column}, nil
	}
	return expandNames(f.Columns, most)
}

// ExpandNames writes out abbreviated names of columns: "x8..x11" → x8, x9, x10, x11.
func ExpandNames(names []string) ([]string, error) { return expandNames(names, maxColumns) }

func expandNames(names []string, most int) ([]string, error) {
	var all []string
	for _, name := range names {
		first, last, isRange := strings.Cut(name, "..")
		stem := strings.TrimRight(first, "0123456789")
		from, err1 := strconv.Atoi(first[len(stem):])
		to, err2 := strconv.Atoi(strings.TrimPrefix(last, stem))
		if !isRange || !strings.HasPrefix(last, stem) || err1 != nil || err2 != nil || to < from {
			all = append(all, name)
		} else {
			if to-from >= most {
				return nil, fmt.Errorf("%q stands for more than %d columns", name, most)
			}
			for i := from; i <= to; i++ {
				all = append(all, stem+strconv.Itoa(i))
			}
		}
		if len(all) > most {
			return nil, fmt.Errorf("there are more than %d columns", most)
		}
	}
	return all, nil
}

// width returns the number of encoded columns of one column of the feature.
func (f Feature) width() int {
	switch {
	case f.Kind == Categorical && slices.Contains(f.Levels, otherLevel):
		return len(f.Levels)
	case f.Kind == Categorical:
		return len(f.Levels) + 1
	case f.FlagMissing:
		return 2
	}
	return 1
}

const otherLevel = "other"
