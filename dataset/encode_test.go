package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func TestEncode(t *testing.T) {
	s := parse(t, clinic)
	table := tableOf(t,
		"site key age cost ward x1 x2 x3 y outcome",
		"s1 k1 50 0 1 0 0 0 0 yes",
		"s1 k2 -5 ? 2.0 -1 1 0.5 7 1",
		"s2 k1 NaN 999 east 0 0 0 0 ?",
		"s2 k3 1e999 99 ? 0 0 0 text 1.0")
	r, remarks, err := s.EncodeLabelled(table)
	if err != nil {
		t.Fatal(err)
	}
	log100 := math.Log1p(99) / math.Log1p(999)
	want := mat.NewDense(4, 11, []float64{
		// age, cost, cost?, ward=1, 2, north, other, x1, x2, x3, y
		0.5, 0, 0, 1, 0, 0, 0, .5, .5, .5, .5,
		0, 0.5, 1, 0, 1, 0, 0, 0, 1, .75, 1,
		0.5, 1, 0, 0, 0, 0, 1, .5, .5, .5, .5,
		0.5, log100, 0, 0, 0, 0, 1, .5, .5, .5, .5,
	})
	if !mat.EqualApprox(r.X, want, 1e-15) {
		t.Errorf("X =\n%v\nwant\n%v", mat.Formatted(r.X), mat.Formatted(want))
	}
	// "1" is an alias, and "1.0" is the same number. A missing label gets no class, even if the
	// schema gives every other text a class.
	if want := []int{1, 1, -1, 1}; !slices.Equal(r.Y, want) {
		t.Errorf("Y = %v, want %v", r.Y, want)
	}
	if !slices.Equal(r.Party, []string{"s1", "s1", "s2", "s2"}) ||
		!slices.Equal(r.Patient, []string{"k1", "k2", "k1", "k3"}) {
		t.Errorf("party %v, patient %v", r.Party, r.Patient)
	}
	wantRemarks := []Remark{
		{Column: "outcome", Problem: ProblemUnknownLabel, Count: 1},
		{Column: "age", Problem: ProblemClamped, Count: 1}, {Column: "age", Problem: ProblemNotANumber, Count: 2},
		{Column: "cost", Problem: ProblemMissing, Count: 1},
		{Column: "ward", Problem: ProblemMissing, Count: 1}, {Column: "ward", Problem: ProblemUnknownLevel,
			Count: 1},
		{Column: "y", Problem: ProblemClamped, Count: 1}, {Column: "y", Problem: ProblemNotANumber, Count: 1},
	}
	if !slices.Equal(remarks, wantRemarks) {
		t.Errorf("remarks %v\nwant %v", remarks, wantRemarks)
	}
	if got := remarks[1].String(); got != "age: 1 cell outside its bounds, clamped" {
		t.Errorf("remark reads %q", got)
	}

	part := r.Select([]int{3, 0})
	if part.Len() != 2 || !mat.Equal(part.X.RowView(0), r.X.RowView(3)) || part.Y[1] != 1 ||
		part.Party[0] != "s2" || part.Patient[1] != "k1" {
		t.Errorf("selected records %+v", part)
	}
	part.X.Set(0, 0, 9)
	if r.X.At(3, 0) == 9 {
		t.Error("a selection shares memory with its records")
	}
}

// Only decimal numbers are numbers; Go's other forms are not.
func TestEncodeDecimalsOnly(t *testing.T) {
	s := parse(t, `
label: {column: label, classes: [a, b]}
features: [{column: n, kind: numeric, min: 0, max: 20}, {column: c, kind: categorical, levels: [16]}]
`)
	r, _, err := s.Encode(tableOf(t, "n c", "16 16.0", "1_6 1_6", "0x1p4 0x1p4", "0X10P0 0X10P0"))
	if err != nil {
		t.Fatal(err)
	}
	want := mat.NewDense(4, 3, []float64{.8, 1, 0, .5, 0, 1, .5, 0, 1, .5, 0, 1})
	if !mat.Equal(r.X, want) {
		t.Errorf("X =\n%v", mat.Formatted(r.X))
	}
}

// "other" among the levels stands for unknown texts, without an extra column.
func TestEncodeOtherLevel(t *testing.T) {
	s := parse(t, "label: {column: y, classes: [a, b]}\nfeatures: [{column: c, kind: categorical, levels: [u, other]}]\n")
	r, _, err := s.Encode(tableOf(t, "c y", "u a", "other b", "new b"))
	if err != nil {
		t.Fatal(err)
	}
	if want := mat.NewDense(3, 2, []float64{1, 0, 0, 1, 0, 1}); !mat.Equal(r.X, want) {
		t.Errorf("X =\n%v", mat.Formatted(r.X))
	}
}

