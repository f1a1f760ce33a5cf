package dataset

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// Dim is the number of encoded columns: a number takes one, or two with a flag for missing values,
// a text one for each level and mostly one for other texts.
func (s Schema) Dim() int {
	d := 0
	for _, f := range s.Features {
		names, _ := f.names(maxColumns) // no error: Validate has checked the names
		d += len(names) * f.width()
	}
	return d
}

// FeatureNames returns the names of encoded columns: "age", "sex=Female", "chol?" for the missing
// flag of chol.
func (s Schema) FeatureNames() []string {
	var all []string
	for _, f := range s.Features {
		names, _ := f.names(maxColumns)
		for _, name := range names {
			if f.Kind == Numeric {
				all = append(all, name)
				if f.FlagMissing {
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

// squaredNorm bounds ‖x‖² of an encoded row: 1 for a number, 1 for a text (exactly one level is
// set), ¼+1 for a number with a missing flag.
func (s Schema) squaredNorm() float64 {
	sum := 0.0
	for _, f := range s.Features {
		names, _ := f.names(maxColumns)
		if f.FlagMissing {
			sum += 1.25 * float64(len(names))
		} else {
			sum += float64(len(names))
		}
	}
	return sum
}

// FeatureColumns lists the file's columns that are features, in the order of encoding,
// abbreviations written out.
func (s Schema) FeatureColumns() []string {
	var all []string
	for _, f := range s.Features {
		names, _ := f.names(maxColumns)
		all = append(all, names...)
	}
	return all
}

// AllColumns returns the columns that the schema names, each once: features, label, patient, party,
// patient's date.
func (s Schema) AllColumns() []string {
	all := s.FeatureColumns()
	for _, name := range []string{s.Label.Column, s.Patient, s.Party, s.PatientDate} {
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
	if shared := SharedNamesNote(missing, have); shared != "" {
		hint = shared
	}
	return fmt.Errorf("no column %s; the file has %s%s", quoteNames(missing), NamesOrCount(have),
		hint)
}

func quoteNames(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = strconv.Quote(n)
	}
	return listNames(quoted)
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

// knownClasses returns the classes by text. Classes precede aliases: alias "1" must not replace
// class "1.0".
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
	if s.Label.OtherClass == "" || s.isMissing(text) {
		return -1
	}
	return slices.Index(s.Label.Classes, s.Label.OtherClass)
}
