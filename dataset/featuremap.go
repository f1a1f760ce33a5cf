package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Map takes encoded features (Schema.Dim columns in [0,1]) to model features
// whose rows have norm at most 1. It is made from public things only (the
// schema, the public pool), is part of a study's plan, and travels as JSON.
//
// A row x becomes (z, 1)/√2 with
//
//	z = x / Scale                        kind "identity"
//	z = Vᵀ(x − Mean) / Scale             kind "pca"
//
// and z divided by its norm where that exceeds 1. The last column is the
// intercept.
type Map struct {
	Kind   MapKind `json:"kind"`
	Inputs int     `json:"inputs"` // encoded columns expected
	Scale  float64 `json:"scale"`
	// Outputs counts the directions kept, Mean has Inputs entries, Directions is
	// V: Inputs×Outputs, row after row. Only for kind "pca". Directions are rounded
	// to single precision, which halves what a plan weighs.
	Outputs    int       `json:"outputs,omitempty"`
	Mean       []float64 `json:"mean,omitempty"`
	Directions []float32 `json:"directions,omitempty"`
	// Whiten tells how V was stretched: direction j by (λ₁/λⱼ)^(Whiten/2).
	Whiten float64 `json:"whiten,omitempty"`
}

// MapKind names a family of maps.
type MapKind string

// The kinds of maps.
const (
	IdentityMap MapKind = "identity"
	PCAMap      MapKind = "pca"
)

// Identity divides the encoded features by the largest norm that the schema
// allows, so that nothing is ever clipped.
func Identity(s Schema) Map {
	return Map{Kind: IdentityMap, Inputs: s.Dim(), Scale: math.Sqrt(s.squaredNorm())}
}

// shrink keeps every row's norm below 1 in spite of rounding: the norm of a row
// of d columns is computed with a relative error below d·2⁻⁵³, which is far
// below 1e-12 for the 100,000 columns a schema may have.
const shrink = 1 - 1e-12

// Apply maps encoded rows (N×Inputs) to model features (N×Dim). Every row of the
// result has norm at most 1; entries of x that are not finite count as 0.5.
// No rows give an empty matrix. It panics when x has another number of
// columns, as gonum does.
func (m Map) Apply(x *mat.Dense) *mat.Dense {
	n, d := x.Dims()
	if n == 0 {
		return &mat.Dense{}
	}
	if d != m.Inputs {
		panic(fmt.Sprintf("dataset: map of %d columns applied to %d columns", m.Inputs, d))
	}
	x = finite(x)
	width := m.Dim()
	out := mat.NewDense(n, width, nil)
	offset := make([]float64, width-1)
	if m.Kind == PCAMap {
		v := mat.NewDense(m.Inputs, m.Outputs, nil)
		for i, value := range m.Directions {
			v.RawMatrix().Data[i] = float64(value)
		}
		out.Slice(0, n, 0, width-1).(*mat.Dense).Mul(x, v)
		mat.NewVecDense(width-1, offset).MulVec(v.T(), mat.NewVecDense(m.Inputs, m.Mean))
	} else {
		out.Slice(0, n, 0, width-1).(*mat.Dense).Copy(x)
	}
	for i := range n {
		row := out.RawRowView(i)
		z := row[:width-1]
		sum := 0.0
		for j := range z {
			z[j] = (z[j] - offset[j]) / m.Scale
			sum += z[j] * z[j]
		}
		factor := shrink / math.Sqrt2
		row[width-1] = factor
		if sum > 1 {
			factor /= math.Sqrt(sum)
		}
		if !(sum <= math.MaxFloat64) { // absurd input: keep the bound, drop the row
			clear(z)
		}
		for j := range z {
			z[j] *= factor
		}
	}
	return out
}

// finite is x, or a copy without NaN and infinities where it has some.
func finite(x *mat.Dense) *mat.Dense {
	odd := func(v float64) bool { return v-v != 0 }
	n, _ := x.Dims()
	for i := range n {
		if slices.ContainsFunc(x.RawRowView(i), odd) {
			clean := mat.DenseCopyOf(x)
			clean.Apply(func(_, _ int, v float64) float64 {
				if odd(v) {
					return 0.5
				}
				return v
			}, clean)
			return clean
		}
	}
	return x
}

// Dim is the number of model features, the intercept included.
func (m Map) Dim() int {
	if m.Kind == PCAMap {
		return m.Outputs + 1
	}
	return m.Inputs + 1
}

// Validate says which field of a map that came from elsewhere is wrong. A map
// that it accepts cannot make Apply panic on rows of Inputs columns.
func (m Map) Validate() error {
	if m.Inputs < 1 || m.Inputs > maxColumns {
		return fmt.Errorf("map: inputs is %d; expected 1 to %d", m.Inputs, maxColumns)
	}
	if !(m.Scale > 1e-100 && m.Scale < 1e100) {
		return fmt.Errorf("map: scale is %g; it must be positive and of ordinary size", m.Scale)
	}
	switch m.Kind {
	case IdentityMap:
		if m.Outputs != 0 || len(m.Mean) != 0 || len(m.Directions) != 0 {
			return errors.New("map: an identity map has no outputs, mean or directions; remove them")
		}
		return nil
	case PCAMap:
	default:
		return fmt.Errorf("map: kind %q is unknown; use %s or %s", m.Kind, IdentityMap, PCAMap)
	}
	if m.Outputs < 1 || m.Outputs > m.Inputs {
		return fmt.Errorf("map: outputs is %d; expected 1 to %d", m.Outputs, m.Inputs)
	}
	if len(m.Mean) != m.Inputs || len(m.Directions) != m.Inputs*m.Outputs {
		return fmt.Errorf("map: mean has %d and directions %d entries; expected %d and %d",
			len(m.Mean), len(m.Directions), m.Inputs, m.Inputs*m.Outputs)
	}
	for _, v := range m.Mean {
		if !(math.Abs(v) < 1e30) {
			return fmt.Errorf("map: mean holds %g; expected numbers in [0,1]", v)
		}
	}
	for _, v := range m.Directions {
		if !(math.Abs(float64(v)) < 1e30) {
			return fmt.Errorf("map: directions hold %g; expected finite numbers", v)
		}
	}
	return nil
}
