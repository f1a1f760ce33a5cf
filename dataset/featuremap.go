package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Map turns encoded features (Schema.Dim columns in [0,1]) into model features whose rows have norm
// at most 1. It is made only from the public schema and the public pool, is part of a study's plan,
// and marshals to JSON.
//
// A row x becomes (z, 1)/√2 with
//
//	z = x / Scale                        kind "identity"
//	z = Vᵀ(x − Mean) / Scale             kind "pca"
//	z = cut((x − mean)·factor) / Scale   kind "standard", see StandardParameters
//
// where z is divided by its norm if that exceeds 1. The last column is the intercept. If Inner is
// set, x is the z of Inner, before the division by the norm and without intercept.
type Map struct {
	Kind   MapKind `json:"kind"`
	Inputs int     `json:"inputs"` // encoded columns, or Inner's outputs
	Scale  float64 `json:"scale"`
	// Outputs is the number of kept directions. Mean (Inputs entries) and Directions (V,
	// Inputs×Outputs, row by row) are for "pca" only. Directions have single precision, which
	// halves a plan's size.
	Outputs    int       `json:"outputs,omitempty"`
	Mean       []float64 `json:"mean,omitempty"`
	Directions []float32 `json:"directions,omitempty"`
	// Whiten says how V was stretched: direction j by (λ₁/λⱼ)^(Whiten/2), with λⱼ the pool's
	// variance along it.
	Whiten float64 `json:"whiten,omitempty"`
	// Standard has the parameters of the kind with this name.
	Standard *StandardParameters `json:"standard,omitempty"`
	// LeadingComponents is the number of components, the first outputs, if outputs of bins follow
	// them; otherwise 0.
	LeadingComponents int `json:"nested,omitempty"`
	// Inner, if not nil, maps the encoded columns to this map's inputs.
	Inner *Map `json:"first,omitempty"`
}

// ComposeWith returns m applied to first's output.
func (m Map) ComposeWith(first Map) Map {
	m.Inner = &first
	return m
}

// MapKind names one of the three formulas at Map.
type MapKind string

// Two of the kinds. The third is StandardMap.
const (
	IdentityMap MapKind = "identity"
	PCAMap      MapKind = "pca"
)

// Identity divides the encoded features by the schema's largest norm, so it never clips.
func Identity(s Schema) Map {
	return Map{Kind: IdentityMap, Inputs: s.Dim(), Scale: math.Sqrt(s.squaredNorm())}
}

// NormMargin keeps every row's norm below 1 despite rounding: the norm of a row of d columns has a
// relative error below d·2⁻⁵³, far below 1e-12 for the at most 100,000 columns of a schema.
const NormMargin = 1 - 1e-12

// PoolMean returns the pool's mean of each encoded column; nil if the map holds no such means.
func (m Map) PoolMean() []float64 {
	switch {
	case m.Inner != nil:
		return m.Inner.PoolMean()
	case m.Standard != nil:
		return m.Standard.Mean
	case m.Kind == PCAMap:
		return m.Mean
	}
	return nil
}

// Columns is the number of encoded columns that Apply takes, of the innermost map where maps follow
// each other.
func (m Map) Columns() int {
	if m.Inner != nil {
		return m.Inner.Columns()
	}
	return m.Inputs
}

// Apply maps encoded rows (N×Columns) to model features (N×Dim) of norm at most 1. Entries of x
// that are not finite count as 0.5. No rows give an empty matrix. Apply panics on another number of
// columns.
func (m Map) Apply(x *mat.Dense) *mat.Dense {
	n, _ := x.Dims()
	if n == 0 {
		return &mat.Dense{}
	}
	width := m.Dim()
	out := mat.NewDense(n, width, nil)
	m.fill(out.Slice(0, n, 0, width-1).(*mat.Dense), x)
	for i := range n {
		row := out.RawRowView(i)
		z := row[:width-1]
		sum := 0.0
		for _, v := range z {
			sum += v * v
		}
		factor := NormMargin / math.Sqrt2
		row[width-1] = factor
		if sum > 1 {
			factor /= math.Sqrt(sum)
		}
		if !(sum <= math.MaxFloat64) { // an overflow: zeros keep the bound on the norm
			clear(z)
		}
		for j := range z {
			z[j] = plain(z[j] * factor)
		}
	}
	return out
}

// plain returns v, or 0 if v is below 1e-30, where no real features are. This closes a timing
// channel: products of a few numbers above 1e-30 are normal floating-point numbers and take the
// usual time, but subnormal numbers take many times longer. A map that scaled some records to
// subnormal numbers and others to 0 would reveal records through time.
func plain(v float64) float64 {
	if math.Abs(v) < 1e-30 {
		return 0
	}
	return v
}

