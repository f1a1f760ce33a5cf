package ratio_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/ratio"
)

// Two sets with known class shares show what records of each class look like. With them, the shares
// of a third set without labels can be estimated.
func Example() {
	sick, well := []float64{1, 0.2}, []float64{0, 0.8}
	set := func(sicks, wells int) *mat.Dense {
		x := mat.NewDense(sicks+wells, 2, nil)
		for i := range sicks + wells {
			x.SetRow(i, well)
			if i < sicks {
				x.SetRow(i, sick)
			}
		}
		return x
	}
	model, err := ratio.Fit([]ratio.Set{
		{Rows: set(80, 20), Shares: []float64{0.8, 0.2}},
		{Rows: set(10, 90), Shares: []float64{0.1, 0.9}},
	}, ratio.Options{Kernel: ratio.Kernel{Name: "linear"}})
	if err != nil {
		panic(err)
	}
	estimate, err := model.Estimate(ratio.Set{Rows: set(30, 70)})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.2f\n", estimate.Shares)
	// Output:
	// [0.30 0.70]
}
