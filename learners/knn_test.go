package learners

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// dumbNearest sorts all rows by squared distance, then index.
func dumbNearest(m *NeighboursModel, row []float64, k, but int) []int {
	var order []int
	for i := range m.y {
		if i != but {
			order = append(order, i)
		}
	}
	away := func(i int) (sum float64) {
		for j, v := range m.x.RawRowView(i) {
			sum += (v - row[j]) * (v - row[j])
		}
		return sum
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(away(a), away(b)) })
	return order[:min(k, len(order))]
}

// On small integers distances are exact, ties included.
func TestNearestAgainstSorting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		d := rapid.IntRange(1, 3).Draw(t, "d")
		cell := rapid.SampledFrom([]float64{-2, -1, 0, 1, 2, 3})
		x := mat.NewDense(n, d, rapid.SliceOfN(cell, n*d, n*d).Draw(t, "x"))
		s, err := labelled(x, make([]int, n), 2)
		if err != nil {
			t.Fatal(err)
		}
		m := newNeighbours(s)
		tests := rapid.IntRange(1, 200).Draw(t, "tests")
		z := mat.NewDense(tests, d, rapid.SliceOfN(cell, tests*d, tests*d).Draw(t, "z"))
		k := rapid.IntRange(1, n).Draw(t, "k")
		row := 0
		m.each(context.Background(), z, k, false, func(near []int) {
			// The order by distance minus the row's own square is the same.
			if want := dumbNearest(m, z.RawRowView(row), k, -1); !slices.Equal(near, want) {
				t.Fatalf("row %d: %v, want %v", row, near, want)
			}
			row++
		})
		if row != tests {
			t.Fatalf("%d of %d rows", row, tests)
		}
		row = 0
		m.each(context.Background(), x, k, true, func(near []int) {
			if want := dumbNearest(m, x.RawRowView(row), k, row); !slices.Equal(near, want) {
				t.Fatalf("row %d without itself: %v, want %v", row, near, want)
			}
			row++
		})
	})
}

func TestNeighboursVote(t *testing.T) {
	x := mat.NewDense(5, 1, []float64{0, 1, 2, 3, 10})
	m := newNeighbours(sample{x: x, y: []int{2, 1, 1, 2, 0}, classes: 3})
	for _, c := range []struct{ k, want int }{{1, 2}, {2, 2}, {3, 1}, {4, 2}} {
		m.k = c.k
		if y := m.Predict(mat.NewDense(1, 1, []float64{-1})); y[0] != c.want {
			t.Errorf("k = %d: class %d, want %d", c.k, y[0], c.want)
		}
	}
}

// Biased coin flips need many neighbours. Clusters of three rows need only the two others in the
// cluster.
func TestNeighboursAreChosen(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	x := mat.NewDense(300, 2, nil)
	y := make([]int, 300)
	for i := range y {
		x.SetRow(i, []float64{rng.Float64(), rng.Float64()})
		if rng.IntN(4) == 0 {
			y[i] = 1
		}
	}
	m := newNeighbours(sample{x: x, y: y, classes: 2})
	if k := m.tune(context.Background()); k < 9 {
		t.Errorf("k = %d for coin flips", k)
	}
	for i := range y {
		y[i] = i % 100
		x.SetRow(i, []float64{float64(i % 100), 0})
	}
	m = newNeighbours(sample{x: x, y: y, classes: 100})
	if k := m.tune(context.Background()); k > 3 {
		t.Errorf("k = %d for clusters of three", k)
	}
}
