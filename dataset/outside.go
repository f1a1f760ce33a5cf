package dataset

import (
	"fmt"
	"slices"

	"caucus/internal/yamlfile"
)

// CheckWhere refuses a condition that does not fit the schema: columns that are neither feature nor
// label, unknown texts, an order of texts, numbers outside a column's bounds.
func (s Schema) CheckWhere(c Condition) error {
	var err error
	c.root.visit(func(of comparison) {
		if err == nil {
			if err = s.checkComparison(of); err != nil {
				err = fmt.Errorf("condition %q: %w", c.text, err)
			}
		}
	})
	return err
}

func (s Schema) checkComparison(of comparison) error {
	levels, bounds := s.Label.Classes, (*Feature)(nil)
	if of.column != s.Label.Column {
		f, ok := s.featureOf(of.column)
		if !ok {
			return fmt.Errorf("column %q is no feature and not the label: the schema has %s", of.column, NamesOrCount(append(s.FeatureColumns(), s.Label.Column)))
		}
		if levels = append(slices.Clone(f.Levels), otherLevel); f.Kind == Numeric {
			bounds = &f
		}
	}
	if bounds == nil {
		if of.op != "==" && of.op != "!=" {
			return fmt.Errorf("%s %s: %s is a text, which is compared by == and !=", of.column, of.op, of.column)
		}
		if _, known := newLevels(levels).find(of.value); !known {
			return noLevel(of, levels)
		}
		return nil
	}
	v, ok := ParseNumber(of.value)
	if !ok {
		return fmt.Errorf("%q: %s is a number, so compare it with one", of.value, of.column)
	}
	if v < bounds.Min || v > bounds.Max {
		return fmt.Errorf("%v is beyond the bounds of %s, %v to %v", v, of.column, bounds.Min,
			bounds.Max)
	}
	return nil
}

func (s Schema) featureOf(column string) (Feature, bool) {
	for _, f := range s.Features {
		if names, _ := f.names(maxColumns); slices.Contains(names, column) {
			return f, true
		}
	}
	return Feature{}, false
}

func (s Schema) meant(t *Table, columns []string) *Table {
	var out []column
	for _, name := range columns {
		c := *t.column(name)
		c.values = s.meanings(name, c.values)
		out = append(out, c)
	}
	return newTable(t.rows, out)
}

// meanings returns the schema's meanings of a column's cells, "" for missing cells.
func (s Schema) meanings(column string, cells []string) []string {
	out := make([]string, len(cells))
	if column == s.Label.Column {
		for i, k := range s.classesOf(cells) {
			if k >= 0 {
				out[i] = s.Label.Classes[k]
			}
		}
		return out
	}
	f, _ := s.featureOf(column)
	known := newLevels(f.Levels)
	for i, text := range cells {
		k, isLevel := known.find(text)
		switch {
		case isLevel:
			out[i] = f.Levels[k]
		case s.isMissing(text):
		case f.Kind == Categorical:
			out[i] = otherLevel
		default:
			out[i] = text
		}
	}
	return out
}

func noLevel(of comparison, levels []string) error {
	meant := ""
	if near := yamlfile.Nearest(of.value, levels, len(yamlfile.Simplify(of.value))/4); near != "" {
		meant = fmt.Sprintf("do you mean %q? ", near)
	}
	return fmt.Errorf("%q is no level of %s: %sit has %s", of.value, of.column, meant,
		listNames(levels))
}
