package dataset

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Differences lists the differences that prevent encoding own's records under s: columns that own
// lacks or defines differently. An empty list means none. s may leave out features of own, and the
// party column and the patient's date; label, patient column, missing text and date must be equal.
// File formats are ignored. The answer depends on the two schemas alone, never on a file.
func (s Schema) Differences(own Schema) []string {
	var out []string
	differ := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if label, here := s.Label.plain(), own.Label.plain(); !reflect.DeepEqual(label, here) {
		differ("label %q: %s", s.Label.Column, difference(label, here))
	}
	if s.Missing != own.Missing {
		differ("missing values are written %q, here %q", s.Missing, own.Missing)
	}
	if s.Date != own.Date {
		differ("its features count at the day %q, here %q", s.Date, own.Date)
	}
	if s.Patient != own.Patient {
		differ("the patient column is %q, here %q", s.Patient, own.Patient)
	}
	if s.PatientDate != "" && s.PatientDate != own.PatientDate {
		differ("the day of a patient's record is %q, here %q", s.PatientDate, own.PatientDate)
	}
	if s.Party != "" && s.Party != own.Party {
		differ("the party column is %q, here %q", s.Party, own.Party)
	}
	known := own.byColumn()
	for i := range s.Features {
		names, _ := s.Features[i].names(maxColumns) // no error: Validate has checked the names
		for _, name := range names {
			f, ok := known[name]
			switch {
			case !ok:
				differ("column %q is none of this source's features", name)
			case !f.alike(s.Features[i]):
				differ("column %q: %s", name, difference(s.Features[i], f))
			}
		}
	}
	return out
}

// difference names the keys of two parts of a schema that differ, with both values: those of a
// study and of this source. Where a feature's columns stand is no difference.
func difference(study, here any) string {
	var out []string
	a, b := reflect.ValueOf(study), reflect.ValueOf(here)
	for i := range a.NumField() {
		key, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("yaml"), ",")
		v, w := fmt.Sprint(a.Field(i)), fmt.Sprint(b.Field(i))
		isPlace := a.Type() == reflect.TypeFor[Feature]() && strings.HasPrefix(key, "column")
		if !isPlace && v != w {
			out = append(out, fmt.Sprintf("%s is %.200s in the study, here %.200s", key, v, w))
		}
	}
	return strings.Join(out, "; ")
}

func (l Label) plain() Label {
	if len(l.Aliases) == 0 {
		l.Aliases = nil
	}
	return l
}

func (s Schema) byColumn() map[string]Feature {
	all := map[string]Feature{}
	for _, f := range s.Features {
		names, _ := f.names(maxColumns)
		for _, name := range names {
			all[name] = f
		}
	}
	return all
}

func (f Feature) alike(g Feature) bool {
	return f.Kind == g.Kind && f.Min == g.Min && f.Max == g.Max && f.Log == g.Log &&
		f.FlagMissing == g.FlagMissing && slices.Equal(f.Levels, g.Levels)
}
