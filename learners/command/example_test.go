//go:build !windows

package command_test

import (
	"context"
	"fmt"
	"strings"

	"caucus/dataset"
	"caucus/learners/command"
)

// A program in one line of shell predicts the disease of old people.
func Example() {
	schema, err := dataset.ParseSchema(strings.NewReader(`
label: {column: ill, classes: ["no", "yes"]}
features: [{column: age, kind: numeric, min: 0, max: 100}]
`))
	if err != nil {
		panic(err)
	}
	read := func(text string) *dataset.Records {
		table, err := dataset.ReadCSV(strings.NewReader(text), dataset.Format{})
		if err != nil {
			panic(err)
		}
		records, _, err := schema.Encode(table)
		if err != nil {
			panic(err)
		}
		return records
	}
	p := command.Program{Command: []string{"sh", "-c", `tail -n +2 "$1" | while read age; do [ "$age" -gt 60 ] && echo yes || echo no; done`}}
	votes, err := p.Vote(context.Background(), schema, read("age,ill\n70,yes\n20,no\n"),
		read("age\n81\n33\n"+"64\n").X)
	fmt.Println(votes, err)
	// Output: [1 0 1] <nil>
}
