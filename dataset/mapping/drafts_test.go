package mapping

import (
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"caucus/dataset"
	"caucus/dataset/dates"
)

// readCase drafts a mapping for a file of testdata, and reads the file with the draft.
func readCase(t *testing.T, schema, file string, comma rune) (Suggestion, *dataset.Table,
	*BoundMapping) {
	t.Helper()
	open := func(name string) *os.File {
		f, err := os.Open("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	s, err := dataset.ParseSchema(open(schema))
	if err != nil {
		t.Fatal(err)
	}
	lines := func() dataset.Rows {
		in, err := dataset.NewLines(open(file), dataset.Format{Delimiter: comma})
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	whole, err := dataset.CollectRows(lines())
	if err != nil {
		t.Fatal(err)
	}
	draft := Suggest(whole.Table, s, Mapping{})
	in := lines()
	b, err := draft.Mapping.Bind(in.Columns(), s)
	if err != nil {
		t.Fatal(err)
	}
	mapped, err := dataset.CollectRows(b.Rows(in))
	if err != nil {
		t.Fatal(err)
	}
	return draft, mapped.Table, b
}

func mean(t *testing.T, table *dataset.Table, column string) float64 {
	t.Helper()
	sum := 0.0
	for i := range table.Rows() {
		cell, _ := table.Cell(i, column)
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			t.Fatalf("row %d: %s is %q", i, column, cell)
		}
		sum += v
	}
	return sum / float64(table.Rows())
}

// TestDraftedCases: three files as people have them, read with their own drafts. The right means
// are those of Python (csv, datetime).
func TestDraftedCases(t *testing.T) {
	draft, table, b := readCase(t, "wide.yaml", "03-mixed-decimals.csv", ';')
	for column, want := range map[string]float64{"weight": 82.323667, "troponin": 0.457110,
		"platelets": 502.356667} {
		if got := mean(t, table, column); math.Abs(got-want) > 1e-6 {
			t.Errorf("decimal commas beside points: the mean of %s is %.6f, want %.6f", column,
				got, want)
		}
	}
	if got := b.Remarks(); len(got) > 0 || draft.Mapping.Decimal != "" {
		t.Errorf("remarks %v, decimal %q", got, draft.Mapping.Decimal)
	}
	draft, table, b = readCase(t, "schema.yaml", "24-month-names.csv", ',')
	if got, want := mean(t, table, "age"), 56.443333; math.Abs(got-want) > 1e-6 ||
		len(b.Remarks()) > 0 {
		t.Errorf("names of months: the mean age is %.6f, want %.6f; %v", got, want, b.Remarks())
	}
	draft, _, _ = readCase(t, "sex.yaml", "13-one-two.csv", ',')
	notes := strings.Join(draft.Notes, "\n")
	if len(draft.Mapping.Columns) > 0 || !strings.Contains(notes,
		"1 often means yes, but the column's other texts leave it open") {
		t.Errorf("codes 1 and 2: %+v, %s", draft.Mapping.Columns, notes)
	}
}

// TestGuessLevels: a code is a level only if all texts of its column are.
func TestGuessLevels(t *testing.T) {
	for _, c := range []struct{ texts, levels, want string }{
		{"1 0", "no yes", "0:no 1:yes"}, {"1 2", "no yes", ""}, {"1", "no yes", ""},
		{"-1 1", "no yes", ""},
		{"M F", "female male", "F:female M:male"}, {"H M", "female male", ""},
		{"M V", "female male", ""},
		{"m w", "female male", "m:male w:female"},
		{"m M f", "female male", "M:male f:female m:male"},
		{"T F", "no yes", "F:no T:yes"}, {"1 t f", "no yes", ""}, {"F w", "F M", "F:F"},
		{"weiblich männlich divers", "F M", "männlich:M weiblich:F"},
		{"ja N", "no yes", "N:no ja:yes"},
		{"ja 9", "no yes", "ja:yes"}, {"A+ A-", "A+ B+", "A+:A+"}, {"<5 >5", ">5 5", ">5:>5"},
		{"1.0 2.0", "1 2", "1.0:1 2.0:2"}, {"10 1.0", "10 1", "1.0:1 10:10"},
		{"weib\u0301lich m", "weíblich F", ""},
		{"ma\u0308nnlich frau", "F M", "frau:F ma\u0308nnlich:M"},
		{"nein ja", "F M", ""}, {"non no false F", "F M", "F:F"}, {"true false", "F T", "false:F true:T"},
		{"F no yes", "no yes", "no:no yes:yes"}, {"T no yes", "no yes", "no:no yes:yes"},
		{"female male", "F T", ""}, {"0 1", "F M", ""}, {"ja nein", "1 0", "ja:1 nein:0"},
		{"ja nein", "1 2", ""},
	} {
		texts := map[string]int{}
		for _, text := range strings.Fields(c.texts) {
			texts[text] = 10
		}
		guess, _ := guessLevels(texts, strings.Fields(c.levels))
		got := strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(guess), "map["), "]")
		if got != c.want {
			t.Errorf("%s of %s: %s, want %s", c.texts, c.levels, got, c.want)
		}
	}
}

