package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/unicode"

	"caucus/dataset"
	"caucus/dataset/dates"
	"caucus/dataset/public"
)

// exports writes schema.yaml, pool.csv and test.csv. For each of five hospitals it also writes a
// file in the form of the hospital's own system, and clean-X.csv with the same records in the
// schema's form; and garbage.csv.
func exports(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: exports")
	}
	c := public.DefaultHospitalConfig()
	c.Sites, c.Records, c.Seed, c.ReturningShare = 7, 3500, 17, 0.4
	table, schema := public.Hospitals(c)
	schema.Party = ""
	text, err := schema.YAML()
	ts.Check(err)
	write := func(name string, b []byte) { ts.Check(os.WriteFile(ts.MkAbs(name), b, 0o600)) }
	write("schema.yaml", text)
	rows := map[string][]int{}
	for i := range table.Rows() {
		site, _ := table.Cell(i, "hospital")
		rows[site] = append(rows[site], i)
	}
	ts.Check(writeHospital(ts.MkAbs("pool.csv"), schema, table.Select(rows["hospital-1"]), true))
	ts.Check(writeHospital(ts.MkAbs("test.csv"), schema, table.Select(rows["hospital-2"]), false))
	for i, export := range []func(*dataset.Table) ([]byte,
		error){german, births, codes, visits, workbook} {
		name := string(rune('a' + i))
		of := table.Select(rows[fmt.Sprintf("hospital-%d", i+3)])
		ts.Check(writeHospital(ts.MkAbs("clean-"+name+".csv"), schema, of, false))
		b, err := export(of)
		ts.Check(err)
		write(name+".csv", b)
	}
	r := rand.New(rand.NewPCG(3, 5))
	garbage := []byte(strings.Join(append(schema.FeatureColumns(), "patient", "readmitted"), ",") +
		"\n")
	for range 500 {
		for range 11 {
			garbage = append(garbage, byte('!'+r.IntN(60)), ',')
		}
		garbage = append(garbage, byte(r.IntN(256)), '\n')
	}
	write("garbage.csv", garbage)
}

// each writes a header and a line for each record, cells by column.
func each(t *dataset.Table, delimiter, header string,
	line func(cell func(string) string) []string) string {
	var out strings.Builder
	out.WriteString(header + "\r\n")
	for i := range t.Rows() {
		cells := line(func(name string) string {
			text, _ := t.Cell(i, name)
			return text
		})
		out.WriteString(strings.Join(cells, delimiter) + "\r\n")
	}
	return out.String()
}

func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}

var inGerman = map[string]string{
	"female": "weiblich", "male": "männlich", "no": "nein", "yes": "ja", "former": "früher",
	"heart-failure": "Herzinsuffizienz", "pneumonia": "Pneumonie", "hip-fracture": "Hüftfraktur", "stroke": "Schlaganfall", "other": "übrige",
}

func translated(text string) string {
	if word, ok := inGerman[text]; ok {
		return word
	}
	return text
}

// german returns a German export: semicolons, decimal commas, Latin-1, µmol/l.
func german(t *dataset.Table) ([]byte, error) {
	text := each(t, ";", "Patientennummer;Alter;Geschlecht;RR syst.;Blutzucker;Kreatinin (µmol/l);BMI;Raucher;Hauptdiagnose;Voraufenthalte;Verweildauer;Wiederaufnahme", func(cell func(string) string) []string {
		creatinine := ""
		if v := number(cell("creatinine")); !math.IsNaN(v) {
			creatinine = strings.Replace(fmt.Sprintf("%.2f", v*88.4), ".", ",", 1)
		}
		return []string{
			cell("patient"), cell("age"), translated(cell("sex")), cell("systolic_bp"), cell("glucose"), creatinine, strings.Replace(cell("bmi"), ".", ",", 1),
			translated(cell("smoker")), translated(cell("diagnosis")), cell("admissions_before"), cell("days"), translated(cell("readmitted")),
		}
	})
	latin, err := charmap.ISO8859_1.NewEncoder().String(text)
	return []byte(latin), err
}

// stay returns a birth date for this age at the end of 2024, and the first and last day of a stay
// of this length.
func stay(i int, age, days string) (born, in, out dates.Date) {
	born, _ = dates.NewDate(2024-int(number(age)), 1+i%12, 1+i%28)
	in, _ = dates.NewDate(2024, 1+i%10, 1+i%28)
	return born, in, in + dates.Date(number(days))
}

func british(d dates.Date) string {
	y, m, day := d.YearMonthDay()
	return fmt.Sprintf("%02d/%02d/%04d", day, m, y)
}

