package mapping

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"caucus/dataset"
)

// TestSpanDays: a text that is a span of time is read as a number of days, with the value that
// Python's timedelta gives. pandas writes −1 hour as "-1 days +23:00:00".
func TestSpanDays(t *testing.T) {
	for text, want := range map[string]float64{
		"5 days 04:12:00": 5.175, "1 day, 3:04:05": 1.127835648148148, "36:30:00": 1.5208333333333333,
		"472:41": 19.695138888888888, "06:04:00.5": 0.25278356481481485, "P5DT4H12M": 5.175,
		"3d 11h 39m": 3.4854166666666666, "3:11:39:00": 3.4854166666666666, "-11h 30m": -0.4791666666666667,
		"3.11:39:00": 3.4854166666666666, "+03 11:39:00.000": 3.4854166666666666,
		"-03 11:39:00": -3.4854166666666666, "1 day 2 hours": 1.0833333333333333,
		"P2W": 14, "PT90M": 0.0625, "-P1D": -1, "-1 days +23:00:00": -0.041666666666666664,
		"-36:30": -1.5208333333333333, "5 days": 5, "3d": 3, "PT1.5S": 1.736111111111111e-05,
	} {
		if got, ok := spanDays(text); !ok || math.Abs(got-want) > 1e-12 {
			t.Errorf("%q is %v days, %v, want %v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "P", "PT", "5", "36:75", "P1Y", "P2M", "1 mon 3 days", "10.5",
		"-",
		"05:", "1950-03-12", "4:5:6:7", "5 h", "5m", "5 s", "3.5:00:00"} {
		if got, ok := spanDays(text); ok {
			t.Errorf("%q is %v days", text, got)
		}
	}
}

// TestUnits: a draft finds the unit that follows a column's numbers, and spans of time. Its mapping
// removes the unit and gives the numbers. A number with another unit stays a text, and a remark
// counts the numbers that have no unit.
func TestUnits(t *testing.T) {
	for _, c := range []struct{ cells, unit, decimal, want, remarks string }{
		{"5.4 kg|6.2 kg|7 kg", "kg", "", "5.4 6.2 7", "[]"},
		{"5,4 mg/dl|1.234,5 mg/dl|7 mg/dl", "mg/dl", ",", "5.4 1234.5 7", "[]"},
		{"5.4kg|6.2 kg|7 kg|170 lb|3", "kg", "", "5.4 6.2 7 170_lb 3", "1 cell a number without the unit"},
		{"45 %|46 %", "%", "", "45 46", "[]"},
		{"36:30|12:00|P1D", "span", "", "1.5208333333333333 0.5 1", "[]"},
		{"5.4|6.2|7 kg", "", "", "5.4 6.2 7_kg", "[]"},
	} {
		text := "age;creatinine;sex;died;id\n"
		for i, cell := range strings.Split(c.cells, "|") {
			text += fmt.Sprintf("50;%s;F;no;%d\n", cell, i)
		}
		draft := Suggest(tableOf(t, text), ward(t), Mapping{})
		r := draft.Mapping.Columns["creatinine"]
		if sign := r.Decimal + draft.Mapping.Decimal; r.Unit != c.unit || sign != c.decimal {
			t.Errorf("%s: unit %q, decimal %q\n%s", c.cells, r.Unit, sign,
				strings.Join(draft.Notes, "\n"))
		}
		in, err := dataset.NewLines(strings.NewReader(text), dataset.Format{Delimiter: ';'})
		if err != nil {
			t.Fatal(err)
		}
		b, err := draft.Mapping.Bind(in.Columns(), ward(t))
		if err != nil {
			t.Fatal(err)
		}
		mapped, err := dataset.CollectRows(b.Rows(in))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for i := range mapped.Table.Rows() {
			cell, _ := mapped.Table.Cell(i, "creatinine")
			got = append(got, strings.ReplaceAll(cell, " ", "_"))
		}
		if strings.Join(got, " ") != c.want ||
			!strings.Contains(fmt.Sprint(b.Remarks()), c.remarks) {
			t.Errorf("%s: %q, want %q; %v", c.cells, got, c.want, b.Remarks())
		}
	}
	// With a decimal comma for the file, 1.234 days stay 1.234 days.
	m := Mapping{Decimal: ",", Columns: map[string]Rule{"los": {Unit: "span"}}}
	in, err := dataset.NewLines(strings.NewReader("los,x\nPT29H36M57.6S,1\n"), dataset.Format{})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Bind(in.Columns(), dataset.Schema{})
	if err != nil {
		t.Fatal(err)
	}
	rows := b.Rows(in)
	if cells, _, err := rows.Next(); err != nil || cells[0] != "1.234" {
		t.Errorf("%q, %v", cells, err)
	}
}

// TestNoNumbers: a draft counts cells below a limit, and the expression that it names reads them.
func TestNoNumbers(t *testing.T) {
	text := "age;Krea;sex;died;id\n50;<0.30;F;no;1\n51;1.1;M;yes;2\n52;0.9;F;no;3\n53;<0.30;M;no;4\n" +
		"age;Krea;sex;died;id\n"
	draft := Suggest(tableOf(t, text), ward(t), Mapping{})
	notes := strings.Join(draft.Notes, "\n")
	const expression = `text("Krea") startsWith "<" ? 0.5 : column("Krea")`
	if !strings.Contains(notes, `2 cells begin with a sign such as <, as "<0.30"`) ||
		!strings.Contains(notes, expression) ||
		!strings.Contains(notes, "1 rows repeat the names of the columns") {
		t.Error(notes)
	}
	m := Mapping{Columns: map[string]Rule{"creatinine": {Expression: expression}}}
	in, err := dataset.NewLines(strings.NewReader(text), dataset.Format{Delimiter: ';'})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Bind(in.Columns(), ward(t))
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := dataset.CollectRows(b.Rows(in))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"0.5", "1.1", "0.9", "0.5"} {
		if cell, _ := mapped.Table.Cell(i, "creatinine"); cell != want {
			t.Errorf("record %d is %q, want %q", i, cell, want)
		}
	}
}

// TestExpressionReads: a column's own decimal sign and marks of missing values hold for what its
// expression reads, and for no other expression that reads the same column.
func TestExpressionReads(t *testing.T) {
	s := dataset.Schema{Features: []dataset.Feature{
		{Column: "twice", Kind: dataset.Numeric, Max: 100},
		{Column: "plain", Kind: dataset.Numeric, Max: 100},
	}}
	rows, _, b := read(t, parse(t, `{delimiter: ;, columns: {
		twice: {missing: ["-9"], decimal: ",", expression: 'text("crp") startsWith "<" ? 0.5 :
			column("crp") * 2'},
		plain: {expression: crp}}}`), s, "crp;b\n3,5;1\n-9;1\n<5;1\n4;1\n")
	want := [][]string{{"7", "3,5"}, {"", "-9"}, {"0.5", "<5"}, {"8", "4"}}
	if !slices.EqualFunc(rows, want, slices.Equal) {
		t.Errorf("%q, want %q: %v", rows, want, b.Remarks())
	}
}

// TestLimitAdvice: the expression that a draft suggests for cells such as <5 is valid YAML.
// Together with the draft's decimal sign, a mapping with it reads a number from each cell.
func TestLimitAdvice(t *testing.T) {
	s := ward(t)
	text := column("creatinine", "1,5", "2,25", "<0,5", "3,5", "1,25")
	draft := Suggest(tableOf(t, text), s, Mapping{})
	notes := strings.Join(draft.Notes, "\n")
	at := strings.Index(notes, "expression: ")
	if at < 0 {
		t.Fatal(notes)
	}
	advice, _, _ := strings.Cut(notes[at:], "\n")
	m := parse(t, "delimiter: ;\ncolumns:\n  creatinine:\n    decimal: ','\n    "+advice+"\n")
	s.Features = s.Features[1:2]
	rows, _, _ := read(t, m, s, text)
	for i, want := range []string{"1.5", "2.25", "0.5", "3.5", "1.25"} {
		if rows[i][0] != want {
			t.Errorf("row %d: %q, want %s, by %s", i, rows[i][0], want, advice)
		}
	}
}

// TestThousands: a remark names the first line of numbers that are thousands only under the given
// decimal sign. There is no remark if another number in the column shows what the other sign means.
func TestThousands(t *testing.T) {
	s := dataset.Schema{Features: []dataset.Feature{
		{Column: "crp", Kind: dataset.Numeric, Max: 9000},
	}}
	for cells, want := range map[string]string{
		"3,25 4.201 4.202 1 000": "[crp: 2 cells " + string(ProblemThousands) + " (the first in line 3)]",
		"3,25 4.201 1.234,5":     "[]", "4.201 1.234.567": "[]", "3,25 4,5": "[]",
	} {
		text := "crp;b\n" + strings.ReplaceAll(strings.ReplaceAll(cells, "1 000", "1\u00a0000"),
			" ",
			";1\n") + ";1\n"
		_, _, b := read(t, parse(t, `{delimiter: ;, decimal: ","}`), s, text)
		if got := fmt.Sprint(b.Remarks()); got != want {
			t.Errorf("%s: %s, want %s", cells, got, want)
		}
	}
}
