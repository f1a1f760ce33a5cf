package mapping

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"caucus/dataset"
)

func tableOf(t *testing.T, text string) *dataset.Table {
	t.Helper()
	table, err := dataset.ReadCSV(strings.NewReader(text), dataset.Format{Delimiter: ';'})
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestSuggest: a German export is mapped by names, types and levels. Notes list uncertain and
// missing matches.
func TestSuggest(t *testing.T) {
	s := ward(t)
	got := Suggest(tableOf(t, `Fall-Nr;Patient-ID;Geburtsdatum;Krea (µmol/l);Geschlecht;Ausgang
1;7;12.03.1950;88,4;weiblich;ja
2;8;01.11.1940;101,2;männlich;nein
3;8;01.11.1940;-9;divers;nein
4;9;02.01.1980;NULL;weiblich;ja
`), s, Mapping{})
	want := map[string]string{"age": "Geburtsdatum", "creatinine": "Krea (µmol/l)",
		"sex": "Geschlecht", "died": "Ausgang", "id": "Patient-ID"}
	for name, column := range want {
		if got.Assigned[name] != column {
			t.Errorf("%s is taken to be %q, want %q", name, got.Assigned[name], column)
		}
	}
	if len(got.Unassigned) > 0 || !slices.Equal(got.UnusedColumns, []string{"Fall-Nr"}) {
		t.Errorf("unplaced %q, idle %q", got.Unassigned, got.UnusedColumns)
	}
	m := got.Mapping
	if m.Decimal != "," || !slices.Equal(m.Missing, Texts{"-9", "NULL"}) {
		t.Errorf("decimal %q, missing %q", m.Decimal, m.Missing)
	}
	if !reflect.DeepEqual(m.Columns["sex"].Levels,
		map[string]string{"weiblich": "F", "männlich": "M"}) ||
		!reflect.DeepEqual(m.Columns["died"].Levels, map[string]string{"ja": "yes", "nein": "no"}) {
		t.Errorf("%+v", m.Columns)
	}
	if r := m.Columns["age"]; r.Dates != "DD.MM.YYYY" || r.YearsUntil == "" {
		t.Errorf("age: %+v", r)
	}
	notes := strings.Join(got.Notes, "\n")
	if m.Patient != "" || m.Columns["id"].FromColumn != "Patient-ID" {
		t.Errorf("patient %q, %+v", m.Patient, m.Columns["id"])
	}
	for _, want := range []string{`write under years_until the day`, `"divers" (1 cells) is no level`, `outside of 0 to 10: is it in another unit?`, `because its texts are the levels`, `decimal comma`, `"-9" in creatinine is taken for a missing value`, `id is taken to be the file's "Patient-ID"`} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not said:\n%s", want, notes)
		}
	}
	// The mapping can be read back, once the day is filled in.
	text, err := m.YAML()
	if err != nil {
		t.Fatal(err)
	}
	parse(t, strings.ReplaceAll(string(text), "YYYY-MM-DD", "2024-12-31"))

	same := Suggest(tableOf(t, "AGE;creatinin;sex;died;id\n70;1.2;F;no;7\n30;1.1;M;yes;8\n"), s, Mapping{})
	if len(same.Unassigned) > 0 || same.Mapping.Columns["age"].FromColumn != "AGE" ||
		same.Mapping.Columns["creatinine"].FromColumn != "creatinin" ||
		len(same.Mapping.Columns) != 2 {
		t.Errorf("%+v", same)
	}
}

// TestSuggestNoPatient: without a patient's number the draft says patient: none and explains it. If
// one or two columns may be the number, it asks.
func TestSuggestNoPatient(t *testing.T) {
	s := ward(t)
	for header, c := range map[string]struct {
		patient, from, note string
		unplaced            []string
	}{
		"age;creatinine;sex;died":                        {NoPatient, "", "id: nothing in the file was found for it, so the draft says patient: none: each record counts for one patient", nil},
		"age;creatinine;sex;died;Fallnummer":             {NoPatient, "", "name it under columns instead: Fallnummer", nil},
		"age;creatinine;sex;died;ID":                     {"", "ID", "", nil},
		"age;creatinine;sex;died;Pat.-Nr.":               {"", "Pat.-Nr.", `named like a patient's number`, nil},
		"age;creatinine;sex;died;Pat-ID;MRN":             {"", "", "is one of the columns left over a patient's number (Pat-ID, MRN)?", []string{"id"}},
		"age;creatinine;sex;died;Patientenkennung (HIS)": {"", "", "if none is, write patient: none", []string{"id"}},
	} {
		line := "70;1.2;F;no;7;8"
		got := Suggest(tableOf(t,
			header+"\n"+line[:len("70;1.2;F;no")+2*(strings.Count(header, ";")-3)]+"\n"), s,
			Mapping{})
		if m := got.Mapping; m.Patient != c.patient || m.Columns["id"].FromColumn != c.from ||
			!slices.Equal(got.Unassigned, c.unplaced) {
			t.Errorf("%s: patient %q, %+v, unplaced %q", header, m.Patient, m.Columns,
				got.Unassigned)
		}
		if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, c.note) ||
			c.note == "" && notes != "" {
			t.Errorf("%s: notes %q, want %q", header, notes, c.note)
		}
	}
	alone := s
	alone.Patient = ""
	if got := Suggest(tableOf(t, "age;creatinine;sex;died\n70;1.2;F;no\n"), alone,
		Mapping{}); got.Mapping.Patient != "" || len(got.Notes) > 0 {
		t.Errorf("without a patient column in the schema: %+v", got)
	}
}

