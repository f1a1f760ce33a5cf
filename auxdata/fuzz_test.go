package auxdata

import (
	"crypto/sha256"
	"math"
	"testing"

	"caucus/dataset"
)

// FuzzPool: a coordinator's bytes are refused as a pool, or make a pool whose rows have norm at
// most 1 and whose weights are positive and finite.
func FuzzPool(f *testing.F) {
	schema := dataset.Schema{
		Label: dataset.Label{Column: "y", Classes: []string{"a", "b"}},
		Features: []dataset.Feature{
			{Column: "n", Kind: dataset.Numeric, Min: -1, Max: 5}, {Column: "m", Kind: dataset.Numeric, Max: 1, Log: true, FlagMissing: true},
			{Column: "t", Kind: dataset.Categorical, Levels: []string{"u", "v"}},
		},
	}
	f.Add([]byte("n,m,t\n1,0.5,u\n9,,w\n"))
	f.Add([]byte("n,m,t," + WeightColumn + "\n1,NaN,u,2\n-1e309,1,v,0.5\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 1<<14 {
			return
		}
		table, err := ReadCSV(text, sha256.Sum256(text))
		if err != nil {
			return
		}
		p, _, err := New(schema, dataset.Identity(schema), table)
		if err != nil {
			return
		}
		for i := range p.Rows() {
			sum := 0.
			for _, v := range p.X.RawRowView(i) {
				sum += v * v
			}
			if !(sum <= 1) {
				t.Fatalf("row %d has squared norm %v", i, sum)
			}
			if p.Weight != nil && (!(p.Weight[i] > 0) || math.IsInf(p.Weight[i], 0)) {
				t.Fatalf("row %d has weight %v", i, p.Weight[i])
			}
		}
	})
}
