package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"golang.org/x/text/encoding/charmap"

	"caucus/cmd/internal/input"
	"caucus/cmd/internal/siteverbs"
	"caucus/dataset"
	"caucus/dataset/dates"
	"caucus/dataset/files"
	"caucus/dataset/mapping"
	"caucus/dataset/public"
)

// agreed is the schema on which five hospitals agreed.
const agreed = `
label: {column: disease, classes: ["no", "yes"]}
patient: patient
missing: "?"
date: 2024-12-31
features:
  - {column: age, kind: numeric, min: 20, max: 90}
  - {column: sex, kind: categorical, levels: [female, male]}
  - {column: chest_pain, kind: categorical, levels: [typical, atypical, non-anginal, none]}
  - {column: systolic_bp, kind: numeric, min: 80, max: 200, missing: true}
  - {column: cholesterol, kind: numeric, min: 100, max: 400, missing: true}
  - {column: heart_rate, kind: numeric, min: 60, max: 220, missing: true}
  - {column: exercise_angina, kind: categorical, levels: ["no", "yes"]}
  - {column: st_depression, kind: numeric, min: -3, max: 7, missing: true}
`

var agreedColumns = []string{"patient", "age", "sex", "chest_pain", "systolic_bp", "cholesterol",
	"heart_rate", "exercise_angina", "st_depression", "disease"}

// heartRecords returns the records of the UCI hospitals, with the agreed schema's columns and
// names. Every tenth patient has two records.
func heartRecords(t *testing.T) map[string][][]string {
	dir := os.Getenv("CAUCUS_DATA")
	if dir == "" {
		t.Skip("CAUCUS_DATA is not set: it names the folder of public data sets this test reads")
	}
	known, err := public.LoadKnownDataset("heart_disease")
	if err != nil {
		t.Fatal(err)
	}
	table, err := known.Load(os.DirFS(dir), "train")
	if err != nil {
		t.Fatal(err)
	}
	yesno := map[string]string{"0": "no", "1": "yes", "2": "yes", "3": "yes", "4": "yes", "?": "?"}
	out := map[string][][]string{}
	for i := range table.Rows() {
		cell := func(name string) string {
			text, _ := table.Cell(i, name)
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				return strconv.FormatFloat(v, 'f', -1, 64)
			}
			return text
		}
		site := cell("hospital")
		n := len(out[site])
		if n%10 == 9 {
			n--
		}
		out[site] = append(out[site], []string{
			fmt.Sprint(48_000_000 + 7*n), cell("age"), map[string]string{"0": "female", "1": "male"}[cell("sex")],
			map[string]string{"1": "typical", "2": "atypical", "3": "non-anginal", "4": "none"}[cell("cp")],
			cell("trestbps"), cell("chol"), cell("thalach"), yesno[cell("exang")], cell("oldpeak"), yesno[cell("num")],
		})
	}
	out["cleveland 1"], out["cleveland 2"] = out["cleveland"][:150], out["cleveland"][150:]
	return out
}

// hospital is one of the five: its records, the form in which its system writes them, and the lines
// that a person adds to the draft.
type hospital struct {
	of        string
	write     func(t *testing.T, rows [][]string) []byte
	byHand    []string // lines below columns
	nameless  bool     // no patient number
	multiline bool     // line breaks in quoted cells
}

// asText returns rows as text: a header, and cells by column name.
func asText(rows [][]string, delimiter rune, header []string,
	line func(i int, cell func(string) string) []string) string {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	w.Comma, w.UseCRLF = delimiter, true
	_ = w.Write(header) // a bytes.Buffer does not fail
	for i, row := range rows {
		_ = w.Write(line(i, func(name string) string {
			if text := row[slices.Index(agreedColumns, name)]; text != "?" {
				return text
			}
			return ""
		}))
	}
	w.Flush()
	return out.String()
}

func word(of map[string]string) func(string) string {
	return func(text string) string { return of[text] }
}

