package privacy

import (
	"maps"
	"testing"
)

// TestTerms: name, parameters, variance and cost of a mechanism before a release equal those in
// its answer.
func TestTerms(t *testing.T) {
	p := weightedRelease()
	m := must(CalibrateGaussian(p.Bound, Budget{1, 1e-6}))
	if got := ParametersOf(m); !maps.Equal(got, p.Parameters) {
		t.Errorf("parameters %v, published %v", got, p.Parameters)
	}
	for j := range p.Len() {
		if got := VarianceOf(m, p.Bound, j, p.Len()); got != p.Variance(j) {
			t.Errorf("variance of %d is %g, published %g", j, got, p.Variance(j))
		}
	}
	other := p.Bound.clone()
	if other.Weight[0]++; p.Bound.Equal(other) || !p.Bound.Equal(p.Bound.clone()) {
		t.Error("bounds are compared wrongly")
	}
}
