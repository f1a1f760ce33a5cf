package mapping_test

import (
	"fmt"
	"strings"

	"caucus/dataset"
	"caucus/dataset/mapping"
)

// A hospital's file has its own column names, dates and decimal comma. The mapping, which stays at
// the hospital, turns them into the study's columns.
func Example() {
	schema, err := dataset.ParseSchema(strings.NewReader(`
label: {column: readmitted, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: lactate, kind: numeric, min: 0, max: 20}
date: 2030-06-30
`))
	if err != nil {
		panic(err)
	}
	m, err := mapping.Parse(strings.NewReader(`
delimiter: ";"
decimal: ","
dates: DD.MM.YYYY
columns:
  age: {from: born, years_until: schema}
  lactate: {from: LAC, multiply: 0.111}
  readmitted: {from: wieder, levels: {ja: "yes", nein: "no"}}
`))
	if err != nil {
		panic(err)
	}
	rows, err := dataset.NewCSV(strings.NewReader("born;LAC;wieder\n01.07.1960;18,0;ja\n30.06.1990;9,0;nein\n"), dataset.Format{Delimiter: ';'})
	if err != nil {
		panic(err)
	}
	mapped, _, err := m.AllRows(rows, schema)
	if err != nil {
		panic(err)
	}
	lines, err := dataset.CollectRows(mapped)
	if err != nil {
		panic(err)
	}
	for i := range lines.Table.Rows() {
		age, _ := lines.Table.Cell(i, "age")
		lactate, _ := lines.Table.Cell(i, "lactate")
		again, _ := lines.Table.Cell(i, "readmitted")
		fmt.Println(age, lactate, again)
	}
	// Output:
	// 69 1.998 yes
	// 40 0.999 no
}
