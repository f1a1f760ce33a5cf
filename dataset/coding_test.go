package dataset

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// coded codes a table and returns the block of all its records.
func coded(t testing.TB, c *RecordCoding, table *Table, key string) (CodedBlock, []Remark) {
	t.Helper()
	k, err := c.Coder(table.Columns(), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	b := CodedBlock{Rows: table.Rows(), Columns: make([][]byte, len(c.Columns()))}
	record, cells := make([]byte, c.Width()), make([]string, len(table.Columns()))
	for i := range table.Rows() {
		for j, name := range table.Columns() {
			cells[j], _ = table.Cell(i, name)
		}
		k.Code(cells, record)
		at := 0
		for j, width := range c.Columns() {
			b.Columns[j] = append(b.Columns[j], record[at:at+width]...)
			at += width
		}
	}
	return b, k.Remarks()
}

// TestCoding: records that are decoded from coded blocks equal those encoded from the same text
// cells, except that keys stand for patients and parties. This holds under the whole schema and a
// part of it, for every condition, and for odd cells.
func TestCoding(t *testing.T) {
	own, err := ParseSchema(strings.NewReader(`
label: {column: ill, classes: ["no", "yes", "3"], aliases: {"1.0": "yes", n: "no"}}
missing: "?"
patient: id
party: ward
features:
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: chol, kind: numeric, min: 1, max: 500, log: true, missing: true}
  - {column: sex, kind: categorical, levels: [f, m]}
  - {column: grade, kind: categorical, levels: ["1", "2", other]}
`))
	if err != nil {
		t.Fatal(err)
	}
	part := own
	part.Features, part.Party = []Feature{own.Features[3], own.Features[1]}, ""
	texts := map[string][]string{
		"age":   {"", "?", "0", "30", "30.0", "1e2", "-5", "101", "x", "NaN", "0x10", " 7", "-0"},
		"chol":  {"", "?", "1", "200", "1000", "abc", "Inf"},
		"sex":   {"", "?", "f", "m", "d", "other"},
		"grade": {"", "?", "1", "1.0", "2", "3", "other"},
		"ill":   {"", "?", "no", "n", "yes", "1", "3.0", "maybe"},
		"id":    {"", "?", "a", "b", "c"},
		"ward":  {"", "a", "x"},
		"idle":  {"z"},
	}
	columns := []string{"ward", "chol", "ill", "idle", "age", "id", "grade", "sex"}
	rng := rand.New(rand.NewPCG(1, 2))
	var rows [][]string
	for range 400 {
		var row []string
		for _, name := range columns {
			row = append(row, texts[name][rng.IntN(len(texts[name]))])
		}
		rows = append(rows, row)
	}
	table, err := NewTable(columns, rows)
	if err != nil {
		t.Fatal(err)
	}
	c := own.Coding()
	block, remarks := coded(t, c, table, "key")
	conditions := []string{""}
	for _, op := range []string{"==", "!=", "<", "<=", ">", ">="} {
		for _, of := range []string{"age %s 30", "age %s 0", "chol %s 200", "age %s 1e2"} {
			conditions = append(conditions, fmt.Sprintf(of, op))
		}
	}
	for _, op := range []string{"==", "!="} {
		for _, of := range []string{"sex %s f", "sex %s other", "grade %s 1.0", "grade %s other",
			"ill %s yes", "ill %s 3", "not (grade %s 2 or sex == m) and ill != no"} {
			conditions = append(conditions, fmt.Sprintf(of, op))
		}
	}
	for _, s := range []Schema{own, part} {
		for _, text := range conditions {
			want, _, err := s.EncodeLabelled(table)
			var where *Condition
			if text != "" {
				parsed, errParse := ParseCondition(text)
				if errParse != nil {
					t.Fatal(errParse)
				}
				if s.CheckWhere(parsed) != nil { // of a column that the part lacks
					continue
				}
				where = &parsed
				want, _, err = s.EncodeWhere(table, parsed)
			}
			if err != nil {
				t.Fatal(err)
			}
			got := c.Records(s, where, block)
			if !mat.Equal(got.X, want.X) || !slices.Equal(got.Y, want.Y) ||
				!slices.Equal(got.FailsCondition, want.FailsCondition) {
				t.Errorf("%q: other records than of the texts", text)
			}
			if slices.Contains(want.Patient, "?") {
				t.Errorf("%q: a text that stands for a missing number is a patient", text)
			}
			for _, keyed := range [][2][]string{{got.Patient, want.Patient},
				{got.Party, want.Party}} {
				if !sameGroups(keyed[0], keyed[1]) {
					t.Errorf("%q: keys\n%q\nof\n%q", text, keyed[0], keyed[1])
				}
			}
		}
	}
	_, want, err := own.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	count := func(all []Remark) map[Remark]bool {
		out := map[Remark]bool{}
		for _, r := range all {
			out[r] = true
		}
		return out
	}
	if !reflect.DeepEqual(count(remarks), count(want)) {
		t.Errorf("remarks %v, want %v", remarks, want)
	}
	other, _ := coded(t, c, table, "another key")
	if slices.EqualFunc(block.Columns[5:], other.Columns[5:], func(a, b []byte) bool {
		return string(a) == string(b)
	}) {
		t.Error("two sites have the same keys of patients and parties")
	}
}

// sameGroups reports whether keys are equal where texts are equal, and empty where texts are empty.
func sameGroups(keys, texts []string) bool {
	if (keys == nil) != (texts == nil) || len(keys) != len(texts) {
		return false
	}
	of, back := map[string]string{}, map[string]string{}
	for i, key := range keys {
		text := texts[i]
		if k, ok := of[text]; ok && k != key {
			return false
		}
		if b, ok := back[key]; ok && b != text || (key == "") != (text == "") {
			return false
		}
		of[text], back[key] = key, text
	}
	return true
}