// TestUnsureLevels: where a code of the file is no level, a code that is one may mean another.
func TestUnsureLevels(t *testing.T) {
	for _, c := range []struct {
		sex, want string // levels of the draft
		asks      bool
	}{
		{"H M", "map[H:which level? M:which level?]", true},
		{"F N", "map[F:which level? N:which level?]", true},
		{"F M D", "map[]", false}, {"F M", "map[]", false}, {"M weiblich", "map[weiblich:F]", false},
		{"nein F", "map[]", false},
	} {
		text := "age;creatinine;sex;died;id\n"
		texts := strings.Fields(c.sex)
		for i := range 40 {
			text += fmt.Sprintf("50;1.1;%s;%s;%d\n", texts[i%len(texts)], []string{"no",
				"yes"}[i%2], i)
		}
		got := Suggest(tableOf(t, text), ward(t), Mapping{})
		if levels := fmt.Sprint(got.Mapping.Columns["sex"].Levels); levels != c.want {
			t.Errorf("%s: %s, want %s", c.sex, levels, c.want)
		}
		err, notes := got.Mapping.Validate(), strings.Join(got.Notes, "\n")
		if (err != nil) != c.asks || strings.Contains(notes, "those that are may mean others") !=
			c.asks {
			t.Errorf("%s: %v, %s", c.sex, err, notes)
		}
		advice := strings.Join(Advice(tableOf(t, text), ward(t)), "\n")
		if strings.Contains(advice, "write each of them under levels") != c.asks ||
			strings.Contains(advice, "no cell of sex is of the level") != (c.sex != "F M D" &&
				c.sex != "F M") {
			t.Errorf("%s: %s", c.sex, advice)
		}
	}
}

// TestAlsoNumber: a mark of missing values in one column, kept as a number in another, is counted
// there.
func TestAlsoNumber(t *testing.T) {
	text := "age;creatinine;sex;died;id\n"
	for i := range 40 {
		age, creatinine := fmt.Sprint(30+i), "1.1"
		if i%4 == 0 {
			age, creatinine = "999", "9"
		}
		if i%5 == 1 {
			creatinine, age = "999", "9"
		}
		text += fmt.Sprintf("%s;%s;F;no;%d\n", age, creatinine, i)
	}
	s := ward(t)
	for i := range s.Features {
		if s.Features[i].Column == "creatinine" {
			s.Features[i].Max = 2000
		}
	}
	notes := strings.Join(Suggest(tableOf(t, text), s, Mapping{}).Notes, "\n")
	if !strings.Contains(notes, "999, a mark of missing values in another column, also stands in "+
		"creatinine, in 8 cells") || strings.Contains(notes, "stands in age") {
		t.Error(notes)
	}
}

