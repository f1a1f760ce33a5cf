package auxdata

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
)

// Weights whose sums overflow or vanish would turn every derived number into NaN.
func TestWeightsThatCannotBeAdded(t *testing.T) {
	schema := dataset.Schema{
		Label:    dataset.Label{Column: "y", Classes: []string{"a", "b"}},
		Features: []dataset.Feature{{Column: "u", Kind: dataset.Numeric, Max: 1}},
	}
	p := NewSimulated(mat.NewDense(2, 1, []float64{0, 1}), dataset.Identity(schema))
	for _, weight := range [][]float64{{1e308, 1e308}, {math.Inf(1), 1}, {math.NaN(), 1}, {0, 1},
		{1e-200, 1e-200}} {
		if _, err := p.WithWeights(weight); err == nil {
			t.Errorf("weights %v were accepted", weight)
		}
	}
	for _, weight := range [][]float64{{1e100, 1e-300}, {1e-100, 1e-320}} {
		w, err := p.WithWeights(weight)
		if err != nil {
			t.Fatalf("weights %v: %v", weight, err)
		}
		if rows := w.EffectiveRows(); !(rows >= 1 && rows <= 2) {
			t.Errorf("weights %v count as %v rows", weight, rows)
		}
	}
}
