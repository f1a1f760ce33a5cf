package dataset

import (
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func clinicSchema(t *testing.T) Schema {
	t.Helper()
	s, err := ParseSchema(strings.NewReader(`
label: {column: outcome, classes: ["no", "yes"], aliases: {"1": "yes"}}
features:
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: chol, kind: numeric, min: 0, max: 500, missing: true}
  - {column: ward, kind: categorical, levels: [east, "3.0"]}
missing: "?"
patient: patient
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func condition(t *testing.T, text string) Condition {
	t.Helper()
	c, err := ParseCondition(text)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEncodeWhere: an excluded record becomes an empty record of the same patient, in its place.
// Cells are compared by their meaning in the schema.
func TestEncodeWhere(t *testing.T) {
	s := clinicSchema(t)
	table, err := NewTable([]string{"age", "chol", "ward", "outcome", "patient"}, [][]string{
		{"70", "200", "east", "no", "a"},
		{"64", "300", "3", "1", "b"},
		{"?", "", "north", "yes", "c"},
		{"150", "x", " east", "?", "d"},
	})
	if err != nil {
		t.Fatal(err)
	}
	all, _, err := s.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	empty := s.Empty()
	for text, want := range map[string]string{
		"age >= 65":                    "1001",
		"age < 65":                     "0100",
		"not (age >= 65)":              "0110",
		"chol > 100":                   "1100",
		"ward == 3":                    "0100",
		"ward == other":                "0010", // " east" is a level for the encoding too
		"ward != east":                 "0110",
		"outcome == yes":               "0110",
		"outcome != yes":               "1001",
		"age >= 65 and outcome == no":  "1000",
		"age <= 100 or outcome == yes": "1110",
	} {
		c := condition(t, text)
		if err := s.CheckWhere(c); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		r, _, err := s.EncodeWhere(table, c)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for i := range r.Len() {
			got += map[bool]string{true: "0", false: "1"}[r.IsExcluded(i)]
			wantX, wantY := all.X.RawRowView(i), all.Y[i]
			if r.IsExcluded(i) {
				wantX, wantY = empty.X.RawRowView(0), -1
			}
			if !slices.Equal(r.X.RawRowView(i), wantX) || r.Y[i] != wantY {
				t.Errorf("%s: record %d is %v, class %d", text, i, r.X.RawRowView(i), r.Y[i])
			}
		}
		if got != want || !slices.Equal(r.Patient, all.Patient) {
			t.Errorf("%s: inside are %s, want %s; patients %v", text, got, want, r.Patient)
		}
	}
	none, _, err := s.EncodeWhere(table.Select(nil), condition(t, "age > 3"))
	if err != nil || none.FailsCondition == nil || none.Len() != 0 {
		t.Errorf("no rows: %+v, %v", none, err)
	}
}

// TestEncodeWhereRecordByRecord: each record's result is independent of the other records.
func TestEncodeWhereRecordByRecord(t *testing.T) {
	s := clinicSchema(t)
	var rows [][]string
	for _, age := range []string{"", "3", "70", "1e9"} {
		for _, ward := range []string{"east", "3", "w"} {
			for _, outcome := range []string{"no", "1", "?"} {
				rows = append(rows, []string{age, age, ward, outcome, "p"})
			}
		}
	}
	table, err := NewTable([]string{"age", "chol", "ward", "outcome", "patient"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	c := condition(t, "age < 65 and not ward == east or outcome == yes")
	whole, _, err := s.EncodeWhere(table, c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		one, _, err := s.EncodeWhere(table.Select([]int{i}), c)
		if err != nil {
			t.Fatal(err)
		}
		if one.FailsCondition[0] != whole.FailsCondition[i] || one.Y[0] != whole.Y[i] ||
			!mat.Equal(one.X, whole.X.Slice(i, i+1, 0, s.Dim())) {
			t.Errorf("record %v among others is another than alone", rows[i])
		}
	}
}

func TestCheckWhere(t *testing.T) {
	s := clinicSchema(t)
	for text, says := range map[string]string{
		"height > 3":           "is no feature and not the label",
		"patient == a":         "is no feature and not the label",
		"ward > east":          "is a text",
		"ward == west":         "is no level of ward",
		"outcome == perhaps":   "is no level of outcome",
		"age > old":            "compare it with one",
		"age > 101":            "beyond the bounds of age, 0 to 100",
		"age > 3 or chol < -1": "beyond the bounds of chol",
	} {
		if err := s.CheckWhere(condition(t, text)); err == nil ||
			!strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want it to say %q", text, err, says)
		}
	}
}
