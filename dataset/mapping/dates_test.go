package mapping

import (
	"fmt"
	"strings"
	"testing"

	"caucus/dataset"
	"caucus/dataset/dates"
)

// agesOf drafts a mapping for a column of births, and returns the ages on 31 December 2024 by the
// draft with the given format of dates, which the file is read with if the draft leaves it open.
func agesOf(t *testing.T, births []string, format string) (draft Suggestion, ages, remarks string) {
	t.Helper()
	text := "born;creatinine;sex;died;id\n"
	for i, b := range births {
		text += fmt.Sprintf("%s;1.1;%s;no;%d\n", b, []string{"F", "M"}[i%2], i)
	}
	s := ward(t)
	s.Date = "2024-12-31"
	draft = Suggest(tableOf(t, text), s, Mapping{})
	m := draft.Mapping
	m.Columns = map[string]Rule{"age": m.Columns["age"]}
	if r := m.Columns["age"]; m.Validate() != nil {
		if format == "" {
			return draft, "", ""
		}
		r.Dates = "DD/MM/YYYY"
		m.Columns["age"] = r
	}
	in, err := dataset.NewLines(strings.NewReader(text), dataset.Format{Delimiter: ';'})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Bind(in.Columns(), s)
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := dataset.CollectRows(b.Rows(in))
	if err != nil {
		t.Fatal(err)
	}
	for i := range mapped.Table.Rows() {
		age, _ := mapped.Table.Cell(i, "age")
		ages += age + " "
	}
	return draft, strings.TrimSpace(ages), fmt.Sprint(b.Remarks())
}

// many repeats births.
func many(n int, births ...string) (all []string) {
	for range n {
		all = append(all, births...)
	}
	return all
}

// TestMixedDates: ISO 8601 dates, which a workbook's own dates become, can stand beside another
// format in a column. Cells that are no dates are counted. If a column may have two orders of day
// and month, the person is asked. Ages at 31 December 2024 are right.
func TestMixedDates(t *testing.T) {
	for _, c := range []struct {
		births              []string
		format, ages, draft string
		note, remark        string
	}{
		{births: []string{"1950-03-17", "1960-01-02", "17/03/1951"}, ages: "74 64 73",
			draft: "DD/MM/YYYY", note: "2 cells of \"born\" are dates as YYYY-MM-DD",
			remark: "2 cells a date as YYYY-MM-DD beside"},
		{births: []string{"1950-03-17", "1960-01-02", "17.03.30", "2020-02-03"}, ages: "74 64 94 4",
			draft: "DD.MM.YY"},
		{births: []string{"01.Mär.1950", "30.Dez.1981"}, ages: "74 43", draft: "DD.MON.YYYY"},
		{births: []string{"22FEB1950:00:00:00", "03MAR1960:08:30:00.5"}, ages: "74 64",
			draft: "DDMONYYYY"},
		{births: []string{"1971", "29.05.1978", "07.1983", "30.05.1979", "28.05.1980"},
			ages: "46  45 44", draft: "DD.MM.YYYY", note: "2 are not, such as \"07.1983\"",
			remark: "2 cells not a date"},
		{births: append(many(10, "1950-03-01", "1950-03-12"), many(3, "17/03/1950")...),
			draft: "YYYY-MM-DD or DD/MM/YYYY", note: "taken the day for the month"},
		{births: append(many(10, "1950-03-01", "1950-03-12"), many(3, "17/03/1950")...),
			format: "DD/MM/YYYY", draft: "YYYY-MM-DD or DD/MM/YYYY",
			ages:   strings.TrimSpace(strings.Repeat("74 ", 23)),
			remark: "20 cells a date as YYYY-MM-DD beside others; none has a day above 12"},
		{births: append(many(5, "17/03/1950", "02/03/1950"), many(3, "03/17/1950")...),
			draft: "DD/MM/YYYY or MM/DD/YYYY", note: "write under dates which one it is"},
	} {
		draft, ages, remarks := agesOf(t, c.births, c.format)
		ages = strings.Join(strings.Fields(ages), " ")
		rule, notes := draft.Mapping.Columns["age"], strings.Join(draft.Notes, "\n")
		if string(rule.Dates) != c.draft || ages != strings.Join(strings.Fields(c.ages), " ") {
			t.Errorf("%q: draft %q, ages %q\n%s", c.births[0], rule.Dates, ages, notes)
		}
		if !strings.Contains(notes, c.note) || !strings.Contains(remarks, c.remark) {
			t.Errorf("%q: %s\n%s", c.births[0], notes, remarks)
		}
	}
	draft := Suggest(tableOf(t, "born;sex\nspring;F\n1950-03-17;M\nlong ago;F\n"), ward(t),
		Mapping{})
	if notes := strings.Join(draft.Notes, "\n"); !strings.Contains(notes,
		"age is not mapped to \"born\"") {
		t.Error(notes)
	}
}

// TestISOBesideYearDayMonth: where a format has the day before the month behind the year, ISO 8601
// would be another reading of the same text, and is none.
func TestISOBesideYearDayMonth(t *testing.T) {
	for layout, want := range map[dates.Layout]bool{"YYYY-DD-MM": false, "DD.MM.YYYY": true,
		"YYYYMMDD": true} {
		own := target{layout: layout}
		if d, _, ok := own.date("1950-12-31"); ok != want || ok && d.String() != "1950-12-31" {
			t.Errorf("%s reads 1950-12-31 as %v, %v", layout, d, ok)
		}
	}
}

// TestOldBirths: a draft says which dates lie more years before the day than the bounds allow.
func TestOldBirths(t *testing.T) {
	s := ward(t)
	s.Date = "2024-12-31"
	cells := []string{"0001-01-01", "1800-01-01", "1899-12-30"}
	for i := range 20 {
		cells = append(cells, fmt.Sprintf("19%d-03-04", 30+i))
	}
	got := Suggest(tableOf(t, column("age", cells...)), s, Mapping{})
	const want = `age: 3 cells of "age" are dates more than `
	if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, want) ||
		!strings.Contains(notes, `such as "0001-01-01"`) {
		t.Error(notes)
	}
}

// TestUnreadDate: a draft never shows the day of a date that a format does not read, and a draft
// of two formats is refused with what to do.
func TestUnreadDate(t *testing.T) {
	s := ward(t)
	var cells []string
	for i := range 20 {
		cells = append(cells, fmt.Sprintf("%02d.11.19%d", 1+i, 30+i), fmt.Sprintf("%02d/11/19%d",
			1+i%12, 30+i))
	}
	draft := Suggest(tableOf(t, column("age", append(cells, "01/11/1986")...)), s, Mapping{})
	if notes := strings.Join(draft.Notes, "\n"); strings.Contains(notes, "1970") {
		t.Error(notes)
	}
	_, err := Parse(strings.NewReader("dates: DD/MM/YYYY or MM/DD/YYYY"))
	if err == nil || !strings.Contains(err.Error(), "write which one it is") {
		t.Error(err)
	}
}
