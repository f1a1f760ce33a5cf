package dataset

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
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

// The identity clips no encoded row. For any input, rows leave a map finite and with norm at most
// 1.
func TestMapNormAtMostOne(t *testing.T) {
	table, s := Hospitals(HospitalConfig{Sites: 2, Records: 300, Seed: 5, Missing: 0.5})
	r, _, err := s.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	identity := Identity(s)
	if got := mat.Max(r.X); got > 1 {
		t.Fatalf("encoded maximum %v", got)
	}
	mapped := identity.Apply(r.X)
	for i := range r.Len() {
		for j, v := range r.X.RawRowView(i) {
			if want := v / identity.Scale / math.Sqrt2; math.Abs(mapped.At(i, j)-want) > 1e-11 {
				t.Fatal("the identity clipped an encoded row")
			}
		}
	}
	pca, err := FitPCA(r.X, 8, 0)
	if err != nil {
		t.Fatal(err)
	}
	white, err := FitPCA(r.X, 50, 1)
	if err != nil {
		t.Fatal(err)
	}
	famd, err := FitFAMD(s, r.X, 50, 1)
	if err != nil {
		t.Fatal(err)
	}
	value := rapid.OneOf(rapid.Float64Range(0, 1),
		rapid.SampledFrom([]float64{0, 1, -1e9, 1e300, math.NaN(), math.Inf(1), math.Inf(-1)}))
	rapid.Check(t, func(t *rapid.T) {
		x := mat.NewDense(3, s.Dim(), rapid.SliceOfN(value, 3*s.Dim(), 3*s.Dim()).Draw(t, "x"))
		for _, m := range []Map{identity, pca, white, famd} {
			z := m.Apply(x)
			for i := range 3 {
				sum := 0.0
				for _, v := range z.RawRowView(i) {
					sum += v * v
				}
				if !(sum <= 1) {
					t.Fatalf("%s: norm² %v: %v", m.Kind, sum, z.RawRowView(i))
				}
			}
		}
	})
}

func TestMapThroughJSON(t *testing.T) {
	table, s := Hospitals(HospitalConfig{Sites: 1, Records: 50, Seed: 5})
	r, _, err := s.Encode(table)
	if err != nil {
		t.Fatal(err)
	}
	pca, err := FitPCA(r.X, 4, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []Map{Identity(s), pca} {
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		var back Map
		if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%s changed: %v", m.Kind, err)
		}
		if err := back.Validate(); err != nil {
			t.Error(err)
		}
		if !mat.Equal(back.Apply(r.X), m.Apply(r.X)) {
			t.Errorf("%s maps otherwise after JSON", m.Kind)
		}
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

func ExampleFitPCA() {
	pool, schema := Hospitals(HospitalConfig{Sites: 3, Records: 400, Seed: 7})
	records, _, err := schema.Encode(pool) // the pool is public
	if err != nil {
		fmt.Println(err)
		return
	}
	features, err := FitPCA(records.X, 10, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	x := features.Apply(records.X)
	rows, columns := x.Dims()
	fmt.Printf("%d encoded columns, %d model features for %d rows\n", schema.Dim(), columns, rows)
	fmt.Printf("norm of the first row at most 1: %v\n", mat.Norm(x.RowView(0), 2) <= 1)
	// Output:
	// 23 encoded columns, 11 model features for 400 rows
	// norm of the first row at most 1: true
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
