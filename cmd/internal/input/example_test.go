package input_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"caucus/cmd/internal/console"
	"caucus/cmd/internal/input"
	"caucus/dataset"
)

// A file is read under a schema, as every command reads one.
func Example() {
	dir, err := os.MkdirTemp("", "input")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	schema, err := dataset.ParseSchema(strings.NewReader(`name: ward
label: {column: ill, classes: ["no", "yes"]}
features: [{column: age, kind: numeric, min: 0, max: 120}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	file := filepath.Join(dir, "ward.csv")
	if err := os.WriteFile(file, []byte("age;ill\n41;yes\n67;no\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	table, err := new(input.ReadOptions).Table(&console.Console{Out: os.Stdout, Err: os.Stdout},
		file,
		schema, dataset.Format{Delimiter: ';'})
	if err != nil {
		fmt.Println(err)
		return
	}
	age, _ := table.Cell(1, "age")
	fmt.Println(table.Rows(), "records; the second is of age", age)
	// Output: 2 records; the second is of age 67
}