// TestMarkElsewhere: a mapping may declare numbers as missing in one column only. If such numbers
// occur in another column, from the third cell on a remark gives their count and first line.
func TestMarkElsewhere(t *testing.T) {
	for _, c := range []struct {
		m    string
		want string
	}{
		{"columns: {age: {missing: [\"999\"]}}", "creatinine: 3 cells a number that is a mark of " +
			"missing values in another column, read as a number: if it is a mark here too, write " +
			"it under missing of this column (the first in line 3)"},
		{"columns: {age: {missing: [\"999\"]}, creatinine: {missing: [\"999.0\"]}}", ""},
		{"missing: [\"999\"]", ""},
		{"columns: {age: {missing: [\"1.1\"]}}", ""},
		{"columns: {age: {missing: [unknown]}}", ""},
	} {
		m, err := Parse(strings.NewReader(c.m))
		if err != nil {
			t.Fatal(err)
		}
		in, err := dataset.NewLines(strings.NewReader("age,creatinine,sex,died,id\n"+
			"50,1.1,F,no,1\n50,999,F,no,2\n999,999.0,F,no,3\n50,1.1,F,no,4\n50,999,M,yes,5\n"),
			dataset.Format{})
		if err != nil {
			t.Fatal(err)
		}
		bound, err := m.Bind(in.Columns(), ward(t))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := dataset.CollectRows(bound.Rows(in)); err != nil {
			t.Fatal(err)
		}
		var said []string
		for _, r := range bound.Remarks() {
			said = append(said, r.String())
		}
		if got := strings.Join(said, "\n"); got != c.want {
			t.Errorf("%s:\n%s", c.m, got)
		}
	}
}

// column makes a file of one column beside those that ward needs.
func column(name string, cells ...string) string {
	text := name + ";sex;died;id\n"
	for i, c := range cells {
		text += fmt.Sprintf("%s;%s;%s;%d\n", c, []string{"F", "M"}[i%2], []string{"no",
			"yes"}[i%2], i)
	}
	return text
}

// TestSuggestDecimals: the decimal sign is decided by column, by all of its cells and the bounds.
// Where two signs fit, the draft takes neither, says what a cell would become, and is no mapping
// before a person wrote one.
func TestSuggestDecimals(t *testing.T) {
	s := ward(t) // creatinine is 0 to 10
	wide := s
	wide.Features = slices.Clone(s.Features)
	wide.Features[1].Max = 5000
	for name, c := range map[string]struct {
		schema    dataset.Schema
		cells     string
		all, here string // the signs in the draft, for all columns and for this one
		note      string
	}{
		"points": {s, "1.5 2.25 0.5", "", "", ""},
		"commas": {s, "1,5 2,25 0,5", ",", "",
			"numbers have a decimal comma, in all columns"},
		"one comma":         {s, "1.5 2.25 0.5 0.75 1,5", "", "", ""},
		"grouped, German":   {wide, "1.234,5 12 1.100", ",", "", ""},
		"grouped, American": {wide, "1,234 1,234.5 12", ".", "", ""},
		"bounds, comma":     {s, "1,234 2,345 3,1", ",", "", ""},
		"bounds decide": {s, "1,234 2,345 3,456", ",", "",
			`creatinine: "1,234" is 1.234 with a decimal comma and 1234 with a decimal point: the other is out of bounds`},
		"point or groups": {wide, "1.234 2.345 3.456", "", undecidedSign,
			`"1.234" is 1.234 with a decimal point and 1234 with a decimal comma: write under decimal which one it is`},
		"comma or groups": {wide, "1,234 2,345 3,456", "", undecidedSign,
			`"1,234" is 1.234 with a decimal comma and 1234 with a decimal point: write under decimal`},
		"one comma beside three digits": {wide, "4.201 4.202 4.203 3,25", "", undecidedSign,
			`"4.201" is 4201 with a decimal comma and 4.201 with a decimal point: write under`},
		"one point beside three digits": {wide, "4,201 4,202 4,203 3.25", "", undecidedSign,
			`"4,201" is 4201 with a decimal point and 4.201 with a decimal comma: write under`},
		"a comma, three digits and two": {wide, "4.201 4.20 4.203 3,25", "", "",
			`1 cells are no numbers, such as "3,25"`},
		"no group with 0": {wide, "0.457 1.234 2.345", "", "", ""},
		"whole":           {wide, "1234 12 99", "", "", ""},
	} {
		got := Suggest(tableOf(t, column("creatinine", strings.Fields(c.cells)...)), c.schema,
			Mapping{})
		m := got.Mapping
		if m.Decimal != c.all || m.Columns["creatinine"].Decimal != c.here {
			t.Errorf("%s: decimal %q, here %q, want %q and %q", name, m.Decimal,
				m.Columns["creatinine"].Decimal, c.all, c.here)
		}
		if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, c.note) {
			t.Errorf("%s: %q is not said: %s", name, c.note, notes)
		}
		if text, err := m.YAML(); err != nil {
			t.Error(err)
		} else if _, err := Parse(strings.NewReader(string(text))); (err != nil) !=
			(c.here == undecidedSign) {
			t.Errorf("%s: the draft as a mapping: %v", name, err)
		}
	}
	// A decimal sign that a person gave is kept where it fits. Elsewhere another one is written.
	got := Suggest(tableOf(t, column("creatinine", "0.4", "1.25", "2.5")), s, Mapping{Decimal: ","})
	if m := got.Mapping; m.Decimal != "," || m.Columns["creatinine"].Decimal != "." {
		t.Errorf("points where a person said comma: %+v", m)
	}
}

