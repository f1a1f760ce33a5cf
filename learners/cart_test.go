package learners

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// dumbPurity returns the best purity of any cut that leaves MinLeaf rows on each side, or without a
// cut.
func dumbPurity(s sample, minLeaf int) (best float64, cut bool) {
	part := func(keep func(i int) bool) (float64, int) {
		count, n := make([]float64, s.classes), 0
		for i, k := range s.y {
			if keep(i) {
				count[k]++
				n++
			}
		}
		sum := 0.0
		for _, c := range count {
			sum += c * c
		}
		return sum / math.Max(1, float64(n)), n
	}
	best, _ = part(func(int) bool { return true })
	n, d := s.x.Dims()
	for j := range d {
		for r := range n {
			at := s.x.At(r, j)
			low, a := part(func(i int) bool { return s.x.At(i, j) <= at })
			high, b := part(func(i int) bool { return s.x.At(i, j) > at })
			if a >= minLeaf && b >= minLeaf && low+high > best+leastGain {
				best, cut = low+high, true
			}
		}
	}
	return best, cut
}

func TestBestSplitIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 30).Draw(t, "n")
		d := rapid.IntRange(1, 3).Draw(t, "d")
		classes := rapid.IntRange(2, 4).Draw(t, "classes")
		x := mat.NewDense(n, d, rapid.SliceOfN(rapid.SampledFrom([]float64{0, 0.1, 0.2, 0.5, 0.9,
			1}), n*d, n*d).Draw(t, "x"))
		y := rapid.SliceOfN(rapid.IntRange(0, classes-1), n, n).Draw(t, "y")
		s, err := labelled(x, y, classes)
		if err != nil {
			t.Fatal(err)
		}
		minLeaf := rapid.IntRange(1, 4).Draw(t, "leaf")
		g := newGrower(context.Background(), CART{MaxDepth: 1, MinLeaf: minLeaf}, s, nil)
		copy(g.high, s.counts)
		got := g.bestSplit(everyRow(s))
		want, cut := dumbPurity(s, minLeaf)
		if (got.column >= 0) != cut || cut && math.Abs(got.purity-want) > 1e-9 {
			t.Fatalf("split %+v, want purity %g (a cut: %v)", got, want, cut)
		}
	})
}

// A grown tree has leaves of at least MinLeaf rows, at most MaxDepth levels, and the class shares
// of the rows that reach each node.
func TestTreeKeepsItsLimits(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 9))
	x, y := rowsLikePCA(300, 6, 3, rng)
	s, err := labelled(x, y, 3)
	if err != nil {
		t.Fatal(err)
	}
	c := CART{MaxDepth: 5, MinLeaf: 4}
	tree := newGrower(context.Background(), c, s, rng).grow(everyRow(s))
	reached := make([][]float64, len(tree.nodes))
	for i, k := range y {
		for depth := 0; ; depth++ {
			at := tree.descend(x.RawRowView(i), depth)
			if reached[at] == nil {
				reached[at] = make([]float64, 3)
			}
			reached[at][k]++
			if tree.nodes[at].low == 0 {
				if depth > c.MaxDepth {
					t.Fatalf("row %d took %d steps", i, depth)
				}
				break
			}
		}
	}
	leaves := 0
	for at, count := range reached {
		n := count[0] + count[1] + count[2]
		if tree.nodes[at].low == 0 {
			leaves++
		}
		if n < float64(c.MinLeaf) {
			t.Errorf("node %d has %g rows", at, n)
		}
		for k := range 3 {
			if math.Abs(tree.sharesAt(at)[k]-count[k]/n) > 1e-12 {
				t.Errorf("node %d: shares %v of counts %v", at, tree.sharesAt(at), count)
			}
		}
	}
	if leaves != (len(tree.nodes)+1)/2 || leaves < 3 {
		t.Errorf("%d leaves of %d nodes", leaves, len(tree.nodes))
	}
}

// For random labels no deep tree is chosen.
func TestDepthIsChosen(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 9))
	x, y := rowsLikePCA(200, 6, 2, rng)
	coins := make([]int, len(y))
	for i := range coins {
		if rng.IntN(4) == 0 {
			coins[i] = 1
		}
	}
	for _, c := range []struct {
		y           []int
		least, most int
	}{{y, 2, 8}, {coins, 0, 1}} {
		s, err := labelled(x, c.y, 2)
		if err != nil {
			t.Fatal(err)
		}
		if depth := DefaultCART().tune(context.Background(), s, rng); depth < c.least ||
			depth > c.most {
			t.Errorf("depth %d, want %d to %d", depth, c.least, c.most)
		}
	}
}

// Two neighbouring floats are separated: the cut is the lower one.
func TestTreeCutsBetweenNeighbouringFloats(t *testing.T) {
	x, y := mat.NewDense(20, 1, nil), make([]int, 20)
	for i := range y {
		y[i] = i % 2
		x.Set(i, 0, 0.3)
		if y[i] == 1 {
			x.Set(i, 0, math.Nextafter(0.3, 1))
		}
	}
	m, err := DefaultCART().Fit(context.Background(), x, y, 2, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if a := accuracy(m.Predict(x), y); a < 1 {
		t.Errorf("accuracy %g", a)
	}
}