// Predictions need only feature columns; training needs the label and the patient too. A single
// class, or no record, is fine.
func TestEncodeAbsentColumns(t *testing.T) {
	s := parse(t, clinic)
	r, remarks, err := s.Encode(tableOf(t, "age cost ward x1 x2 x3 y", "1 1 1 1 1 1 1"))
	if err != nil || len(remarks) > 0 {
		t.Fatal(err, remarks)
	}
	if r.Y[0] != -1 || r.Party != nil || r.Patient != nil {
		t.Errorf("records %+v", r)
	}
	empty, _, err := s.EncodeLabelled(tableOf(t, "age cost ward x1 x2 x3 y outcome key"))
	if err != nil || empty.Len() != 0 || !empty.X.IsEmpty() {
		t.Errorf("no records: %+v, %v", empty, err)
	}
	if got := empty.Select(nil); got.Len() != 0 || !got.X.IsEmpty() {
		t.Errorf("no records selected: %+v", got)
	}
	for header, want := range map[string]string{
		"age cost ward x1 x2 x3 y key":       `no column "outcome"; the file has age, cost, ward, x1, x2, x3, y, key`,
		"age cost ward x1 x2 x3 y outcome":   `no column "key"`,
		"age ward x1 x2 x3 outcome key":      `no column "cost", "y"`,
		"age,cost,ward,x1,x2,x3,y,outcome":   `the file has a single one and its delimiter looks like ','`,
		"44 17.5 north 0 0.5 1 0.25 yes k17": "the file has 9 columns, some with numbers for names; if the file has no header",
	} {
		_, _, err := s.EncodeLabelled(tableOf(t, header))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("header %s: error %v, want %q", header, err, want)
		}
	}
}

// Fast encoding (a distinct value once, rows in blocks) agrees with encoding cell by cell, on whole
// tables and on selections of few rows.
func TestEncodeMatchesCellByCell(t *testing.T) {
	s := parse(t, `
label: {column: label, classes: [a, b]}
features:
  - {column: n, kind: numeric, min: -2, max: 40, missing: true}
  - {column: l, kind: numeric, min: 0, max: 100, log: true}
  - {column: c, kind: categorical, levels: [a, b, 3]}
missing: "-"
`)
	cell := rapid.OneOf(
		rapid.SampledFrom([]string{"", "-", "a", "b", "c", "3", "3.00", "NaN", "-Inf", "1e400",
			"0x10", "0x1p4", "1_0", "-0"}),
		rapid.Map(rapid.Float64Range(-50, 150), func(v float64) string {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}),
	)
	rapid.Check(t, func(t *rapid.T) {
		rows := make([][]string, rapid.IntRange(1, 300).Draw(t, "rows"))
		for i := range rows {
			rows[i] = []string{cell.Draw(t, "n"), cell.Draw(t, "l"), cell.Draw(t, "c"),
				cell.Draw(t, "label")}
		}
		table, err := NewTable([]string{"n", "l", "c", "label"}, rows)
		if err != nil {
			t.Fatal(err)
		}
		pick := rapid.SliceOfN(rapid.IntRange(0, len(rows)-1), 1, 5).Draw(t, "pick")
		for _, c := range []struct {
			table *Table
			rows  [][]string
		}{{table, rows}, {table.Select(pick), pickRows(rows, pick)}} {
			r, _, err := s.Encode(c.table)
			if err != nil {
				t.Fatal(err)
			}
			for i, row := range c.rows {
				want := slices.Concat(dumbNumber(row[0], -2, 40, false, true),
					dumbNumber(row[1], 0, 100, true, false), dumbLevel(row[2]))
				for j := range want {
					if got := r.X.At(i, j); math.Abs(got-want[j]) > 1e-15 ||
						!(got >= 0 && got <= 1) {
						t.Fatalf("row %q: X = %v, want %v", row, r.X.RawRowView(i), want)
					}
				}
				if want := slices.Index([]string{"a", "b"}, row[3]); r.Y[i] != want {
					t.Fatalf("label %q: class %d, want %d", row[3], r.Y[i], want)
				}
			}
		}
	})
}

func dumbNumber(text string, lo, hi float64, log, flag bool) []float64 {
	v, err := strconv.ParseFloat(text, 64)
	out := []float64{0.5, 1}
	if err == nil && !strings.ContainsAny(text, "_xX") && !math.IsNaN(v) && !math.IsInf(v, 0) {
		v = math.Max(lo, math.Min(hi, v))
		out = []float64{(v - lo) / (hi - lo), 0}
		if log {
			out[0] = math.Log1p(v) / math.Log1p(hi)
		}
	}
	if flag {
		return out
	}
	return out[:1]
}

func dumbLevel(text string) []float64 {
	out := make([]float64, 4)
	switch v, err := strconv.ParseFloat(text, 64); {
	case text == "a":
		out[0] = 1
	case text == "b":
		out[1] = 1
	case err == nil && v == 3 && !strings.ContainsAny(text, "_xX"):
		out[2] = 1
	default:
		out[3] = 1
	}
	return out
}

func ExampleSchema_Encode() {
	schema, err := ParseSchema(strings.NewReader(`
label: {column: readmitted, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: ward, kind: categorical, levels: [north, south]}
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := ReadCSV(strings.NewReader("age,ward,readmitted\n50,south,yes\n130,west,no\n"), schema.Format())
	if err != nil {
		fmt.Println(err)
		return
	}
	records, remarks, err := schema.EncodeLabelled(table)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(schema.FeatureNames())
	for i := range records.Len() {
		fmt.Println(records.X.RawRowView(i), schema.Classes()[records.Y[i]])
	}
	for _, r := range remarks {
		fmt.Println(r)
	}
	// Output:
	// [age ward=north ward=south ward=other]
	// [0.5 0 1 0] yes
	// [1 0 0 1] no
	// age: 1 cell outside its bounds, clamped
	// ward: 1 cell not a known level, counted as other
}
