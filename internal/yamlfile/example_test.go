package yamlfile_test

import (
	"fmt"

	"caucus/internal/yamlfile"
)

// An unknown field is refused, with its place and the probable name.
func Example() {
	type policy struct {
		Kinds   []string `yaml:"kinds"`
		Minimum int      `yaml:"minimum_parties"`
	}
	for _, text := range []string{"kinds: [classify]\nminimum_parties: 3\n",
		"kinds: [classify]\nminimum_partys: 3\n"} {
		d, err := yamlfile.Parse("agent.yaml", []byte(text))
		if err != nil {
			panic(err)
		}
		var p policy
		if err := d.Decode(&p); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(p.Kinds, p.Minimum)
	}
	// Output:
	// [classify] 3
	// agent.yaml line 2: unknown key "minimum_partys": do you mean "minimum_parties"?
}
