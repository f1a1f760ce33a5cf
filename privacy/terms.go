package privacy

// ParametersOf returns a mechanism's exact public parameters: with its name,
// all there is to it.
func ParametersOf(m Mechanism) map[string]string { return m.parameters() }

// VarianceOf is the variance of the noise m adds to coordinate j of n under a
// bound, from public inputs alone; post-processing needs it.
func VarianceOf(m Mechanism, b Bound, j, n int) float64 { return m.variance(b, j, n) }

// Equal reports whether two bounds prove the same, field by field.
func (b Bound) Equal(c Bound) bool { return b.equal(c) }
