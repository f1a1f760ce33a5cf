package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
)

func (s Schema) Dim() int {
	d := 0
	for _, f := range s.Features {
		names, _ := f.names(maxColumns) // no error: Validate has checked the names
		d += len(names) * f.width()
	}
	return d
}

// FeatureNames returns the names of encoded columns: "age", "sex=Female", "chol?" for the missing flag of chol.
func (s Schema) FeatureNames() []string {
	var all []string
	for _, f := range s.Features {
		names, _ := f.names(maxColumns)
		for _, name := range names {
			if f.Kind == Numeric {
				all = append(all, name)
				if f.Missing {
					all = append(all, name+"?")
				}
				continue
			}
			for _, level := range f.Levels {
				all = append(all, name+"="+level)
			}
			if !slices.Contains(f.Levels, otherLevel) {
				all = append(all, name+"="+otherLevel)
			}
		}
	}
	return all
}

// squaredNorm bounds ‖x‖² of an encoded row: 1 for a number, 1 for a text (exactly one level is set), ¼+1
// for a number with a missing flag.
func (s Schema) squaredNorm() float64 {
	sum := 0.0
	for _, f := range s.Features {
		names, _ := f.names(maxColumns)
		if f.Missing {
			sum += 1.25 * float64(len(names))
		} else {
			sum += float64(len(names))
		}
	}
	return sum
}

// Encode turns a table into records with X in [0,1]^Dim.
//
// A number is clamped to its bounds, transformed by log1p if the schema says so, and scaled to [0,1]. A cell
// without a finite number becomes 0.5. A text sets the column of its level, or of "other". "3.0" and "3" are
// the same level and class. No cell is an error: the remarks count the changes, for the data's owner only.
//
// A missing feature column is an error that lists the table's columns. Label, party and patient columns may be
// absent: then Y is -1, Party and Patient nil. For training see [Schema.EncodeLabelled].
func (s Schema) Encode(t *Table) (*Records, []Remark, error) {
	if err := s.checkColumns(t, s.FeatureColumns()); err != nil {
		return nil, nil, fmt.Errorf("encode table: %w", err)
	}
	var remarks []Remark
	r := &Records{X: &mat.Dense{}, Y: make([]int, t.rows)}
	if label := t.column(s.Label.Column); label != nil {
		unknown := s.encodeLabel(label, r.Y)
		remarks = appendRemark(remarks, s.Label.Column, UnknownLabel, unknown)
	} else {
		for i := range r.Y {
			r.Y[i] = -1
		}
	}
	r.Party, r.Patient = t.texts(s.Party), t.texts(s.Patient)
	if t.rows > 0 {
		r.X = mat.NewDense(t.rows, s.Dim(), nil)
	}
	return r, append(remarks, s.encodeFeatures(t, r.X)...), nil
}

// EncodeLabelled is [Schema.Encode] for training records. A missing label column is an error, and so is a
// missing patient column, because a patient's records could not be kept together.
func (s Schema) EncodeLabelled(t *Table) (*Records, []Remark, error) {
	needed := []string{s.Label.Column}
	if s.Patient != "" {
		needed = append(needed, s.Patient)
	}
	if err := s.checkColumns(t, append(s.FeatureColumns(), needed...)); err != nil {
		return nil, nil, fmt.Errorf("encode table: %w", err)
	}
	return s.Encode(t)
}

func (s Schema) FeatureColumns() []string {
	var all []string
	for _, f := range s.Features {
		names, _ := f.names(maxColumns)
		all = append(all, names...)
	}
	return all
}

// AllColumns returns the columns that the schema names, each once: features, label, patient, party.
func (s Schema) AllColumns() []string {
	all := s.FeatureColumns()
	for _, name := range []string{s.Label.Column, s.Patient, s.Party} {
		if name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all
}

func (s Schema) checkColumns(t *Table, needed []string) error {
	missing := slices.DeleteFunc(slices.Clone(needed), t.Has)
	if len(missing) == 0 {
		return nil
	}
	have := t.Columns()
	if len(have) == 0 {
		return fmt.Errorf("no column %s", quoteNames(missing))
	}
	hint := "; rename the columns, map them (caucus agent map drafts a mapping), or correct the schema"
	if s.Patient != "" && slices.Contains(missing, s.Patient) {
		hint += fmt.Sprintf("; if there is no patient number (%s), write patient: none in a mapping", s.Patient)
	}
	if d, ok := likelyDelimiter(have[0]); len(have) == 1 && len(needed) > 1 && ok {
		return fmt.Errorf("no column %s; the file has a single one and its delimiter looks like %q, set delimiter", quoteNames(missing), d)
	} else if slices.ContainsFunc(have, isNumber) {
		hint = "; if the file has no header, list its names under columns"
	}
	return fmt.Errorf("no column %s; the file has %s%s", quoteNames(missing), showColumns(have), hint)
}

func quoteNames(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	return listNames(quoted)
}

func (t *Table) texts(name string) []string {
	c := t.column(name)
	if c == nil {
		return nil
	}
	all := make([]string, t.rows)
	for i := range all {
		all[i] = c.values[c.codes.at(i)]
	}
	return all
}

func (s Schema) encodeLabel(c *column, y []int) (unknown int) {
	classOf := s.classesOf(c.values)
	for i := range y {
		y[i] = classOf[c.codes.at(i)]
		if y[i] < 0 {
			unknown++
		}
	}
	return unknown
}

func (s Schema) classesOf(texts []string) []int {
	known, out := s.knownClasses(), make([]int, len(texts))
	for i, text := range texts {
		out[i] = s.classOf(known, text)
	}
	return out
}

// knownClasses returns the classes by text. Classes precede aliases: alias "1" must not replace class "1.0".
func (s Schema) knownClasses() levels {
	known := newLevels(s.Label.Classes)
	for _, raw := range slices.Sorted(maps.Keys(s.Label.Aliases)) {
		known.add(raw, slices.Index(s.Label.Classes, s.Label.Aliases[raw]))
	}
	return known
}

func (s Schema) classOf(known levels, text string) int {
	if k, ok := known.find(text); ok {
		return k
	}
	if s.Label.Other == "" || s.isMissing(text) {
		return -1
	}
	return slices.Index(s.Label.Classes, s.Label.Other)
}