// births returns birth dates and dates of stays, in UTF-16 with tabs, as Excel writes "Unicode
// text".
func births(t *dataset.Table) ([]byte, error) {
	i := 0
	text := each(t, "\t", "patient\tborn\tsex\tsystolic_bp\tglucose\tcreatinine\tbmi\tsmoker\tdiagnosis\tadmissions_before\tadmitted\tdischarged\treadmitted", func(cell func(string) string) []string {
		i++
		born, in, out := stay(i, cell("age"), cell("days"))
		return []string{
			cell("patient"), british(born), strings.ToUpper(cell("sex")[:1]), cell("systolic_bp"), cell("glucose"), cell("creatinine"), cell("bmi"),
			cell("smoker"), cell("diagnosis"), cell("admissions_before"), british(in), british(out), cell("readmitted"),
		}
	})
	wide, err := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String(text)
	return []byte(wide), err
}

// codes returns a packed file with names in capitals, codes for levels, and -9 and NULL for missing
// values.
func codes(t *dataset.Table) ([]byte, error) {
	code := map[string]string{"female": "2", "male": "1", "no": "0", "former": "1", "yes": "2"}
	i := 0
	text := each(t, ",", "PATIENT,AGE,SEX,SYSTOLIC_BP,GLUCOSE,CREATININE,BMI,SMOKER,DIAGNOSIS,ADMISSIONS_BEFORE,DAYS,READMITTED", func(cell func(string) string) []string {
		i++
		creatinine := cell("creatinine")
		if creatinine == "?" {
			creatinine = []string{"-9", "NULL", "-9.00", ""}[i%4]
		}
		return []string{
			cell("patient"), cell("age"), code[cell("sex")], cell("systolic_bp"), cell("glucose"), creatinine, cell("bmi"), code[cell("smoker")],
			cell("diagnosis"), cell("admissions_before"), cell("days"), strconv.FormatBool(cell("readmitted") == "yes"),
		}
	})
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	_, err := io.WriteString(z, text)
	err = errors.Join(err, z.Close())
	return out.Bytes(), err
}

// visits returns a file with several rows for each patient, a column of person numbers, no header
// and extra columns, packed with zstd.
func visits(t *dataset.Table) ([]byte, error) {
	i := 0
	text := each(t, "|", "# exported by the ward's system",
		func(cell func(string) string) []string {
			i++
			bmi := number(cell("bmi"))
			return []string{
				fmt.Sprint(i), cell("patient"), cell("age"), cell("sex"), cell("systolic_bp"), cell("glucose"), cell("creatinine"), fmt.Sprintf("%.4f", bmi*1.7*1.7), "170",
				cell("smoker"), cell("diagnosis"), cell("admissions_before"), cell("days"), cell("readmitted"), `"a remark, | and all"`,
			}
		})
	z, err := zstd.NewWriter(nil)
	if err != nil {
		return nil, err
	}
	return z.EncodeAll([]byte(text), nil), nil
}

// workbook returns an Excel workbook with the ending .csv: numbers that show fewer digits than they
// have, dates, and a cover sheet.
func workbook(t *dataset.Table) ([]byte, error) {
	f := excelize.NewFile()
	if _, err := f.NewSheet("Fälle"); err != nil {
		return nil, err
	}
	whole, day := "0", "dd.mm.yyyy"
	rounded, err := f.NewStyle(&excelize.Style{CustomNumFmt: &whole})
	if err != nil {
		return nil, err
	}
	dates, err := f.NewStyle(&excelize.Style{CustomNumFmt: &day})
	if err != nil {
		return nil, err
	}
	err = errors.Join(
		f.SetCellStr("Sheet1", "A1", "Cover"),
		f.SetSheetRow("Fälle", "A1",
			&[]string{"patient", "born", "sex", "systolic_bp", "glucose", "creatinine", "bmi",
				"smoker", "diagnosis", "admissions_before", "days", "readmitted"}),
	)
	for i := range t.Rows() {
		cell := func(name string) string {
			text, _ := t.Cell(i, name)
			return text
		}
		row := fmt.Sprint(i + 2)
		born, _, _ := stay(i, cell("age"), cell("days"))
		for j, v := range []any{
			cell("patient"), int(born) + 25569, cell("sex"), number(cell("systolic_bp")), number(cell("glucose")), number(cell("creatinine")), number(cell("bmi")),
			cell("smoker"), cell("diagnosis"), number(cell("admissions_before")), number(cell("days")), cell("readmitted") == "yes",
		} {
			at := string(rune('A'+j)) + row
			if x, ok := v.(float64); ok && math.IsNaN(x) {
				continue
			}
			err = errors.Join(err, f.SetCellValue("Fälle", at, v))
		}
		err = errors.Join(err, f.SetCellStyle("Fälle", "B"+row, "B"+row, dates),
			f.SetCellStyle("Fälle", "F"+row, "G"+row, rounded))
	}
	var out bytes.Buffer
	err = errors.Join(err, f.Write(&out), f.Close())
	return out.Bytes(), err
}
