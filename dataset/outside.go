package dataset

import (
	"caucus/internal/yamlfile"
	"fmt"
	"slices"
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
			return fmt.Errorf("column %q is no feature and not the label: the schema has %s", of.column, showColumns(append(s.FeatureColumns(), s.Label.Column)))
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
		return fmt.Errorf("%v is beyond the bounds of %s, %v to %v", v, of.column, bounds.Min, bounds.Max)
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

// EncodeWhere is [Schema.EncodeLabelled] for a study of the records that meet a condition; the condition has
// passed CheckWhere. Every other record is replaced by the empty record (Empty) with the same patient and
// party, and marked in Outside. So there are as many records as rows. The remarks count all rows.
//
// A cell is compared by its meaning in the schema: a text as its level or "other", a label as its class under
// any of its names, a number as itself, not clamped. For a missing cell, or a cell without a number in a
// numeric column, only != holds. So of "x < 3" and "not x < 3" only the second holds.
//
// Proof note.
//   - Neighbours: replace one record, the records of a patient, or all records of a party; or replace one
//     label, if the condition does not read the label (study.Plan ensures this).
//   - Lemma: a record's result, Outside included, is a function of its own cells and of the public condition.
//     So neighbouring files become neighbouring files at the same unit, with as many records. At unit label, a
//     record's features and Outside do not depend on its label, and a label outside is gone. Patient and party
//     stay, so the grouping of records does too. Every later step, including names and keyed cuts
//     (keyed.Records), sees these records alone, so each proof about neighbours holds.
//   - Numeric model: texts and comparisons; nothing is added up.
func (s Schema) EncodeWhere(t *Table, c Condition) (*Records, []Remark, error) {
	r, remarks, err := s.EncodeLabelled(t)
	if err != nil {
		return nil, nil, err
	}
	inside, err := c.Rows(s.meant(t, c.Columns()))
	if err != nil {
		return nil, nil, err
	}
	s.keepWhere(r, inside)
	return r, remarks, nil
}

func (s Schema) keepWhere(r *Records, inside []bool) {
	empty := s.Empty()
	r.Outside = make([]bool, len(inside))
	for i, in := range inside {
		if !in {
			r.Outside[i], r.Y[i] = true, empty.Y[0]
			copy(r.X.RawRowView(i), empty.X.RawRowView(0))
		}
	}
}

// Empty returns one record with all cells missing and no label.
func (s Schema) Empty() *Records {
	columns := s.FeatureColumns()
	t, err := NewTable(columns, [][]string{make([]string, len(columns))})
	if err != nil { // no error: a checked schema names a column once
		panic(err)
	}
	r, _, err := s.Encode(t)
	if err != nil {
		panic(err)
	}
	return r
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
	if near := yamlfile.Nearest(of.value, levels, len(yamlfile.Bare(of.value))/4); near != "" {
		meant = fmt.Sprintf("do you mean %q? ", near)
	}
	return fmt.Errorf("%q is no level of %s: %sit has %s", of.value, of.column, meant, listNames(levels))
}