// TestSuggestElsewhere: a decimal comma is also found in a column that is not placed, because a
// person may place it; 1,234 is not one. A code for missing values in one column is not a level of
// another, in any order.
func TestSuggestElsewhere(t *testing.T) {
	s := ward(t)
	for cell, want := range map[string]string{"1,5": ",", "1,234": "", "a,5": ""} {
		if got := Suggest(tableOf(t,
			"age;Laborwert;sex;died;id\n70;1;F;no;7\n60;"+cell+";M;yes;8\n"), s,
			Mapping{}); got.Mapping.Decimal != want {
			t.Errorf("%s: decimal %q, want %q; notes %q", cell, got.Mapping.Decimal, want,
				got.Notes)
		}
	}
	s.Features[0], s.Features[2] = s.Features[2], s.Features[0]
	got := Suggest(tableOf(t, "age;creatinine;sex;died;id\n70;1;F;no;7\n60;1;M;yes;8\n-9;1;-9;no;9\n"), s, Mapping{})
	if notes := strings.Join(got.Notes, "\n"); strings.Contains(notes, "no level") || !strings.Contains(notes, `"-9" in age is taken for a missing value`) {
		t.Errorf("notes %q", notes)
	}
}

func TestLevelFor(t *testing.T) {
	for _, c := range []struct{ text, levels, want string }{
		{"weiblich", "F M", "F"}, {"W", "F M", "F"}, {"männlich", "female male", "male"}, {"Female", "female male", "female"},
		{"f", "no yes", "no"}, {"Ja", "no yes", "yes"}, {"1", "no yes", "yes"}, {"1", "0 1", "1"}, {"divers", "F M", ""}, {"ex", "no former yes", "former"}, {"w", "w frau", "w"}, {"femme", "w frau", ""},
	} {
		if got := levelFor(c.text, strings.Fields(c.levels)); got != c.want {
			t.Errorf("%q among %s is %q, want %q", c.text, c.levels, got, c.want)
		}
	}
}

// TestAdvice: the advice says what to write.
func TestAdvice(t *testing.T) {
	s := ward(t)
	var text strings.Builder
	text.WriteString("age;creatinine;sex;died;id\n")
	for i := range 1651 {
		switch {
		case i < 1200:
			text.WriteString("12.03.1950;1,5;weiblich;ja;7\n")
		case i < 1499:
			text.WriteString("01.02.1960;1,7;NA;no;7\n")
		case i < 1650:
			text.WriteString("01.02.1960;1,7;.;unknown;7\n")
		default:
			text.WriteString("01.02.1960;1,7;rare;no;7\n")
		}
	}
	advice := strings.Join(Advice(tableOf(t, text.String()), s), "\n")
	for _, want := range []string{
		`1,200 cells "weiblich" are not a level of sex: add levels: {weiblich: F}`,
		`1,200 cells "ja" are not a class of died: add levels: {ja: yes}`,
		`299 cells "NA" of sex look like missing values: add missing: ["NA"]`,
		`151 cells "." of sex look like missing values: add missing: ["."]`,
		`{unknown: one of no, yes}, or missing: ["unknown"] if it stands for nothing`,
		`1,651 cells of creatinine have a decimal comma: write decimal: ","`,
		`the cells of age are dates like DD.MM.YYYY`,
	} {
		if !strings.Contains(advice, want) {
			t.Errorf("%q is not said:\n%s", want, advice)
		}
	}
	if strings.Contains(advice, "rare") {
		t.Errorf("a text of one record is shown:\n%s", advice)
	}
	if none := Advice(tableOf(t, "age;creatinine;sex;died;id\n70;1.2;F;no;7\n?;1.1;M;yes;8\n"), s); len(none) > 1 {
		t.Errorf("of a clean table it says %q", none)
	}
}

// TestMarksAmongOtherUnits: numbers like 99 or 999 are ordinary values if the column has values of
// a similar size, and marks of missing values if they lie far from all others.
func TestMarksAmongOtherUnits(t *testing.T) {
	for values, want := range map[string][]string{
		"88 104 96 99 999 -9 120":             {"-9", "999"},
		"5,1 9,9 9,0 7,2 11,3 -9":             {"-9"},
		"0.9 1.1 99 1.3 0.8 999 -1":           {"-1", "99", "999"},
		"19500312 19600101 99999999 19700228": {"99999999"},
	} {
		s := ward(t)
		for i := range s.Features {
			if s.Features[i].Column == "creatinine" {
				s.Features[i].Min, s.Features[i].Max = 0, 20
				if strings.Contains(values, ",") {
					s.Features[i].Min, s.Features[i].Max = 40, 600
				}
			}
		}
		text := "age;creatinine;sex;died;id\n"
		for i, v := range strings.Fields(values) {
			text += fmt.Sprintf("70;%s;F;no;%d\n", v, i)
		}
		m := Suggest(tableOf(t, text), s, Mapping{}).Mapping
		got := slices.Sorted(slices.Values(slices.Concat(m.Missing,
			m.Columns["creatinine"].Missing)))
		if !slices.Equal(got, want) {
			t.Errorf("%s: missing %q, want %q", values, got, want)
		}
	}
}