var (
	inCodes = word(map[string]string{"typical": "1", "atypical": "2", "non-anginal": "3",
		"none": "4", "no": "0", "yes": "1", "female": "F", "male": "M"})
	germanly = word(map[string]string{
		"typical": "typisch", "atypical": "atypisch", "non-anginal": "nicht anginös", "none": "keiner", "no": "nein", "yes": "ja", "female": "weiblich", "male": "männlich",
	})
)

// germanHospital: German words, semicolons, decimal commas, Windows-1252.
func germanHospital(t *testing.T, rows [][]string) []byte {
	text := asText(rows, ';', []string{"Patientennummer", "Alter", "Geschlecht", "Brustschmerz",
		"RR syst. (mmHg)", "Cholesterin (mg/dl)", "Herzfrequenz", "Belastungsangina", "ST-Senkung",
		"Kosten (€)", "Erkrankung"},
		func(i int, cell func(string) string) []string {
			return []string{
				cell("patient"), cell("age"), germanly(cell("sex")), germanly(cell("chest_pain")), cell("systolic_bp"), cell("cholesterol"), cell("heart_rate"),
				germanly(cell("exercise_angina")), strings.Replace(cell("st_depression"), ".", ",", 1), fmt.Sprintf("1.%03d,%02d", i, i%100), germanly(cell("disease")),
			}
		})
	b, err := charmap.Windows1252.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return []byte(b)
}

// born returns a birth date that gives an age on the agreed day.
func born(i int, age string) dates.Date {
	years, _ := strconv.Atoi(age)
	d, _ := dates.NewDate(2024-years, 1+i%12, 1+i%28)
	return d
}

// birthsHospital: birth dates in place of ages, j and n, codes for pain.
func birthsHospital(_ *testing.T, rows [][]string) []byte {
	return []byte(asText(rows, ';',
		[]string{"Fall-Nr", "Pat-ID", "Geburtsdatum", "Geschlecht", "Thoraxschmerz",
			"Blutdruck systolisch", "Cholesterin", "Puls", "Angina bei Belastung", "ST",
			"Erkrankung"},
		func(i int, cell func(string) string) []string {
			y, m, d := born(i, cell("age")).YearMonthDay()
			german := germanly(cell("sex"))
			return []string{
				fmt.Sprint(900_000 + i), cell("patient"), fmt.Sprintf("%02d.%02d.%d", d, m, y), german[:1], inCodes(cell("chest_pain")), cell("systolic_bp"), cell("cholesterol"), cell("heart_rate"),
				germanly(cell("exercise_angina"))[:min(1, len(cell("exercise_angina")))], cell("st_depression"), germanly(cell("disease"))[:1],
			}
		}))
}

// codesHospital: capitals, codes, and -9, -9.0 and NULL for missing values.
func codesHospital(_ *testing.T, rows [][]string) []byte {
	header := strings.Split(strings.ToUpper(strings.Join(agreedColumns, ",")), ",")
	return []byte(asText(rows, ',', header, func(i int, cell func(string) string) []string {
		var line []string
		for j, name := range agreedColumns {
			text := cell(name)
			if code := inCodes(text); code != "" {
				text = code
			}
			if text == "" {
				text = []string{"-9", "NULL", "-9.0"}[(i+j)%3]
			}
			line = append(line, text)
		}
		return line
	}))
}

// lettersHospital: no patient number, and free text in a column that no study uses. The text has
// line breaks, quotes, and lines that look like records.
func lettersHospital(_ *testing.T, rows [][]string) []byte {
	return []byte(asText(rows, ',',
		[]string{"Case", "Age", "Sex", "ChestPain", "RestingBP", "Cholesterol", "MaxHR",
			"ExerciseAngina", "Oldpeak", "Letter", "HeartDisease"},
		func(i int, cell func(string) string) []string {
			letter := []string{
				"", "no complaints", "Dear colleague,\n\nthe patient said \"it hurts\", twice.\n\"\nYours,\nDr. A, B, C", "seen in the ward; discharged",
				"7,61,male,none,140,240,120,no,1.5,,no\n", "\"quoted\"", "one,\ntwo", "5\" scar",
			}[i%8]
			return []string{
				fmt.Sprint(i + 1), cell("age"), cell("sex"), cell("chest_pain"), cell("systolic_bp"), cell("cholesterol"), cell("heart_rate"),
				cell("exercise_angina"), cell("st_depression"), letter, cell("disease"),
			}
		}))
}

