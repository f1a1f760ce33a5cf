package keyed_test

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/keyed"
)

// A site declared four records and its file has six. The records' content and the site's key choose
// four: the same four in a file of another order.
func Example() {
	schema, err := dataset.ParseSchema(strings.NewReader(`
label: {column: ill, classes: ["no", "yes"]}
features:
  - {column: age, kind: numeric, min: 0, max: 100}
`))
	if err != nil {
		panic(err)
	}
	rule := keyed.SelectionRule{Study: study.HashOf([]byte("plan")), Unit: privacy.Record}
	chosen := func(ages ...float64) map[float64]bool {
		records := &dataset.Records{X: mat.NewDense(len(ages), 1, ages), Y: make([]int, len(ages))}
		cut := keyed.ExactlyN(rule, schema, records, 4, []byte("the site's secret"))
		out := map[float64]bool{}
		for i := range cut.Len() {
			out[cut.X.At(i, 0)] = true
		}
		return out
	}
	one, other := chosen(0.2, 0.3, 0.5, 0.6, 0.7, 0.9), chosen(0.9, 0.7, 0.6, 0.5, 0.3, 0.2)
	fmt.Println(len(one), "of 6 records; the same ones:", fmt.Sprint(one) == fmt.Sprint(other))
	// Output:
	// 4 of 6 records; the same ones: true
}
