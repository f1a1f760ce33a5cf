package dataset

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// mixedSchema has two numbers with very different bounds, one of which may be missing, and a text
// with a rare level.
func mixedSchema(t *testing.T) Schema {
	t.Helper()
	return parse(t, `
label: {column: y, classes: [a, b]}
features:
  - {column: wide, kind: numeric, min: 0, max: 1000}
  - {column: close, kind: numeric, min: 0, max: 1, missing: true}
  - {column: level, kind: categorical, levels: [common, usual, rare]}
`)
}

// mixedPool returns encoded rows: wide, close, close?, common, usual, rare, other. wide varies
// within a thousandth of its bounds; one row is far away.
func mixedPool(n int) *mat.Dense {
	rng := rand.New(rand.NewPCG(5, 6))
	x := mat.NewDense(n, 7, nil)
	for i := range n {
		x.Set(i, 0, 0.5+0.001*rng.NormFloat64())
		x.Set(i, 1, rng.Float64())
		if i%10 == 0 {
			x.Set(i, 1, 0.5)
			x.Set(i, 2, 1)
		}
		level := 3 + i%2
		if i%100 == 7 { // 1 %
			level = 5
		}
		x.Set(i, level, 1)
	}
	x.Set(0, 0, 1)
	return x
}

// FitFAMD's columns agree with Pagès' formulas, computed directly.
func TestStandardColumns(t *testing.T) {
	const n = 1000
	x := mixedPool(n)
	standard, err := fitStandard(mixedSchema(t), x)
	if err != nil {
		t.Fatal(err)
	}
	u := standard.Features(x)
	for j := range 7 {
		column := mat.Col(nil, j, x)
		mean, sd := stat.Mean(column, nil), math.Sqrt(stat.PopVariance(column, nil))
		scale := sd
		switch j {
		case 3, 4: // levels of about half: 1/√share
			scale = math.Sqrt(mean)
		case 5: // 1 % counts as 4 %
			scale = 0.2
		case 6: // no row has it
			scale = math.Inf(1)
		}
		for i, v := range column {
			want := (v - mean) / scale
			if i == 0 && j == 0 {
				want = 5 // far away: cut
			}
			if math.Abs(u.At(i, j)-want) > 1e-9 {
				t.Fatalf("row %d, column %d: %v, want %v", i, j, u.At(i, j), want)
			}
		}
	}
}

// A column's unit and bounds do not affect the map. (PCA fails this.)
func TestFAMDDoesNotHangOnBounds(t *testing.T) {
	s, x := mixedSchema(t), mixedPool(1000)
	narrow := mat.DenseCopyOf(x)
	for i := range 1000 {
		narrow.Set(i, 0, 0.3+(x.At(i, 0)-0.5)/50)
		narrow.Set(i, 1, x.At(i, 1)/8)
	}
	a, err := FitFAMD(s, x, 3, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	b, err := FitFAMD(s, narrow, 3, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	// Directions are rounded to single precision.
	if !mat.EqualApprox(a.Apply(x), b.Apply(narrow), 1e-5) {
		t.Error("the same values under other bounds were mapped otherwise")
	}
	pa, _ := FitPCA(x, 3, 0)
	pb, _ := FitPCA(narrow, 3, 0)
	if mat.EqualApprox(pa.Apply(x), pb.Apply(narrow), 1e-2) {
		t.Error("principal components did not notice either: this test cannot fail")
	}
}

func TestFAMDThroughJSON(t *testing.T) {
	s, x := mixedSchema(t), mixedPool(200)
	m, err := FitFAMD(s, x, 4, 0)
	if err != nil {
		t.Fatal(err)
	}
	if m.Columns() != s.Dim() || m.Dim() != 5 {
		t.Errorf("%d columns to %d features, want %d to 5", m.Columns(), m.Dim(), s.Dim())
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var back Map
	if err := json.Unmarshal(text, &back); err != nil || !reflect.DeepEqual(back, m) {
		t.Errorf("changed: %v", err)
	}
	if err := back.Validate(); err != nil {
		t.Error(err)
	}
}

func TestFitFAMDErrors(t *testing.T) {
	s := mixedSchema(t)
	nan := mixedPool(5)
	nan.Set(2, 1, math.NaN())
	for want, fit := range map[string]func() (Map, error){
		"ask for at least 1":         func() (Map, error) { return FitFAMD(s, mixedPool(5), 0, 0) },
		"needs at least 2":           func() (Map, error) { return FitFAMD(s, mixedPool(1), 1, 0) },
		"all rows of the":            func() (Map, error) { return FitFAMD(s, mat.NewDense(3, 7, nil), 1, 0) },
		"column 1 of the":            func() (Map, error) { return FitFAMD(s, nan, 1, 0) },
		"whiten is -1":               func() (Map, error) { return FitFAMD(s, mixedPool(5), 1, -1) },
		"the schema encodes to 7":    func() (Map, error) { return FitFAMD(s, plane(5), 1, 0) },
		`there is no analysis "mca"`: func() (Map, error) { return Components{Project: 2, Analysis: "mca"}.Fit(s, mixedPool(5)) },
	} {
		if _, err := fit(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestStandardValidate(t *testing.T) {
	good := func() Map {
		return Map{Kind: StandardMap, Inputs: 1, Outputs: 1, Scale: 1,
			Standard: &StandardParameters{Mean: []float64{0}, Factor: []float64{1}, Clip: 5}}
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(m *Map){
		"needs a cut":           func(m *Map) { m.Standard = nil },
		"a cut above 0":         func(m *Map) { m.Standard.Clip = math.NaN() },
		"outputs is 2":          func(m *Map) { m.Outputs = 2 },
		"has its mean under":    func(m *Map) { m.Mean = []float64{0} },
		"2 means and 1 factors": func(m *Map) { m.Standard.Mean = []float64{0, 0} },
		"holds mean 0 and":      func(m *Map) { m.Standard.Factor[0] = math.Inf(1) },
		// makes subnormal numbers
		"factor 1e-310":           func(m *Map) { m.Standard.Factor[0] = 1e-310 },
		"standard holds mean NaN": func(m *Map) { m.Standard.Mean[0] = math.NaN() },
		"identity has no stand":   func(m *Map) { m.Kind = IdentityMap },
	} {
		m := good()
		spoil(&m)
		if err := m.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// A column in which hardly any pool row differs is left out, however far those rows lie.
func TestFAMDLeavesOutWhatFewRowsHave(t *testing.T) {
	s := mixedSchema(t)
	for rare, kept := range map[int]bool{0: false, 1: false, 9: false, 10: true} {
		x := mixedPool(1000)
		for i := range 1000 {
			x.Set(i, 0, 0.5)
			x.SetRow(i, append(x.RawRowView(i)[:3:3], 1, 0, 0, 0))
			if i < rare {
				x.Set(i, 0, 0.7)
				x.SetRow(i, append(x.RawRowView(i)[:3:3], 0, 0, 1, 0))
			}
		}
		m, err := fitStandard(s, x)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range []int{0, 3, 5} {
			if got := m.Standard.Factor[j] != 0; got != kept {
				t.Errorf("%d of 1000 rows differ in column %d: kept %v, want %v", rare, j, got, kept)
			}
		}
	}
}
