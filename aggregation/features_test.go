package aggregation

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/dataset"
)

func tiltSchema() dataset.Schema {
	return dataset.Schema{
		Label: dataset.Label{Column: "y", Classes: []string{"a", "b"}},
		Features: []dataset.Feature{
			{Column: "ward", Kind: dataset.Categorical, Levels: []string{"one", "two", "three"}},
			{Column: "age", Kind: dataset.Numeric, Min: 0, Max: 1},
			{Column: "sex", Kind: dataset.Categorical, Levels: []string{"f", "m", "other"}},
			{Column: "dose", Kind: dataset.Numeric, Min: 0, Max: 1, FlagMissing: true},
		},
	}
}

// people returns n encoded rows; tilt moves wards and ages.
func people(n int, tilt float64, rng *rand.Rand) *mat.Dense {
	x := mat.NewDense(n, tiltSchema().Dim(), nil)
	for i := range n {
		ward := 0
		for ward < 3 && rng.Float64() < 0.5+tilt/4 {
			ward++
		}
		x.Set(i, ward, 1)
		x.Set(i, 4, math.Pow(rng.Float64(), 1-tilt/2))
		x.Set(i, 5+rng.IntN(3), 1)
		x.Set(i, 8, rng.Float64())
		if rng.Float64() < 0.1 {
			x.Set(i, 8, 0.5)
			x.Set(i, 9, 1)
		}
	}
	return x
}

func designs(t testing.TB) map[string]*FeatureDesign {
	out := map[string]*FeatureDesign{"mapped": MappedDesign(6)}
	for name, terms := range map[string]FeatureTerms{
		"blocks": {}, "bins": {Bins: 4},
		"pairs": {Pairs: [][2]string{{"ward", "sex"}, {"age", "dose"}, {"dose", "ward"}}},
	} {
		d, err := NewFeatureDesign(tiltSchema(), terms)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = d
	}
	return out
}

// TestFeatureBound compares the bound with the movement of the sums over all replacements within a
// hostile set of rows.
func TestFeatureBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for name, d := range designs(t) {
		width := tiltSchema().Dim()
		if d.mapped {
			width = 6
		}
		rows := mat.NewDense(80, width, nil)
		for i := range 80 {
			row := rows.RawRowView(i)
			for j := range row {
				switch {
				case i < 10: // corners
					row[j] = float64(i >> (j % 4) & 1)
				case i < 20: // hostile
					row[j] = []float64{math.NaN(), math.Inf(1), -7, 40, 1e300, 0.7}[rng.IntN(6)]
				case d.mapped: // signed corners
					row[j] = []float64{-1, 1, 0}[rng.IntN(3)] * math.Sqrt(0.5) * (1 - 1e-12)
				}
			}
			if i >= 20 && !d.mapped {
				copy(row, people(1, rng.Float64(), rng).RawRowView(0))
				row[4], row[8], row[9] = float64(rng.IntN(2)), float64(rng.IntN(2)),
					float64(rng.IntN(2))
			}
			if d.mapped && i >= 20 && i < 40 { // the extreme of one axis
				clear(row)
				row[i%5] = float64(1-2*(i/5%2)) * math.Sqrt(0.5) * (1 - 1e-12)
			}
		}
		largest1, largest2 := 0.0, 0.0
		for i := range 80 {
			for j := range 80 {
				a := d.Sums(mat.NewDense(1, width, mat.Row(nil, i, rows)))
				b := d.Sums(mat.NewDense(1, width, mat.Row(nil, j, rows)))
				var l1, l2 int64
				for k := range a {
					if !d.InRange(a[k], 1) {
						t.Fatalf("%s: a record adds %d to cell %d", name, a[k], k)
					}
					m := a[k] - b[k]
					l1 += max(m, -m)
					l2 += m * m
				}
				if l1 > d.L1 || l2 > d.L2sq {
					t.Fatalf("%s: rows %d→%d moved by L1 %d, L2² %d; bound %d, %d", name, i, j, l1, l2, d.L1, d.L2sq)
				}
				largest1 = math.Max(largest1, float64(l1)/float64(d.L1))
				largest2 = math.Max(largest2, float64(l2)/float64(d.L2sq))
			}
		}
		t.Logf("%s: largest movement / bound: L1 %.3f, L2² %.3f", name, largest1, largest2)
		if largest2 < 0.7 {
			t.Errorf("%s: the bound is loose", name)
		}
	}
}

