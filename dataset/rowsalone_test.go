package dataset

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestRowsAlone: a mapped row does not depend, to the last bit, on the rows beside it. The bounds
// on what one record adds rest on this.
func TestRowsAlone(t *testing.T) {
	const n, d = 300, 144
	rng := rand.New(rand.NewPCG(1, 2))
	x := mat.NewDense(n, d, nil)
	for i := range x.RawMatrix().Data {
		x.RawMatrix().Data[i] = rng.Float64()
	}
	identity := Map{Kind: IdentityMap, Inputs: d, Scale: 12}
	pca, err := FitPCA(x, 80, 0)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]Map{"identity": identity, "pca": pca} {
		all := m.Apply(x)
		for _, rows := range []int{1, 64, 65, 193, 257} {
			some := m.Apply(x.Slice(0, rows, 0, d).(*mat.Dense))
			if !mat.Equal(some, all.Slice(0, rows, 0, m.Dim())) {
				t.Errorf("%s: among %d rows a row has other features than among %d", name, rows, n)
			}
		}
	}
}