// TestSuggestDates: formats of dates are guessed from all cells, also with names of months. If two
// formats or two centuries fit, the draft shows what a cell would become, and is no valid mapping
// until a person chooses.
func TestSuggestDates(t *testing.T) {
	s := ward(t)
	s.Date = "2024-12-31"
	for name, c := range map[string]struct {
		cells  string
		layout string
		first  int
		note   string
	}{
		"both": {"03/04/1950 05/06/1960", "DD/MM/YYYY or MM/DD/YYYY", 0,
			`age: "03/04/1950" is 1950-04-03 as DD/MM/YYYY and 1950-03-04 as MM/DD/YYYY: write under dates`},
		"the day shows":  {"03/04/1950 25/06/1960", "DD/MM/YYYY", 0, ""},
		"the month does": {"03/04/1950 05/26/1960", "MM/DD/YYYY", 0, ""},
		"same both ways": {"03/03/1950 05/05/1960 13/05/1961", "DD/MM/YYYY", 0, ""},
		"hyphens": {"03-04-1950 05-06-1960", "DD-MM-YYYY or MM-DD-YYYY", 0,
			"write under dates"},
		"names":       {"22-FEB-1999 01-Mrz-1950 3-août-1940", "DD-MON-YYYY", 0, ""},
		"SAS":         {"22FEB1999 01MAR1950", "DDMONYYYY", 0, ""},
		"month alone": {"1950-03 1960-12", "YYYY-MM", 0, ""},
		"two digits":  {"12.03.29 31.12.39 13.05.50", "DD.MM.YY", 0, ""},
		"two centuries": {"12.03.29 13.05.20", "DD.MM.YY", undecidedYear,
			`years have two digits: "13.05.20" is 4 years or 104: write under first_year the first of the hundred years, such as 1925`},
	} {
		got := Suggest(tableOf(t, column("born", strings.Fields(c.cells)...)), s, Mapping{})
		r := got.Mapping.Columns["age"]
		if string(r.Dates) != c.layout || r.FirstYear != c.first || r.YearsUntil != "schema" {
			t.Errorf("%s: %+v, want %s", name, r, c.layout)
		}
		if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, c.note) {
			t.Errorf("%s: %q is not said: %s", name, c.note, notes)
		}
		text, err := got.Mapping.YAML()
		if err != nil {
			t.Fatal(err)
		}
		asks := strings.Contains(c.note, "write under")
		if _, err := Parse(strings.NewReader(string(text))); (err != nil) != asks {
			t.Errorf("%s: the draft as a mapping: %v", name, err)
		}
	}
}