// TestCountedBound: over all pairs of neighbours, each counted or not, SumsWithCount moves by at
// most the bound. With numeric columns alone, where this bound exceeds that of Sums, it is
// attained.
func TestCountedBound(t *testing.T) {
	all := designs(t)
	numbers := tiltSchema()
	numbers.Features = []dataset.Feature{{Column: "age", Kind: dataset.Numeric, Min: 0, Max: 1},
		{Column: "dose", Kind: dataset.Numeric, Min: 0, Max: 1}}
	var err error
	if all["numbers"], err = NewFeatureDesign(numbers, FeatureTerms{}); err != nil {
		t.Fatal(err)
	}
	all["one mapped"] = MappedDesign(2)
	rng := rand.New(rand.NewPCG(2, 1))
	for name, d := range all {
		width := map[string]int{"numbers": 2, "mapped": 6, "one mapped": 2}[name]
		if width == 0 {
			width = tiltSchema().Dim()
		}
		var sums [][]int64 // of single records; the first of none
		sums = append(sums, make([]int64, d.Cells()+1))
		for i := range 200 {
			x := mat.NewDense(1, width, nil)
			for j := range width {
				switch v := float64(i >> (j % 4) & 1); {
				case i >= 40 && i < 60: // hostile
					x.Set(0, j, []float64{math.NaN(), math.Inf(1), -7, 40, 1e300, 0.7}[rng.IntN(6)])
				case d.mapped: // up to the largest norm of a row
					x.Set(0, j, (2*v-1)*math.Sqrt(.5/float64(width-1)))
				case i < 40:
					x.Set(0, j, v)
				default:
					x.Set(0, j, rng.Float64())
				}
			}
			sums = append(sums, d.SumsWithCount(x))
		}
		most1, most2 := d.SumsWithCountBound()
		var far1, far2 int64
		for _, a := range sums {
			for _, b := range sums {
				var l1, l2 int64
				for j := range a {
					l1 += max(a[j]-b[j], b[j]-a[j])
					l2 += (a[j] - b[j]) * (a[j] - b[j])
				}
				far1, far2 = max(far1, l1), max(far2, l2)
			}
		}
		if far1 > most1 || far2 > most2 {
			t.Errorf("%s: moved by %d and %d, the bound is %d and %d", name, far1, far2, most1,
				most2)
		}
		if name == "numbers" && (far1 != most1 || far2 != most2 || most1 <= d.L1) {
			t.Errorf("%s: moved by %d and %d, the bound is %d and %d, that of the sums alone %d", name, far1, far2, most1, most2, d.L1)
		}
	}
}

func TestFeatureDesignRefusals(t *testing.T) {
	for _, terms := range []FeatureTerms{
		{Bins: 1}, {Bins: -1}, {Bins: 1000}, {Pairs: [][2]string{{"ward", "ward"}}}, {Pairs: [][2]string{{"ward", "nobody"}}},
	} {
		if _, err := NewFeatureDesign(tiltSchema(), terms); err == nil {
			t.Errorf("%+v was accepted", terms)
		}
	}
	s := tiltSchema()
	var levels []string
	for k := range 70 {
		levels = append(levels, fmt.Sprint("level ", k))
	}
	s.Features[0].Levels, s.Features[2].Levels = levels, levels
	if _, err := NewFeatureDesign(s,
		FeatureTerms{Pairs: [][2]string{{"ward", "sex"}}}); err == nil {
		t.Error("a design of 5,041 cells was accepted")
	}
}

// TestDensityRatioBound replaces one record of small sets by extreme ones and compares the movement
// of n·β with the sensitivity, solver error included.
func TestDensityRatioBound(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for name, d := range designs(t) {
		width := tiltSchema().Dim()
		draw := func(n int) *mat.Dense { return people(n, 0.2, rng) }
		if d.mapped {
			width = 6
			draw = func(n int) *mat.Dense { return smallPool(n, 6, rng) }
		}
		tight := 0.0
		for _, lambda := range []float64{0.01, 0.1, 3} {
			r := DensityRatio{Design: d, Lambda: lambda, Pool: draw(40)}
			for range 12 {
				x := draw(3)
				y := mat.DenseCopyOf(x)
				// Extremes: one record becomes another corner.
				row := y.RawRowView(0)
				clear(row)
				if d.mapped {
					row[rng.IntN(5)] = math.Sqrt(0.5) * (1 - 1e-9)
					for j := range x.RawRowView(0) {
						x.Set(0, j, -row[j])
					}
				} else {
					copy(row, people(1, rng.Float64(), rng).RawRowView(0))
				}
				a, b := r.Fit(x), r.Fit(y)
				moved := floats.Distance(a, b, 2)
				if moved > r.Sensitivity() {
					t.Fatalf("%s, λ = %g: n·β moved by %g, the bound is %g", name, lambda, moved,
						r.Sensitivity())
				}
				tight = math.Max(tight, moved/r.Sensitivity())
			}
		}
		t.Logf("%s: largest movement / bound %.3f (%d columns)", name, tight, width)
		if got := (DensityRatio{Design: d, Lambda: 1,
			Pool: draw(4)}).Fit(&mat.Dense{}); len(got) != d.Cells()+1 || floats.Norm(got, 2) != 0 {
			t.Errorf("%s: no records give %v", name, got)
		}
	}
}

// TestDensityRatioGradient: the gradient of the published objective vanishes at Fit's β.
func TestDensityRatioGradient(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	d := designs(t)["blocks"]
	pool, x := people(60, 0, rng), people(50, 1, rng)
	r := DensityRatio{Design: d, Lambda: 0.05, Pool: pool}
	beta := r.Fit(x)
	floats.Scale(1.0/50, beta)
	grad := make([]float64, len(beta))
	floats.AddScaled(grad, r.Lambda, beta)
	row := make([]float64, d.Cells())
	for _, side := range []struct {
		x       *mat.Dense
		private float64
	}{{pool, 0}, {x, 1}} {
		n, _ := side.x.Dims()
		for i := range n {
			d.safe(row, side.x.RawRowView(i))
			full := append(append([]float64{}, row...), 1)
			p := 1 / (1 + math.Exp(-floats.Dot(beta, full)))
			floats.AddScaled(grad, (p-side.private)/float64(n), full)
		}
	}
	if norm := floats.Norm(grad, 2); norm > 1e-4 {
		t.Errorf("the gradient at the fit is %v", norm)
	}
}
