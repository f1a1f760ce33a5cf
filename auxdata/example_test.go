package auxdata_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"caucus/auxdata"
	"caucus/auxdata/support"
	"caucus/dataset"
)

// A federation without a public pool draws one from its schema alone. Check lists the gaps of an
// existing pool that no weights can fill.
func Example() {
	schema, err := dataset.ParseSchema(strings.NewReader(`
label: {column: readmitted, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 100}
  - {column: ward, kind: categorical, levels: [north, south]}
`))
	if err != nil {
		panic(err)
	}
	drawn, err := support.Draw(schema, 1000, support.UniformMargins(schema),
		rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		panic(err)
	}
	fmt.Println(drawn.Rows(), "rows drawn of", drawn.Columns())

	given, err := dataset.NewTable([]string{"age", "ward"},
		[][]string{{"20", "north"}, {"45", "north"}, {"70", "north"}, {"95", "north"}})
	if err != nil {
		panic(err)
	}
	pool, _, err := auxdata.New(schema, dataset.Identity(schema), given)
	if err != nil {
		panic(err)
	}
	for _, gap := range support.Check(schema, pool).Gaps {
		fmt.Println("gap:", gap)
	}
	// Output:
	// 1000 rows drawn of [age ward]
	// gap: only 4 rows have ward=north
	// gap: no row has ward=south
}