type visit struct {
	Born   int32    `parquet:"dob,date"`
	Gender string   `parquet:"gender"`
	Pain   int32    `parquet:"chest_pain"`
	BP     *int32   `parquet:"sbp,optional"`
	Chol   *float64 `parquet:"chol,optional"`
	HR     *int32   `parquet:"hr,optional"`
	Angina *bool    `parquet:"exercise_angina,optional"`
	ST     *float64 `parquet:"st_depression,optional"`
	Ill    bool     `parquet:"disease"`
}

// parquetHospital: Parquet with numbers, dates and Booleans; no patient number.
func parquetHospital(t *testing.T, rows [][]string) []byte {
	var all []visit
	asText(rows, ',', nil, func(i int, cell func(string) string) []string {
		v := visit{Born: int32(born(i, cell("age"))), Gender: inCodes(cell("sex")),
			Ill: cell("disease") == "yes"}
		pain, _ := strconv.Atoi(inCodes(cell("chest_pain")))
		v.Pain = int32(pain)
		number := func(name string) *float64 {
			x, err := strconv.ParseFloat(cell(name), 64)
			if err != nil {
				return nil
			}
			return &x
		}
		whole := func(name string) *int32 {
			x := number(name)
			if x == nil {
				return nil
			}
			n := int32(*x)
			return &n
		}
		v.BP, v.Chol, v.HR, v.ST = whole("systolic_bp"), number("cholesterol"), whole("heart_rate"),
			number("st_depression")
		if text := cell("exercise_angina"); text != "" {
			yes := text == "yes"
			v.Angina = &yes
		}
		all = append(all, v)
		return nil
	})
	var out bytes.Buffer
	if err := parquet.Write(&out, all); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestFiveHospitals: five hospitals with one agreed schema bring files in the form of their
// systems. With the draft of agent map, and at most three lines by hand that the draft asks for, an
// import gives exactly the records of a clean file, in the same order.
func TestFiveHospitals(t *testing.T) {
	records := heartRecords(t)
	s, err := dataset.ParseSchema(strings.NewReader(agreed))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	schemaFile := filepath.Join(dir, "schema.yaml")
	if err := os.WriteFile(schemaFile, []byte(agreed), 0o600); err != nil {
		t.Fatal(err)
	}
	all := 0
	for _, h := range []hospital{
		{of: "cleveland 1", write: germanHospital, byHand: []string{
			"chest_pain: {from: Brustschmerz, levels: {typisch: typical, atypisch: atypical, nicht anginös: non-anginal, keiner: none}}",
			"st_depression: ST-Senkung",
		}},
		{of: "hungarian", write: birthsHospital, byHand: []string{
			"chest_pain: {from: Thoraxschmerz, levels: {1: typical, 2: atypical, 3: non-anginal, 4: none}}",
			"st_depression: ST",
		}},
		{of: "switzerland", write: codesHospital, byHand: []string{
			"chest_pain: {from: CHEST_PAIN, levels: {1: typical, 2: atypical, 3: non-anginal, 4: none}}",
		}},
		{of: "va", write: lettersHospital, nameless: true, multiline: true, byHand: []string{
			"systolic_bp: RestingBP",
			"heart_rate: MaxHR",
			"st_depression: Oldpeak",
		}},
		{of: "cleveland 2", write: parquetHospital, nameless: true, byHand: []string{
			"chest_pain: {levels: {1: typical, 2: atypical, 3: non-anginal, 4: none}}",
		}},
	} {
		t.Run(h.of, func(t *testing.T) {
			rows := records[h.of]
			file := filepath.Join(dir, "export")
			if err := os.WriteFile(file, h.write(t, rows), 0o600); err != nil {
				t.Fatal(err)
			}
			var out, said bytes.Buffer
			if code := Main(context.Background(),
				[]string{"agent", "map", "--json", "--schema", schemaFile, "--file",
					file}, &out, &said); code != 0 {
				t.Fatalf("agent map: %d, %s", code, said.String())
			}
			var draft siteverbs.MappingDraft
			if err := json.Unmarshal(out.Bytes(), &draft); err != nil {
				t.Fatal(err)
			}
			if draft.Records != len(rows) || draft.Malformed > 0 {
				t.Errorf("agent map read %d records, %d of them malformed, of %d", draft.Records, draft.Malformed, len(rows))
			}
			if h.nameless != (draft.Mapping.Patient == mapping.NoPatient) {
				t.Errorf("patient: %q is drafted", draft.Mapping.Patient)
			}
			if len(h.byHand) > 3 {
				t.Errorf("%d lines by hand", len(h.byHand))
			}
			all += len(h.byHand)
			t.Logf("%d records, %d lines by hand: %s\n%s", len(rows), len(h.byHand),
				strings.Join(h.byHand, " | "), said.String())
			hand, err := mapping.Parse(strings.NewReader("columns:\n  " + strings.Join(h.byHand,
				"\n  ") + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			for name := range hand.Columns {
				if !slices.Contains(draft.Unassigned, name) &&
					!slices.ContainsFunc(draft.Notes, func(n string) bool {
						return strings.HasPrefix(n, name+":")
					}) {
					t.Errorf("nothing asked for %s", name)
				}
			}
			m := draft.Mapping
			maps.Copy(m.Columns, hand.Columns)

			got, lines := imported(t, file, s, m, files.OpenForPerson)
			clean := slices.Clone(rows)
			for i := range clean {
				if clean[i] = slices.Clone(clean[i]); h.nameless {
					clean[i][0] = ""
				}
			}
			table, err := dataset.NewTable(agreedColumns, clean)
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := s.EncodeLabelled(table)
			if err != nil {
				t.Fatal(err)
			}
			if lines.Malformed > 0 || got.Len() != len(rows) {
				t.Errorf("%d records, %d malformed, of %d", got.Len(), lines.Malformed, len(rows))
			}
			if !slices.Equal(got.Y, want.Y) || !slices.Equal(got.Patient, want.Patient) ||
				!slices.Equal(got.X.RawMatrix().Data, want.X.RawMatrix().Data) {
				for i := range min(got.Len(), want.Len()) {
					if got.Y[i] != want.Y[i] || got.Patient[i] != want.Patient[i] ||
						!slices.Equal(got.X.RawRowView(i), want.X.RawRowView(i)) {
						t.Fatalf("record %d is %v, %d, %q, of the clean file %v, %d, %q", i, got.X.RawRowView(i), got.Y[i], got.Patient[i], want.X.RawRowView(i), want.Y[i], want.Patient[i])
					}
				}
			}
			_, byLine := imported(t, file, s, m, files.Open)
			if lost := byLine.Malformed > 0; lost != h.multiline {
				t.Errorf("by lines %d records are malformed", byLine.Malformed)
			} else if lost {
				t.Logf("read by lines: %d records, %d of them malformed", byLine.Table.Rows(),
					byLine.Malformed)
			}
		})
	}
	t.Logf("%d lines by hand at five hospitals", all)
}

// imported returns the encoded records of a file under a mapping.
func imported(t *testing.T, file string, s dataset.Schema, m mapping.Mapping,
	open input.Opener) (*dataset.Records, dataset.CollectedRows) {
	t.Helper()
	in, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := input.OpenRecords(in, m, open)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := opened.Rows()
	if err != nil {
		t.Fatal(err)
	}
	bound, err := m.Bind(rows.Columns(), s)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := dataset.CollectRows(bound.Rows(rows))
	if err = errors.Join(err, opened.Close()); err != nil || len(bound.Missing) > 0 {
		t.Fatalf("%v, missing %q", err, bound.Missing)
	}
	records, _, err := s.EncodeLabelled(lines.Table)
	if err != nil {
		t.Fatal(err)
	}
	return records, lines
}