// Features returns the z of Map's formula for encoded rows (N×(Dim−1)), before the division by the
// norm and without intercept. Another map can be fitted on them to come after this one. x has at
// least one row.
func (m Map) Features(x *mat.Dense) *mat.Dense {
	n, _ := x.Dims()
	z := mat.NewDense(n, m.Dim()-1, nil)
	m.fill(z, x)
	return z
}

// mapBlock is the number of rows that pass the first of two maps at a time, because the first may
// make far more features.
const mapBlock = 256

func (m Map) fill(z, x *mat.Dense) {
	n, d := x.Dims()
	if d != m.Columns() {
		panic(fmt.Sprintf("dataset: map of %d columns applied to %d columns", m.Columns(), d))
	}
	if m.Inner == nil {
		m.fillOne(z, finite(x))
		return
	}
	_, width := z.Dims()
	for top := 0; top < n; top += mapBlock {
		end := min(top+mapBlock, n)
		first := m.Inner.Features(x.Slice(top, end, 0, d).(*mat.Dense))
		m.fillOne(z.Slice(top, end, 0, width).(*mat.Dense), finite(first))
	}
}

func (m Map) fillOne(z, x *mat.Dense) {
	n, width := z.Dims()
	offset := make([]float64, width)
	switch m.Kind {
	case PCAMap:
		v := m.directions()
		z.Mul(x, v)
		mat.NewVecDense(width, offset).MulVec(v.T(), mat.NewVecDense(m.Inputs, m.Mean))
	case StandardMap:
		m.Standard.fill(z, x)
	default:
		z.Copy(x)
	}
	for i := range n {
		row := z.RawRowView(i)
		for j := range row {
			row[j] = plain((row[j] - offset[j]) / m.Scale)
		}
	}
}

func (m Map) directions() *mat.Dense {
	v := mat.NewDense(m.Inputs, m.Outputs, nil)
	for i, value := range m.Directions {
		v.RawMatrix().Data[i] = float64(value)
	}
	return v
}

// finite returns x, or a copy with 0.5 for NaN and infinities.
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

// Dim returns the number of model features, with the intercept.
func (m Map) Dim() int {
	if m.Kind == IdentityMap {
		return m.Inputs + 1
	}
	return m.Outputs + 1
}

// Validate returns an error that names the wrong field, for a map from outside. A valid map cannot
// make Apply panic on rows of Columns columns.
func (m Map) Validate() error {
	return m.validate(0)
}

func (m Map) validate(depth int) error {
	if m.Inner != nil {
		if depth > 1 {
			return errors.New("map: at most two maps may come first")
		}
		if err := m.Inner.validate(depth + 1); err != nil {
			return fmt.Errorf("first %w", err)
		}
		if m.Inner.Dim()-1 != m.Inputs {
			return fmt.Errorf("map: inputs is %d; the first map gives %d", m.Inputs,
				m.Inner.Dim()-1)
		}
	}
	if m.Inputs < 1 || m.Inputs > maxColumns {
		return fmt.Errorf("map: inputs is %d; expected 1 to %d", m.Inputs, maxColumns)
	}
	if !(m.Scale > 1e-100 && m.Scale < 1e100) {
		return fmt.Errorf("map: scale is %g; it must be positive and of ordinary size", m.Scale)
	}
	if m.Standard != nil && m.Kind != StandardMap {
		return fmt.Errorf("map: a map of kind %s has no standard; remove it", m.Kind)
	}
	switch m.Kind {
	case StandardMap:
		return m.Standard.validate(m)
	case IdentityMap:
		if m.Outputs != 0 || m.LeadingComponents != 0 || len(m.Mean) != 0 ||
			len(m.Directions) != 0 {
			return errors.New("map: an identity map has no outputs, mean or directions; remove them")
		}
		return nil
	case PCAMap:
	default:
		return fmt.Errorf("map: kind %q is unknown; use %s, %s or %s", m.Kind, IdentityMap, PCAMap,
			StandardMap)
	}
	if m.Outputs < 1 || m.Outputs > maxColumns {
		return fmt.Errorf("map: outputs is %d; expected 1 to %d", m.Outputs, maxColumns)
	}
	if m.LeadingComponents < 0 || m.LeadingComponents > m.Outputs {
		return fmt.Errorf("map: nested is %d; expected at most the %d outputs", m.LeadingComponents, m.Outputs)
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