// TestSuggestMissing: marks are found by rule, with their count, and stay in the columns in which
// they are no values.
func TestSuggestMissing(t *testing.T) {
	s := ward(t)
	numbers := "1.5 2.5 0.5 1.25 3.5 2.25 1.75"
	for name, c := range map[string]struct {
		cells string
		want  Texts // in all columns
		note  string
	}{
		"again and again": {"kA kA kA", Texts{"kA"},
			`"kA" in creatinine is taken for a missing value: 3 cells`},
		"once":          {"kA", nil, ""},
		"usual, once":   {"n/a NA", Texts{"NA"}, ""},
		"with digits":   {"<5 <5 <5 <5", nil, ""},
		"a code":        {"-9", Texts{"-9"}, ""},
		"two forms":     {"-9 -9.0", Texts{"-9", "-9.0"}, ""},
		"nines":         {"99.9", Texts{"99.9"}, ""},
		"below zero":    {"-7 -7 -7", Texts{"-7"}, ""},
		"an error":      {"-7", nil, ""},
		"a large value": {"12 12 12", nil, ""},
	} {
		got := Suggest(tableOf(t, column("creatinine", strings.Fields(numbers+" "+c.cells)...)),
			s, Mapping{})
		if !slices.Equal(got.Mapping.Missing, c.want) ||
			got.Mapping.Columns["creatinine"].Missing != nil {
			t.Errorf("%s: missing %q, %q here, want %q", name, got.Mapping.Missing,
				got.Mapping.Columns["creatinine"].Missing, c.want)
		}
		if notes := strings.Join(got.Notes, "\n"); !strings.Contains(notes, c.note) {
			t.Errorf("%s: %q is not said: %s", name, c.note, notes)
		}
	}
	// 9 is a number of one column and None a level of another.
	s.Features[2].Levels = []string{"F", "M", "None"}
	got := Suggest(tableOf(t,
		"age;creatinine;sex;died;id\n99;99;F;no;7\n60;None;None;yes;8\n50;3;M;no;9\n"), s, Mapping{})
	if m := got.Mapping; len(m.Missing) > 0 || !reflect.DeepEqual(m.Columns,
		map[string]Rule{"creatinine": {Missing: Texts{"99", "None"}}}) {
		t.Errorf("marks of one column: %+v", m)
	}
}

// TestNoMark: a text of another column, as shifted rows have, or a column's name, as heads of pages
// have, is no mark of missing values; a word of a column's own is one.
func TestNoMark(t *testing.T) {
	text := "age;creatinine;sex;died;id;name\n"
	for i := range 40 {
		age, creatinine := fmt.Sprint(30+i), "1.1"
		switch i % 8 {
		case 1:
			creatinine = "no"
		case 2:
			creatinine = "Anna"
		case 3:
			age = "creatinine"
		case 4:
			age = "unknown"
		}
		text += fmt.Sprintf("%s;%s;%s;%s;%d;Anna\n", age, creatinine, []string{"F", "M"}[i%2],
			[]string{"no", "yes"}[i%3%2], i)
	}
	draft := Suggest(tableOf(t, text), ward(t), Mapping{})
	if m := draft.Mapping; !slices.Equal(m.Missing, []string{"unknown"}) {
		t.Errorf("missing is %q: %q", m.Missing, draft.Notes)
	}
	notes := strings.Join(draft.Notes, "\n")
	for _, want := range []string{
		`creatinine: 10 cells hold what other columns hold, or a column's name, such as "Anna"`,
		`age: 5 cells hold what other columns hold, or a column's name, such as "creatinine"`,
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("not said: %s\n%s", want, notes)
		}
	}
}

