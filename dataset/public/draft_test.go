package public

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"caucus/dataset"
)

func TestDraftSchema(t *testing.T) {
	rows := make([][]string, 200)
	for i := range rows {
		income := "100"
		if i == 0 {
			income = "98765"
		}
		ward := []string{"north", "south", "10", "9", "?"}[i%5]
		rows[i] = []string{fmt.Sprint(17 + i%80), income, ward, fmt.Sprintf("name %d", i), "same",
			"7", fmt.Sprint(i % 2), "-0.731", "?", []string{"2", "10", "?"}[i%3]}
	}
	rows[3][7], rows[4][7] = "0.42", "?"
	table, err := dataset.NewTable([]string{"age", "income",
		"ward", "name", "constant", "number", "flag",
		"signed", "never", "grade"}, rows)
	if err != nil {
		t.Fatal(err)
	}
	s, left, err := DraftSchema(table, "grade")
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"2", "10"}; !slices.Equal(s.Label.Classes, want) || s.Missing != "?" {
		t.Errorf("classes %v, want %v; missing %q", s.Label.Classes, want, s.Missing)
	}
	want := []dataset.Feature{
		{Column: "age", Kind: dataset.Numeric, Min: 15, Max: 100},
		{Column: "income", Kind: dataset.Numeric, Min: 0, Max: 100000, Log: true},
		{Column: "ward", Kind: dataset.Categorical, Levels: []string{"9", "10", "north", "south"}},
		{Column: "flag", Kind: dataset.Numeric, Min: 0, Max: 1},
		{Column: "signed", Kind: dataset.Numeric, Min: -1, Max: 0.5, FlagMissing: true},
	}
	if fmt.Sprint(s.Features) != fmt.Sprint(want) {
		t.Errorf("features\n%+v\nwant\n%+v", s.Features, want)
	}
	for _, want := range []string{"name: it has 200 different texts",
		"constant: it has the same value", "number: it has the same value", "never: it is empty"} {
		if !slices.ContainsFunc(left, func(l OmittedColumn) bool {
			return strings.HasPrefix(l.Column+": "+l.Reason, want)
		}) {
			t.Errorf("%q is not said of what was left out: %v", want, left)
		}
	}
	// A draft encodes its own table without clamping anything.
	_, remarks, err := s.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range remarks {
		if r.Problem != dataset.ProblemMissing && r.Problem != dataset.ProblemUnknownLabel {
			t.Error(r)
		}
	}
	text, err := s.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dataset.ParseSchema(strings.NewReader(string(text))); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

func TestDraftLeavesOut(t *testing.T) {
	columns := []string{"encounter_id", "patient_nbr", "caseID", "valid", "ptid", "born", "came",
		"crea", "mixed", "column9", "age", "y"}
	var rows [][]string
	for i := range 400 {
		mixed := fmt.Sprintf("%d.%d", i, i%7)
		if i%5 == 0 {
			mixed = "n.d."
		}
		rows = append(rows, []string{fmt.Sprint(7000 + 3*i), fmt.Sprint(100 + i/3),
			fmt.Sprintf("c%d", i), fmt.Sprint(i % 90), fmt.Sprint(4000 + 7*i),
			fmt.Sprintf("%02d.%02d.19%02d", 1+i%28, 1+i%12, 30+i%47),
			fmt.Sprintf("2024-01-%02d", 1+i%4), fmt.Sprintf("%d,%d", i/10,
				i%10), mixed, fmt.Sprint(i + 1), fmt.Sprint(20 + i%70), fmt.Sprint(i % 2)})
	}
	table, err := dataset.NewTable(columns, rows)
	if err != nil {
		t.Fatal(err)
	}
	s, left, err := DraftSchema(table, "y")
	if err != nil {
		t.Fatal(err)
	}
	if s.Patient != "patient_nbr" || strings.Join(s.FeatureColumns(), " ") != "valid age" {
		t.Errorf("patient %q, features %v", s.Patient, s.FeatureColumns())
	}
	said := fmt.Sprint(left)
	for _, want := range []string{
		"encounter_id it looks like an identifier", "patient_nbr it looks like a patient's number: proposed as patient", "caseID it looks like an identifier", "column9 it looks like an identifier",
		"born its values are dates like DD.MM.YYYY", "came its values are dates like YYYY-MM-DD", "crea its numbers have a comma", "ptid nearly each row has a whole number of its own there", `mixed 320 of its 400 values are numbers, and others are not, such as "n.d."`,
	} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said: %s", want, said)
		}
	}
}

// Texts of rows that were selected away do not appear in a draft.
func TestDraftSchemaOfSelection(t *testing.T) {
	table := tableOf(t, "x c y", "1 a u", "2 b v", "900 secret w")
	s, _, err := DraftSchema(table.Select([]int{0, 1}), "y")
	if err != nil {
		t.Fatal(err)
	}
	if s.Features[0].Max != 2 || slices.Contains(s.Features[1].Levels, "secret") ||
		len(s.Classes()) != 2 {
		t.Errorf("draft %+v", s)
	}
}

func TestDraftSchemaErrors(t *testing.T) {
	for want, c := range map[string]struct {
		table *dataset.Table
		label string
	}{
		`no column "z" for the label; the file has x, y`: {tableOf(t, "x y", "1 2"), "z"},
		"the table has no rows":                          {tableOf(t, "x y"), "y"},
		"has 1 distinct values":                          {tableOf(t, "x y", "1 2"), "y"},
		"x: it has the same value everywhere":            {tableOf(t, "x y", "1 2", "1 3"), "y"},
	} {
		if _, _, err := DraftSchema(c.table, c.label); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestDraftIdentifiers: a draft leaves out and names a column of texts that differ in nearly every
// row, also in a short file, and a column that is named like a record's number.
func TestDraftIdentifiers(t *testing.T) {
	text := "ptid,phone,iban,mrn,ward,age,died\n"
	for i := range 40 {
		text += fmt.Sprintf("P%d,+49 30 %d,DE%d,%d,%c,%d,%s\n", 70-i, 5551000+317*i, 100+i,
			90210+i*7,
			"AB"[i%2], 20+i, []string{"no", "yes"}[i%2])
	}
	table, err := dataset.ReadCSV(strings.NewReader(text), dataset.Format{})
	if err != nil {
		t.Fatal(err)
	}
	s, left, err := DraftSchema(table, "died")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, l := range left {
		names = append(names, l.Column)
	}
	if want := []string{"ptid", "phone", "iban", "mrn"}; !slices.Equal(names, want) ||
		s.Patient != "mrn" || !slices.Equal(s.FeatureColumns(), []string{"ward", "age"}) {
		t.Errorf("left out %q, features %q", names, s.FeatureColumns())
	}
}

func tableOf(t testing.TB, lines ...string) *dataset.Table {
	t.Helper()
	rows := make([][]string, len(lines))
	for i, line := range lines {
		rows[i] = strings.Fields(line)
	}
	table, err := dataset.NewTable(rows[0], rows[1:])
	if err != nil {
		t.Fatal(err)
	}
	return table
}
