package dataset

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func TestIdentityMap(t *testing.T) {
	s := parse(t, clinic)
	m := Identity(s)
	// Seven columns of the file, one of which may be flagged as missing.
	if want := math.Sqrt(6 + 1.25); math.Abs(m.Scale-want) > 1e-15 || m.Dim() != s.Dim()+1 {
		t.Fatalf("scale %v, want %v; Dim %d", m.Scale, want, m.Dim())
	}
	x := mat.NewDense(1, s.Dim(), nil)
	x.Set(0, 2, 0.5)
	z := m.Apply(x)
	if got, want := z.At(0, 2), 0.5/m.Scale/math.Sqrt2; math.Abs(got-want) > 1e-11 {
		t.Errorf("feature %v, want %v", got, want)
	}
	if got := z.At(0, s.Dim()); math.Abs(got-1/math.Sqrt2) > 1e-11 {
		t.Errorf("intercept %v, want √½", got)
	}
	if got := m.Apply(&mat.Dense{}); !got.IsEmpty() {
		t.Error("no rows gave rows")
	}
}

func TestMapValidate(t *testing.T) {
	for want, m := range map[string]Map{
		"inputs is 0":             {Kind: IdentityMap, Scale: 1},
		"scale is 0":              {Kind: IdentityMap, Inputs: 1},
		"scale is NaN":            {Kind: IdentityMap, Inputs: 1, Scale: math.NaN()},
		`kind "umap" is unknown`:  {Kind: "umap", Inputs: 1, Scale: 1},
		"an identity map has no":  {Kind: IdentityMap, Inputs: 1, Scale: 1, Outputs: 1},
		"outputs is 0":            {Kind: PCAMap, Inputs: 2, Scale: 1},
		"nested is 2":             {Kind: PCAMap, Inputs: 2, Scale: 1, Outputs: 1, LeadingComponents: 2},
		"mean has 1":              {Kind: PCAMap, Inputs: 2, Scale: 1, Outputs: 1, Mean: []float64{0}},
		"mean holds NaN":          {Kind: PCAMap, Inputs: 1, Scale: 1, Outputs: 1, Mean: []float64{math.NaN()}, Directions: []float32{1}},
		"directions hold +Inf":    {Kind: PCAMap, Inputs: 1, Scale: 1, Outputs: 1, Mean: []float64{0}, Directions: []float32{float32(math.Inf(1))}},
		"inputs is 1000000000000": {Kind: IdentityMap, Inputs: 1e12, Scale: 1},
	} {
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestMapGivesPlainNumbers: for any map that a plan can have, features are 0 or far from the
// subnormal numbers, which slow computing down.
func TestMapGivesPlainNumbers(t *testing.T) {
	const d = 4
	rng := rand.New(rand.NewPCG(1, 1))
	x := mat.NewDense(50, d, nil)
	x.Apply(func(_, _ int, _ float64) float64 {
		return rng.Float64() * math.Pow(10, -20*rng.Float64())
	}, x)
	for _, size := range []float64{1e-44, 1e-20, 1, 1e20, 1e29} {
		for _, scale := range []float64{1e-99, 1, 1e99} {
			m := Map{Kind: PCAMap, Inputs: d, Outputs: d, Scale: scale, Mean: make([]float64, d),
				Directions: make([]float32, d*d)}
			for i := range m.Directions {
				m.Directions[i] = float32(rng.NormFloat64() * size)
			}
			standard := Map{Kind: StandardMap, Inputs: d, Outputs: d, Scale: scale,
				Standard: &StandardParameters{Mean: make([]float64, d), Factor: make([]float64, d),
					Clip: 5}}
			for j := range d {
				standard.Standard.Factor[j] = max(size, 1.01e-30) * (1 + rng.Float64())
			}
			for _, m := range []Map{m, m.ComposeWith(m), m.ComposeWith(m.ComposeWith(m)), standard,
				m.ComposeWith(standard)} {
				if err := m.Validate(); err != nil {
					t.Fatal(err)
				}
				for i, v := range m.Apply(x).RawMatrix().Data {
					if v != 0 && !(math.Abs(v) >= 1e-30) {
						t.Fatalf("directions of %g, scale %g: number %d is %g", size, scale, i, v)
					}
				}
			}
		}
	}
}
