package aggregation

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// anyRecords draws a party's records, hostile ones included: values outside every schema, infinite,
// NaN, labels missing, no records.
func anyRecords(t *rapid.T, name string, d, classes int) (*mat.Dense, []int) {
	n := rapid.IntRange(0, 6).Draw(t, name+" records")
	if n == 0 {
		return &mat.Dense{}, nil
	}
	value := rapid.OneOf(
		rapid.Float64Range(-1, 1),
		rapid.SampledFrom([]float64{0, 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 1e308, 5e-324,
			math.Sqrt(.5)}),
	)
	x, y := mat.NewDense(n, d, nil), make([]int, n)
	for i := range n {
		for j := range d {
			x.Set(i, j, value.Draw(t, name))
		}
		y[i] = rapid.IntRange(-1, classes-1).Draw(t, name+" label")
	}
	return x, y
}

func directionOf(m *MeansDesign) func(*mat.Dense, []int) []int64 {
	return func(x *mat.Dense, y []int) []int64 {
		sum := m.NewSum()
		m.Add(sum, x, y)
		return m.PartyVector(sum)
	}
}

// TestMeansBound: for any records of two parties, their vectors are in range and no further apart
// than the declared bounds, in integers.
func TestMeansBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(2, 4).Draw(t, "classes")
		d := rapid.IntRange(2, 5).Draw(t, "features")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "pool"), 1))
		m := NewMeansDesign(smallPool(rapid.IntRange(1, 12).Draw(t, "rows"), d, rng), nil, classes)
		a, b := directionOf(m)(anyRecords(t, "one", d, classes)), directionOf(m)(anyRecords(t,
			"other", d, classes))
		var l1, l2 int64
		for i := range a {
			l1 += max(a[i]-b[i], b[i]-a[i])
			l2 += (a[i] - b[i]) * (a[i] - b[i])
		}
		if len(a) != m.Cells() || !MeansInRange(a) || !MeansInRange(b) || l2 > MeansL2sq ||
			l1 > MeansL1(m.Cells()) {
			t.Fatalf("%v → %v: L1 %d of %d, L2² %d of %d", a, b, l1, MeansL1(m.Cells()), l2,
				int64(MeansL2sq))
		}
	})
}

// TestMeansBoundTight: two parties with opposite records come near the bound.
func TestMeansBoundTight(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, classes := range []int{2, 3} {
		x := smallPool(40, 5, rng)
		m := NewMeansDesign(x, nil, classes)
		y := make([]int, 40)
		opposite := mat.DenseCopyOf(x)
		opposite.Scale(-1, opposite)
		a, b := directionOf(m)(x, y), directionOf(m)(opposite, y)
		var l2 int64
		for i := range a {
			l2 += (a[i] - b[i]) * (a[i] - b[i])
		}
		if share := float64(l2) / MeansL2sq; share < .99 || share > 1 {
			t.Errorf("%d classes: largest movement / bound: L2² %.5f, want .99 to 1", classes, share)
		}
	}
}

func TestMeansInRange(t *testing.T) {
	const r = meansRadius
	for _, c := range []struct {
		v    []int64
		want bool
	}{
		{[]int64{r, 0, 0}, true},
		{[]int64{r, 1, 0}, false},
		{[]int64{0, -r}, true},
		{[]int64{-r - 1}, false},
		{[]int64{math.MinInt64, 0}, false},
		{[]int64{math.MaxInt64, math.MaxInt64}, false},
		{[]int64{r / 2, r / 2, r / 2, -r / 2}, true},
		{[]int64{r / 2, r / 2, r / 2, -r / 2, 1}, false},
		{nil, true},
	} {
		if got := MeansInRange(c.v); got != c.want {
			t.Errorf("%v in range: %v, want %v", c.v, got, c.want)
		}
	}
}