// TestPlusMinus: beside +, the sign - is a no; alone it stands for a missing value. Words for yes
// and no hold together.
func TestPlusMinus(t *testing.T) {
	for cells, want := range map[string]string{
		"+ - + -": "map[+:yes -:no] []", "no yes - no": "map[] [-]", "ja nej ja": "map[ja:yes nej:no] []",
		"sim não": "map[não:no sim:yes] []",
	} {
		text := "age;creatinine;sex;died;id\n"
		texts := strings.Fields(cells)
		for i := range 40 {
			text += fmt.Sprintf("50;1.1;%s;%s;%d\n", []string{"F", "M"}[i%2], texts[i%len(texts)],
				i)
		}
		table := tableOf(t, text)
		m := Suggest(table, ward(t), Mapping{}).Mapping
		if got := fmt.Sprint(m.Columns["died"].Levels, m.Missing); got != want {
			t.Errorf("%s: %s, want %s", cells, got, want)
		}
		says := strings.Join(Advice(table, ward(t)), "\n")
		if strings.Contains(cells, "+") && (strings.Contains(says, "missing") ||
			!strings.Contains(says, "add levels: {-: no}")) {
			t.Errorf("%s: %s", cells, says)
		}
	}
}

// TestNoCellDrafted: records that are empty in all columns of the schema are counted in a draft.
func TestNoCellDrafted(t *testing.T) {
	text := "age;creatinine;sex;died;id;ward;beds\n"
	for i := range 20 {
		text += fmt.Sprintf("%d;1.1;F;no;%d;A;5\n", 50+i, i)
	}
	notes := Suggest(tableOf(t, text+";;;;;B;7\n;;;;;;\n;;;;;C;9\n"), ward(t), Mapping{}).Notes
	if want := string(ProblemNoCell) + ": 2, the first is record 21"; !slices.Contains(notes,
		want) {
		t.Errorf("not said: %s: %q", want, notes)
	}
}

// TestDraftMessages: what a draft says of columns that it cannot map shows a cell, and what to do.
func TestDraftMessages(t *testing.T) {
	s := ward(t)
	s.Date = "2024-12-31"
	for _, c := range []struct{ column, cells, want string }{
		{"creatinine", "64_µmol/l 1.2_mg/dl 70_µmol/l 1.1_mg/dl",
			`such as "1.1 mg/dl", and mg/dl, µmol/l stand behind numbers`},
		{"creatinine", `="54" ="55"`, `no cell of "creatinine" is a number, such as "=\"54\""`},
		{"dob", "500304 610712 431130", `if the numbers are dates, such as 500304`},
		{"dob", "Sat,_04_Mar_1950_09:30:00_+0100",
			`if they are dates, map the column, and write their form under dates`},
	} {
		cells := strings.Split(strings.ReplaceAll(c.cells, " ", "|"), "|")
		for i := range cells {
			cells[i] = `"` + strings.ReplaceAll(strings.ReplaceAll(cells[i], "_", " "), `"`, `""`) + `"`
		}
		notes := strings.Join(Suggest(tableOf(t, column(c.column, cells...)), s, Mapping{}).Notes,
			"\n")
		if !strings.Contains(notes, c.want) {
			t.Errorf("%s: %s is not said: %s", c.cells, c.want, notes)
		}
	}
	for cell, want := range map[string]dates.Layout{
		"%02d-03-50": "DD-MM-YY", "50-03-%02d": "YY-MM-DD", "%02d 03 1950": "DD MM YYYY",
		"1950 MAR %02d": "YYYY MON DD", "1950-MAR-%02d": "YYYY-MON-DD",
	} {
		var cells []string
		for day := 10; day < 30; day++ {
			cells = append(cells, fmt.Sprintf(cell, day))
		}
		r := Suggest(tableOf(t, column("dob", cells...)), s, Mapping{}).Mapping.Columns["age"]
		if r.Dates != want {
			t.Errorf("%s: %+v, want %s", cell, r, want)
		}
	}
}
