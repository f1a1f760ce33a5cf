package embedding_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/embedding"
)

// A row's integers lie in a ball of known size, whatever the row: that bounds what one record can
// move.
func Example() {
	f := embedding.Fourier{Dim: 2, Features: 4, Gamma: 1, Seed: 1}
	l := embedding.DefaultLattice()
	bound, err := l.Bound(f)
	if err != nil {
		panic(err)
	}
	e, err := embedding.NewEmbedder(f)
	if err != nil {
		panic(err)
	}
	sum := make([]int64, f.Features)
	e.AddIntegersTo(sum, mat.NewDense(1, 2, []float64{1e9, -7}), l)
	var square int64
	for _, v := range sum {
		square += v * v
	}
	fmt.Println("within the bound:", 4*square <= bound.L2sq)
	// Output: within the bound: true
}
