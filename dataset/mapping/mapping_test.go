package mapping

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"caucus/dataset"
)

// ward is a schema with every kind of column.
func ward(t testing.TB) dataset.Schema {
	t.Helper()
	s, err := dataset.ParseSchema(strings.NewReader(`
label: {column: died, classes: ["no", "yes"]}
patient: id
features:
  - {column: age, kind: numeric, min: 0, max: 120}
  - {column: creatinine, kind: numeric, min: 0, max: 10}
  - {column: sex, kind: categorical, levels: [F, M]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func parse(t testing.TB, text string) Mapping {
	t.Helper()
	if text == "" {
		return Mapping{}
	}
	m, err := Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// read maps a text and returns its rows.
func read(t testing.TB, m Mapping, s dataset.Schema, text string) (rows [][]string,
	lines dataset.CollectedRows, b *BoundMapping) {
	t.Helper()
	f := dataset.Format{Delimiter: ';', Columns: m.Header}
	in, err := dataset.NewLines(strings.NewReader(text), f)
	if err != nil {
		t.Fatal(err)
	}
	b, err = m.Bind(in.Columns(), s)
	if err != nil {
		t.Fatal(err)
	}
	if lines, err = dataset.CollectRows(b.Rows(in)); err != nil {
		t.Fatal(err)
	}
	lines.Columns, lines.Remarks = in.Columns(), append(lines.Remarks, b.Remarks()...)
	for i := range lines.Table.Rows() {
		var row []string
		for _, name := range lines.Table.Columns() {
			cell, _ := lines.Table.Cell(i, name)
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	return rows, lines, b
}

func TestMapping(t *testing.T) {
	s := ward(t)
	for name, c := range map[string]struct{ mapping, header, line, want string }{
		"names alone":    {"", "age;creatinine;sex;died;id", "70;1.2;F;no;7", "70|1.2|F|no|7"},
		"capitals":       {"", "AGE;Creatinine; SEX ;died;ID", "70;1.2;F;no;7", "70|1.2|F|no|7"},
		"rename":         {"columns: {age: Alter, sex: {from: Geschlecht}}", "Alter;creatinine;Geschlecht;died;id", "70;1.2;F;no;7", "70|1.2|F|no|7"},
		"levels":         {"columns: {sex: {levels: {weiblich: F, 2: M}}, died: {levels: {ja: \"yes\", true: \"no\"}}}", "age;creatinine;sex;died;id", "70;1.2;weiblich;ja;7", "70|1.2|F|yes|7"},
		"levels, number": {"columns: {sex: {levels: {weiblich: F, 2: M}}, died: {levels: {true: \"no\"}}}", "age;creatinine;sex;died;id", "70;1.2;2;true;7", "70|1.2|M|no|7"},
		"no level":       {"columns: {sex: {levels: {weiblich: F}}}", "age;creatinine;sex;died;id", "70;1.2;divers;ja;7", "70|1.2|divers|ja|7"},
		"missing":        {"missing: [\"-9\", NULL, n/a]", "age;creatinine;sex;died;id", "-9;NULL;n/a;no; -9.0 ", "|||no|"},
		"missing number": {"missing: -9\ndecimal: \",\"", "age;creatinine;sex;died;id", "-9,00;-9,5;F;no;7", "|-9.5|F|no|7"},
		"missing here":   {"columns: {sex: {missing: X}}", "age;creatinine;sex;died;id", "70;X;X;no;7", "70|X||no|7"},
		"comma":          {"decimal: \",\"", "age;creatinine;sex;died;id", "70;1.234,5;F;no;1,5", "70|1234.5|F|no|1.5"},
		"comma here":     {"columns: {creatinine: {decimal: \",\"}}", "age;creatinine;sex;died;id", "70;1,5;F;no;7", "70|1.5|F|no|7"},
		"units":          {"columns: {creatinine: {multiply: 0.0113, offset: 1, round: 3}}", "age;creatinine;sex;died;id", "70;100;F;no;7", "70|2.13|F|no|7"},
		"units of text":  {"columns: {creatinine: {multiply: 2}}", "age;creatinine;sex;died;id", "70;<5;F;no;7", "70|<5|F|no|7"},
		"huge":           {"columns: {creatinine: {multiply: 1e308}}", "age;creatinine;sex;died;id", "70;1e308;F;no;7", "70|+Inf|F|no|7"},
		"age":            {"dates: DD.MM.YYYY\ncolumns: {age: {from: born, years_until: 2024-12-31}}", "born;creatinine;sex;died;id", "31.12.1950;1.2;F;no;7", "74|1.2|F|no|7"},
		"age at":         {"columns: {age: {from: born, years_until: visit}}", "born;visit;creatinine;sex;died;id", "1950-12-31;2024-12-30;1.2;F;no;7", "73|1.2|F|no|7"},
		"days":           {"columns: {age: {from: out, days_since: in}}", "in;out;creatinine;sex;died;id", "2024-02-28;2024-03-01 08:00;1.2;F;no;7", "2|1.2|F|no|7"},
		"days here":      {"columns: {age: {from: out, dates: M/D/YY, days_since: 2024-02-28}}", "out;creatinine;sex;died;id", "3/1/24;1.2;F;no;7", "2|1.2|F|no|7"},
		"no date":        {"columns: {age: {from: born, years_until: 2024-12-31}}", "born;creatinine;sex;died;id", "1950;1.2;F;no;7", "|1.2|F|no|7"},
		"after the day": {"columns: {age: {from: born, years_until: 2024-12-31}}",
			"born;creatinine;sex;died;id", "2025-01-01;1.2;F;no;7", "|1.2|F|no|7"},
		"on the day": {"columns: {age: {from: born, years_until: 2024-12-31}}",
			"born;creatinine;sex;died;id", "2024-12-31;1.2;F;no;7", "0|1.2|F|no|7"},
		"days before": {"columns: {age: {from: out, days_since: in}}",
			"in;out;creatinine;sex;died;id", "2024-03-02;2024-03-01;1.2;F;no;7", "-1|1.2|F|no|7"},
		"two digits": {"dates: D.M.YY\ncolumns: {age: {from: born, years_until: 2024-12-31}}",
			"born;creatinine;sex;died;id", "1.2.29;1.2;F;no;7", "95|1.2|F|no|7"},
		"this year": {"dates: D.M.YY\ncolumns: {age: {from: born, years_until: 2024-06-30}}",
			"born;creatinine;sex;died;id", "1.7.24;1.2;F;no;7", "99|1.2|F|no|7"},
		"a first year": {"columns: {age: {from: born, dates: D.M.YY, first_year: 1915, years_until: 2024-12-31}}", "born;creatinine;sex;died;id", "1.2.15;1.2;F;no;7", "109|1.2|F|no|7"},
		"month's name": {"columns: {age: {from: born, dates: DD-MON-YYYY, years_until: 2024-12-31}}", "born;creatinine;sex;died;id", "12-MÄR-1950;1.2;F;no;7", "74|1.2|F|no|7"},
		"month alone":  {"columns: {age: {from: born, dates: YYYY-MM, years_until: 2024-12-31}}", "born;creatinine;sex;died;id", "1950-03;1.2;F;no;7", "74|1.2|F|no|7"},
		"zone":         {"zone: Europe/Berlin\ncolumns: {age: {from: born, years_until: 2024-12-31}}", "born;creatinine;sex;died;id", "1949-12-31T23:00:00Z;1.2;F;no;7", "74|1.2|F|no|7"},
		"no zone": {"columns: {age: {from: born, years_until: 2024-12-31}}",
			"born;creatinine;sex;died;id", "1949-12-31T23:00:00Z;1.2;F;no;7", "75|1.2|F|no|7"},
		"other letters": {"columns: {age: A\u0308lter, sex: {levels: {ma\u0308nnlich: M}}}",
			"Älter;creatinine;sex;died;id", "70;1.2;männlich;no;7", "70|1.2|M|no|7"},
		"letters apart": {"columns: {age: Älter, sex: {levels: {männlich: M}}}",
			"A\u0308lter;creatinine;sex;died;id", "70;1.2;ma\u0308nnlich;no;7", "70|1.2|M|no|7"},
		"0, no group": {"decimal: \",\"", "age;creatinine;sex;died;id", "70;0.457;F;no;7",
			"70|0.457|F|no|7"},
		"no other date": {"columns: {age: {from: born, years_until: visit}}", "born;visit;creatinine;sex;died;id", "1950-12-31;;1.2;F;no;7", "|1.2|F|no|7"},
		"expression":    {"columns: {age: {expression: \"months / 12\"}}", "months;creatinine;sex;died;id", "840;1.2;F;no;7", "70|1.2|F|no|7"},
		"of comma":      {"decimal: \",\"\ncolumns: {age: {expression: \"months / 2\"}}", "months;creatinine;sex;died;id", "2,25;1,2;F;no;7", "1.125|1.2|F|no|7"},
		"no value":      {"columns: {age: {expression: \"months / 12\"}}", "months;creatinine;sex;died;id", "old;1.2;F;no;7", "|1.2|F|no|7"},
		"divided by 0":  {"columns: {age: {expression: \"months / 0\"}}", "months;creatinine;sex;died;id", "70;1.2;F;no;7", "|1.2|F|no|7"},
		"missing there": {"missing: -9\ncolumns: {age: {expression: \"months == nil ? 1 : 2\"}}", "months;creatinine;sex;died;id", "-9;1.2;F;no;7", "1|1.2|F|no|7"},
		"computed -9":   {"missing: -9\ncolumns: {age: {expression: \"months - 9\"}}", "months;creatinine;sex;died;id", "0;1.2;F;no;7", "-9|1.2|F|no|7"},
		"no text":       {"columns: {sex: {levels: {x: F}}}", "age;creatinine;sex;died;id", "70;1.2;\xff;no;7", "70|1.2||no|7"},
		"malformed": {"columns: {age: {expression: \"1\"}}", "age;creatinine;sex;died;id",
			"70;1.2;F;no;7;x", "||||"},
		"short": {"columns: {age: {expression: \"1\"}}", "age;creatinine;sex;died;id",
			"70;1.2", "1|1.2|||"},
		"no patient":     {"patient: none", "age;creatinine;sex;died", "70;1.2;F;no", "70|1.2|F|no|"},
		"none, computed": {"columns: {id: {expression: nil}}", "age;creatinine;sex;died", "70;1.2;F;no", "70|1.2|F|no|"},
		"none, numbers":  {"patient: none\ndecimal: \",\"\nmissing: -9\ndates: DD.MM.YYYY", "id;age;creatinine;sex;died", "7;70;1,2;F;no", "70|1.2|F|no|"},
		"no header":      {"header: [age, creatinine, sex, died, id]", "", "70;1.2;F;no;7", "70|1.2|F|no|7"},
	} {
		t.Run(name, func(t *testing.T) {
			text := c.line + "\n"
			if c.header != "" {
				text = c.header + "\n" + text
			}
			rows, _, _ := read(t, parse(t, c.mapping), s, text)
			if got := strings.Join(rows[0], "|"); len(rows) != 1 || got != c.want {
				t.Errorf("%d rows, the first is %s, want %s", len(rows), got, c.want)
			}
		})
	}
}

// TestDayAsWritten: if a mapping names no zone, a remark reports moments with a zone, in either
// date of a span. If the mapping names one, a moment falls on its day in that zone.
func TestDayAsWritten(t *testing.T) {
	s := ward(t)
	for rule, zoned := range map[string][2]string{
		"years_until: visit": {"63", "64"}, "days_since: visit": {"-23375", "-23376"},
	} {
		for zone, want := range map[string]string{"": zoned[0], "zone: Europe/Berlin\n": zoned[1]} {
			rows, _, b := read(t, parse(t, zone+"columns: {age: {from: born, "+rule+"}}"), s,
				"born;visit;creatinine;sex;died;id\n1960-01-01;2023-12-31T23:10:00 GMT;1;F;no;7\n")
			told := slices.ContainsFunc(b.Remarks(), func(r dataset.Remark) bool {
				return r == dataset.Remark{Column: "age", Problem: ProblemDayAsWritten, Count: 1,
					First: 2}
			})
			if rows[0][0] != want || told != (zone == "") {
				t.Errorf("%s%s: %s, want %s, remarks %v", zone, rule, rows[0][0], want,
					b.Remarks())
			}
		}
	}
	for text, want := range map[string]bool{"1960-01-01T08:30:00Z": true, "1960-01-01": false} {
		drafted := Suggest(tableOf(t, "born;sex;died\n"+text+";F;no\n"), s, Mapping{})
		if told := strings.Contains(strings.Join(drafted.Notes, "\n"), "under zone"); told != want {
			t.Errorf("%s: notes %q", text, drafted.Notes)
		}
	}
}

// TestAgreedDay: if the schema gives the day at which ages count, the mapping need not.
func TestAgreedDay(t *testing.T) {
	s := ward(t)
	s.Date = "2024-12-31"
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	rows, _, _ := read(t, parse(t, "columns: {age: {from: born, years_until: schema}}"), s, "born;creatinine;sex;died;id\n1950-12-31;1.2;F;no;7\n")
	if got := rows[0][0]; got != "74" {
		t.Errorf("the age is %s, want 74", got)
	}
	other := s
	other.Date = "2023-12-31"
	if len(s.Differences(other)) == 0 || len(s.Differences(s)) > 0 {
		t.Error("schemas of different days mean the same")
	}
	for _, bad := range []string{"2024-02-30", "31.12.2024", "2024-12-31T00:00:00", "today"} {
		if s.Date = bad; s.Validate() == nil {
			t.Errorf("the day %q is taken", bad)
		}
	}
	s.Date = "2024-12-31"
	got := Suggest(tableOf(t, "Geburtsdatum;sex;died\n01.02.1950;F;no\n03.04.1960;M;yes\n"), s, Mapping{})
	if r := got.Mapping.Columns["age"]; r.YearsUntil != "schema" || r.Dates != "DD.MM.YYYY" {
		t.Errorf("age is drafted as %+v", r)
	}
}

func TestExpressions(t *testing.T) {
	columns := []string{"age", "Kreatinin (µmol/l)", "sex", "plz", "größe"}
	cells := []string{"70", "88,4", "w", "01067", "1,7"}
	for text, want := range map[string]string{
		`age + 1`:                                "71",
		`AGE > 60 and sex == "w"`:                "true",
		`not (age > 60)`:                         "false",
		`column("Kreatinin (µmol/l)") / 88.4`:    "1",
		`plz`:                                    "1067",
		`text("plz")`:                            "01067",
		`text("plz") startsWith "01"`:            "true",
		`sex in ["w", "f"] ? "F" : "M"`:          "F",
		`age in [69, 70]`:                        "true",
		`age not in [-9]`:                        "true",
		`text("plz") matches "^0[0-9]{4}$"`:      "true",
		`upper(trim(sex)) + "!"`:                 "W!",
		`round(größe * 10) / 10`:                 "1.7",
		`min(age, 50)`:                           "50",
		`int("12") % 5`:                          "2",
		`nil ?? 3`:                               "3",
		`age ** 2`:                               "4900",
		`nil`:                                    "",
		`"a" + sex`:                              "aw",
		`len(sex)`:                               "1",
		`float(text("plz"))`:                     "1067",
		`if age > 60 { "old" } else { "young" }`: "old",
	} {
		b := &BoundMapping{columns: columns}
		e, err := b.compile(text, input{missing: newWords(nil, ","), decimal: ","})
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, ok := e.of(b.inputs(cells)); !ok || got != want {
			t.Errorf("%s = %q, %v, want %q", text, got, ok, want)
		}
	}
	// Neither a value nor an error.
	for _, text := range []string{`sex + 1`, `nil + 1`, `1 / 0`, `int("x")`, `age % 0`, `-sex`, `0.0 / 0`, `sex < 1`, `"x" ? 1 : 2`, `int(age) % int(0)`, `int(1e300) % 0`} {
		b := &BoundMapping{columns: columns}
		e, err := b.compile(text, input{missing: newWords(nil, ","), decimal: ","})
		if err != nil {
			continue // refused when compiled, which is fine too
		}
		if got, ok := e.of(b.inputs(cells)); ok {
			t.Errorf("%s has the value %q", text, got)
		}
	}
}

// TestExpressionsRefused: expressions that need a clock, a list, a state, or unbounded steps are
// refused before any record is read.
func TestExpressionsRefused(t *testing.T) {
	for _, text := range []string{
		`now()`, `date("2024-01-01")`, `duration("1h")`, `1..1000000000`, `map([1,2], # * 2)`, `filter(1..9, true)`, `sum(1..1000000)`,
		`repeat("x", 1000000)`, `replace(sex, "", "xxxxxxxx")`, `split(sex, "")`, `let x = sex + sex; x + x`, `1; 2`, `[1,2]`, `{"a": 1}`, `sex[0:1]`, `sex.foo`, `$env`, `$env["age"]`,
		`toJSON(age)`, `fromBase64(sex)`, `age in sex`, `age in [sex]`, `sex matches sex`, `sex matches "("`, `sex matches "((((a{100}){10}){10}){10})"`,
		`reduce([1], #acc)`, `get(age, 1)`, `column(sex)`, `column("a", "b")`, `age.year()`, `f(age)`, `unknown + 1`, `(age`, ``, `"` + strings.Repeat("x", maxExpression) + `"`,
		strings.Repeat("age+", maxNodes) + "age", strings.Repeat("-", maxNodes+1) + "1", `age in [` + strings.Repeat("1,", maxNodes) + `1]`,
	} {
		b := &BoundMapping{columns: []string{"age", "sex"}}
		if _, err := b.compile(text, input{}); err == nil {
			t.Errorf("%.80s is taken", text)
		}
	}
	// Further functions of expr-lang.
	b := &BoundMapping{columns: []string{"age"}}
	for _, name := range []string{"all", "none", "any", "one", "count", "find", "groupBy", "sortBy",
		"type", "concat", "flatten", "uniq", "keys", "values", "median", "mean", "first", "last",
		"take", "bitand", "join", "indexOf", "trimPrefix", "timezone", "fromJSON", "toPairs",
		"mapValues"} {
		if _, err := b.compile(name+"(age)", input{}); err == nil {
			t.Errorf("%s() is taken", name)
		}
	}
}

func TestBind(t *testing.T) {
	s := ward(t)
	all := []string{"age", "creatinine", "sex", "died", "id"}
	for name, c := range map[string]struct {
		mapping string
		columns []string
		want    string // in the error, or in the notes
		missing string
	}{
		"complete":       {"", all, "", ""},
		"capitals":       {"", []string{"Age", "CREATININE", "sex", "died", "id"}, `age is the file's column "Age"`, ""},
		"twice":          {"", []string{"Age", "AGE", "creatinine", "sex", "died", "id"}, "", "age"},
		"no label":       {"", []string{"age", "creatinine", "sex", "id"}, "", "died"},
		"typo":           {"columns: {age: Altr}", []string{"Alter", "creatinine"}, `no column "Altr"; did you mean "Alter"?`, ""},
		"elsewhere":      {"columns: {age: weight}", all, `no column "weight"; it has age, creatinine`, ""},
		"expression":     {"columns: {age: {expression: weight + 1}}", all, `no column "weight"`, ""},
		"day":            {"columns: {age: {years_until: yesterday}}", all, "neither a date such as 2024-12-31 nor a column", ""},
		"no agreed day":  {"columns: {age: {years_until: schema}}", all, "the schema has no date", ""},
		"idle":           {"columns: {weight: kg}", all, "no column of this schema: weight", ""},
		"derived":        {"derived: [rank]", all, `derived: the file has no column "rank"`, ""},
		"no patient":     {"patient: none", []string{"age", "creatinine", "sex", "died"}, "", ""},
		"one record":     {"patient: one-record", []string{"age", "creatinine", "sex", "died"}, "", ""},
		"one, numbers":   {"patient: one-record", all, "the file has a column id, and patient: one-record leaves it out", ""},
		"patient unsaid": {"", []string{"age", "creatinine", "sex", "died"}, "", "id"},
		"patient twice":  {"patient: none\ncolumns: {id: age}", all, "id: patient: none says that the file has no patient number: remove one of the two", ""},
		"patient there":  {"patient: none", all, "the file has a column id, and patient: none leaves it out", ""},
		"patient gone":   {"columns: {id: Patnr}", []string{"age", "creatinine", "sex", "died"}, `no column "Patnr"; it has age, creatinine, sex, died; if the file has no patient number (id), write patient: none`, ""},
		"a delimiter":    {"columns: {age: Alter}", []string{"Alter;1.5"}, "write delimiter: ';'", ""},
		"a record first": {"columns: {age: Alter}", []string{"70", "1.5"}, "if it has no header, list its names under header", ""},
	} {
		b, err := parse(t, c.mapping).Bind(c.columns, s)
		if err != nil {
			if c.want == "" || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: error %v, want %q", name, err, c.want)
			}
			if strings.Contains(err.Error(), "1.5") {
				t.Errorf("%s: the error shows a record: %v", name, err)
			}
			continue
		}
		if notes := strings.Join(b.Notes, "\n"); c.want == "" && notes != "" ||
			!strings.Contains(notes, c.want) {
			t.Errorf("%s: notes %q, want %q", name, notes, c.want)
		}
		if got := strings.Join(b.Missing, ","); got != c.missing ||
			b.Has("age") == slices.Contains(b.Missing, "age") {
			t.Errorf("%s: missing %q, want %q", name, got, c.missing)
		}
	}
}

// TestNoPatient: with patient: none, the schema's patient column is empty in each record, also for
// training. Without it, an error says what to write.
func TestNoPatient(t *testing.T) {
	s := ward(t)
	const text = "age;creatinine;sex;died\n70;1.2;F;no\n30;1.1;M;yes\n"
	_, lines, b := read(t, parse(t, "patient: none"), s, text)
	records, _, err := s.EncodeLabelled(lines.Table)
	if err != nil || !slices.Equal(records.Patient, []string{"", ""}) || !b.Has("id") ||
		b.PatientHint() != "" || len(b.Remarks()) > 0 {
		t.Errorf("%v, patients %q, %+v", err, records.Patient, b)
	}
	_, lines, b = read(t, Mapping{}, s, text)
	for _, said := range []error{errors.New(b.PatientHint()), func() error {
		_, _, err := s.EncodeLabelled(lines.Table)
		return err
	}()} {
		if said == nil || !strings.Contains(said.Error(), "write patient: none") {
			t.Errorf("without a word: %v", said)
		}
	}
	s.Party = s.Patient
	if _, err := parse(t, "patient: none").Bind([]string{"age", "creatinine", "sex", "died"},
		s); err == nil || !strings.Contains(err.Error(), "party column too") {
		t.Errorf("of a schema whose patients are its parties: %v", err)
	}
}

func TestParse(t *testing.T) {
	text := `
encoding: latin1
delimiter: ;
decimal: ","
dates: DD.MM.YYYY
missing: ["-9", NULL, ~, true, ""]
columns:
  age: {from: Geburtsdatum, years_until: 2024-12-31}
  sex: {from: Geschlecht, levels: {weiblich: F, 1: M, true: F}}
  creatinine: {expression: "column(\"Kreatinin (µmol/l)\") / 88.4", round: 2}
  died: Verstorben
derived: [Rang]
`
	m := parse(t, text)
	if want := (Texts{"-9", "NULL", "~", "true", ""}); !slices.Equal(m.Missing, want) ||
		m.Encoding != "latin1" {
		t.Errorf("missing %q, encoding %q", m.Missing, m.Encoding)
	}
	if got := m.Columns["sex"].Levels; !reflect.DeepEqual(got,
		map[string]string{"weiblich": "F", "1": "M", "true": "F"}) {
		t.Errorf("levels %v", got)
	}
	if m.Columns["age"].YearsUntil != "2024-12-31" || m.Columns["died"].FromColumn != "Verstorben" {
		t.Errorf("%+v", m.Columns)
	}
	written, err := m.YAML()
	if err != nil {
		t.Fatal(err)
	}
	if again := parse(t, string(written)); !again.Equivalent(m) {
		t.Errorf("%s\nis read as %+v", written, again)
	}
	if m.Equivalent(Mapping{}) {
		t.Error("it is the same as none")
	}
	if empty := parse(t, ""); !empty.Equivalent(Mapping{}) {
		t.Errorf("nothing is %+v", empty)
	}
	for bad, want := range map[string]string{
		"delimeter: ;":                                    `unknown key "delimeter": do you mean "delimiter"?`,
		"columns: {age: {form: x}}":                       `unknown key "form": do you mean "from"?`,
		"columns: {age: {from: x, expression: y}}":        "age: it has both from and expression",
		"columns: {age: {expression: now()}}":             "now() cannot be used",
		"columns: {age: {years_until: x, days_since: y}}": "keep one",
		"columns: {age: {round: 16}}":                     "0 to 15",
		"columns: {age: {multiply: .inf}}":                "finite",
		"columns: {age: {dates: DD.MM}}":                  "write it like DD.MM.YYYY",
		"columns: {age: {levels: {\"\": F}}}":             "no level",
		"decimal: x":                                      "decimal",
		"patient: id":                                     `patient: "id": write none if the file has no patient number, or one-record if also no person has two records`,
		"dates: heute":                                    "dates",
		"encoding: ebcdic":                                "use one of",
		"delimiter: ;;":                                   "not one character",
		"header: [a, a]":                                  "of its own",
		"missing: {a: b}":                                 "list of texts",
		"":                                                "it is empty",
		"{}\n---\n{}":                                     "more than one YAML document",
		"comment: ',#'":                                   "must begin with a character",
		"first_row: -1":                                   "first_row -1 must be at least 1",
		"escape: ab":                                      "is not one ASCII character",
	} {
		if _, err := Parse(strings.NewReader(bad)); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", bad, err, want)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ text, decimal, want string }{
		{"1234.5", "", "1234.5"}, {"1,234.5", "", ""}, {"1,234.5", ".", "1234.5"}, {"1.234,5", ",", "1234.5"}, {"1.234.567", ",", "1234567"},
		{"1.5", ",", "1.5"}, {"1.125", ",", "1125"}, {"1 234,5", ",", "1234.5"}, {"1\u00a0234\u202f567,5", ",", "1234567.5"}, {"1'234.5", ".", "1234.5"},
		{"-1.234,5", ",", "-1234.5"}, {",5", ",", "0.5"}, {"5,", ",", "5"}, {"1,2,3", ",", ""}, {"1.2.3,4", ",", ""}, {"1234.567,8", ",", ""},
		{"12-34", ",", ""}, {"", ",", ""}, {"inf", "", ""}, {"NaN", "", ""}, {"0x10", "", ""}, {"0x1p4", "", ""}, {"1_000", ".", ""}, {"1e3", "", "1000"}, {"1,5e3", ",", "1500"}, {"1e999", "", ""},
		{"0.457", ",", "0.457"}, {".457", ",", "0.457"}, {"0,457", ".", ""}, {"-0.457", ",",
			"-0.457"}, {"000.457", ",", "0.457"},
	} {
		got := ""
		if v, ok := readNumber(c.text, c.decimal); ok {
			got = numberText(v)
			if got == "1.234567e+06" || got == "1.2345675e+06" {
				got = fmt.Sprintf("%.1f", v)
				got = strings.TrimSuffix(got, ".0")
			}
		}
		if got != c.want {
			t.Errorf("%q with %q is %q, want %q", c.text, c.decimal, got, c.want)
		}
	}
}

// TestPatientForms: of a patient's number that is written in several ways, each record is of one
// patient, and the cells in another form than the first are counted. Only equal numbers are folded,
// without rounding; patient: exact folds none, and a decimal comma makes no point a decimal sign.
func TestPatientForms(t *testing.T) {
	s := ward(t)
	for name, c := range map[string]struct {
		mapping  string
		numbers  []string
		patients int
		folded   int
	}{
		"pandas":       {"", []string{"1000", "1000.0", "1001.0", "1001"}, 2, 2},
		"zeros":        {"", []string{"01000", "1000", "+1000", "01000"}, 1, 2},
		"one form":     {"", []string{"1000.0", "1001.0", "1000.0"}, 2, 0},
		"long":         {"", []string{"9007199254740993", "9007199254740992"}, 2, 0},
		"exponents":    {"", []string{"1E3", "1000", "1e3"}, 3, 0},
		"parts":        {"", []string{"1.5", "1.50", "15"}, 2, 1},
		"letters":      {"", []string{"Mu\u0308ller", "Müller", "muller"}, 2, 1},
		"codes":        {"", []string{"P-01", "P-1", "P01"}, 3, 0},
		"comma":        {`decimal: ","`, []string{"1000,0", "1000", "1.000", "1"}, 3, 1},
		"point":        {`decimal: "."`, []string{"1000.0", "1000", "1,000"}, 2, 1},
		"exact":        {"patient: exact", []string{"01000", "1000", "1000.0", "1000"}, 3, 0},
		"by a rule":    {"columns: {id: {from: id}}", []string{"01000", "1000"}, 1, 1},
		"by its parts": {`columns: {id: {expression: '"7" + text("id")'}}`, []string{"1", "1.0"}, 1, 1},
		"a mark":       {"missing: [0]", []string{"0", "00", "0.0"}, 1, 0},
	} {
		text := "id;age;creatinine;sex;died\n"
		for _, n := range c.numbers {
			text += n + ";70;1.2;F;no\n"
		}
		_, lines, b := read(t, parse(t, c.mapping), s, text)
		records, _, err := s.EncodeLabelled(lines.Table)
		if err != nil {
			t.Fatal(name, err)
		}
		slices.Sort(records.Patient)
		folded := 0
		for _, r := range b.Remarks() {
			if r.Problem == OtherForm {
				folded += r.Count
			}
		}
		if got := len(slices.Compact(records.Patient)); got != c.patients || folded != c.folded {
			t.Errorf("%s: %d patients %q, %d cells folded; want %d and %d", name, got,
				records.Patient, folded, c.patients, c.folded)
		}
	}
}

// TestPatientFormsOfAllRows: a file that needs no mapping keeps its columns in order, and only its
// patients' numbers change.
func TestPatientFormsOfAllRows(t *testing.T) {
	in, err := dataset.NewLines(strings.NewReader("ward,sex,died,id,age,creatinine\n"+
		"b,F,no,01,70,1.20\na,M,no,1.0,30,1\n"), dataset.Format{})
	if err != nil {
		t.Fatal(err)
	}
	rows, _, err := Mapping{}.AllRows(in, ward(t))
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(rows.Columns(), " ")
	for range 2 {
		cells, _, err := rows.Next()
		if err != nil {
			t.Fatal(err)
		}
		got += ", " + strings.Join(cells, " ")
	}
	if want := "ward sex died id age creatinine, b F no 1 70 1.20, a M no 1 30 1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
