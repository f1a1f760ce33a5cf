package mapping

import (
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

// TestSuggest: a German export is mapped by names, types and levels; what is not
// certain is said, and what was not found too.
func TestSuggest(t *testing.T) {
	s := ward(t)
	got := Suggest(tableOf(t, `Fall-Nr;Patient-ID;Geburtsdatum;Krea (µmol/l);Geschlecht;Ausgang
1;7;12.03.1950;88,4;weiblich;ja
2;8;01.11.1940;101,2;männlich;nein
3;8;01.11.1940;-9;divers;nein
4;9;02.01.1980;NULL;weiblich;ja
`), s, Mapping{})
	want := map[string]string{"age": "Geburtsdatum", "creatinine": "Krea (µmol/l)", "sex": "Geschlecht", "died": "Ausgang"}
	for name, column := range want {
		if got.Placed[name] != column {
			t.Errorf("%s is taken to be %q, want %q", name, got.Placed[name], column)
		}
	}
	if !slices.Equal(got.Unplaced, []string{"id"}) || !slices.Equal(got.Idle, []string{"Fall-Nr", "Patient-ID"}) {
		t.Errorf("unplaced %q, idle %q", got.Unplaced, got.Idle)
	}
	m := got.Mapping
	if m.Decimal != "," || !slices.Equal(m.Missing, Texts{"-9", "NULL"}) {
		t.Errorf("decimal %q, missing %q", m.Decimal, m.Missing)
	}
	if !reflect.DeepEqual(m.Columns["sex"].Levels, map[string]string{"weiblich": "F", "männlich": "M"}) || !reflect.DeepEqual(m.Columns["died"].Levels, map[string]string{"ja": "yes", "nein": "no"}) {
		t.Errorf("%+v", m.Columns)
	}
	if r := m.Columns["age"]; r.Dates != "DD.MM.YYYY" || r.YearsUntil == "" {
		t.Errorf("age: %+v", r)
	}
	notes := strings.Join(got.Notes, "\n")
	for _, want := range []string{`write under years_until the day`, `"divers" (1 cells) is no level`, `outside of 0 to 10: is it in another unit?`, `because its texts are the levels`, `decimal comma`, `"-9" in creatinine is taken for a missing value`} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is not said:\n%s", want, notes)
		}
	}
	// It is a mapping that can be read, once the day is written.
	text, err := m.YAML()
	if err != nil {
		t.Fatal(err)
	}
	parse(t, strings.ReplaceAll(string(text), "YYYY-MM-DD", "2024-12-31"))

	same := Suggest(tableOf(t, "AGE;creatinin;sex;died;id\n70;1.2;F;no;7\n30;1.1;M;yes;8\n"), s, Mapping{})
	if len(same.Unplaced) > 0 || same.Mapping.Columns["age"].From != "AGE" || same.Mapping.Columns["creatinine"].From != "creatinin" || len(same.Mapping.Columns) != 2 {
		t.Errorf("%+v", same)
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

// TestAdvice: the person is told what to write.
func TestAdvice(t *testing.T) {
	s := ward(t)
	var text strings.Builder
	text.WriteString("age;creatinine;sex;died;id\n")
	for i := range 1500 {
		switch {
		case i < 1200:
			text.WriteString("12.03.1950;1,5;weiblich;ja;7\n")
		case i < 1499:
			text.WriteString("01.02.1960;1,7;NA;no;7\n")
		default:
			text.WriteString("01.02.1960;1,7;rare;no;7\n")
		}
	}
	advice := strings.Join(Advice(tableOf(t, text.String()), s), "\n")
	for _, want := range []string{
		`1,200 cells "weiblich" are not a level of sex: add levels: {weiblich: F}`,
		`1,200 cells "ja" are not a class of died: add levels: {ja: yes}`,
		`299 cells "NA" of sex look like missing values: add missing: ["NA"]`,
		`1,500 cells of creatinine have a decimal comma: write decimal: ","`,
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
