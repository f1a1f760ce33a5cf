package learners

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func TestNamesAndNew(t *testing.T) {
	for _, name := range Names() {
		l, err := New(name)
		if name == RandomLearner {
			if err == nil || !strings.Contains(err.Error(), "Assign") {
				t.Errorf("New(%q): %v, want an error that names Assign", name, err)
			}
			continue
		}
		if err != nil || l.Name() != name {
			t.Errorf("New(%q) = %v, %v", name, l, err)
		}
	}
	if _, err := New("oracle"); err == nil || !strings.Contains(err.Error(), "softmax") {
		t.Errorf("unknown name: %v, want an error that lists the names", err)
	}
}

// 600 uniform draws from six learners miss a given one with probability (5/6)^600 < 1e-47.
func TestAssignMixed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	seen := map[string]bool{}
	for range 600 {
		l, err := NewOrRandom(RandomLearner, rng)
		if err != nil {
			t.Fatal(err)
		}
		seen[l.Name()] = true
	}
	if len(seen) != len(Names())-1 {
		t.Errorf("drew %v of %v", seen, Names())
	}
	if l, err := NewOrRandom("cart", rng); err != nil || l.Name() != "cart" {
		t.Errorf("Assign(cart) = %v, %v", l, err)
	}
}

// For any rows, every learner's model gives each row a class, and the same again from the same
// seed.
func TestEveryLearnerTakesAnyRows(t *testing.T) {
	for _, l := range catalogue() {
		t.Run(l.Name(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n := rapid.IntRange(1, 40).Draw(t, "n")
				d := rapid.IntRange(1, 4).Draw(t, "d")
				classes := rapid.IntRange(2, 5).Draw(t, "classes")
				cell := rapid.SampledFrom([]float64{0, 0, 1, 1, 0.25, 0.7, 1e-9})
				x := mat.NewDense(n, d, rapid.SliceOfN(cell, n*d, n*d).Draw(t, "x"))
				y := rapid.SliceOfN(rapid.IntRange(-1, rapid.IntRange(0, classes).Draw(t, "most")),
					n, n).Draw(t, "y")
				seed := rapid.Uint64().Draw(t, "seed")
				before := mat.DenseCopyOf(x)
				a, err := l.Fit(context.Background(), x, y, classes, rand.New(rand.NewPCG(seed, 0)))
				if err != nil {
					t.Fatal(err)
				}
				b, _ := l.Fit(context.Background(), x, y, classes, rand.New(rand.NewPCG(seed, 0)))
				predicted := a.Predict(x)
				if !slices.Equal(predicted, b.Predict(x)) {
					t.Fatal("the same seed gave another model")
				}
				if !mat.Equal(x, before) {
					t.Fatal("the rows were changed")
				}
				for _, k := range predicted {
					if k < 0 || k >= classes {
						t.Fatalf("class %d of %d", k, classes)
					}
				}
				if len(predicted) != n || len(a.Predict(&mat.Dense{})) != 0 {
					t.Fatalf("%d classes for %d rows", len(predicted), n)
				}
			})
		})
	}
}

func TestTooLittleToLearnFrom(t *testing.T) {
	x := mat.NewDense(12, 1, []float64{0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1})
	for _, l := range catalogue() {
		for _, c := range []struct {
			name string
			x    *mat.Dense
			y    []int
			want ConstantModel
		}{
			{"no rows", &mat.Dense{}, nil, ConstantModel{0}},
			{"nil rows", nil, nil, ConstantModel{0}},
			{"no labels", x, []int{-1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 3}, ConstantModel{0}},
			{"one class", x, []int{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2}, ConstantModel{2}},
			{"seven rows", x, []int{0, 1, 0, 1, 0, 1, 1, -1, -1, -1, -1, -1}, ConstantModel{1}},
		} {
			m, err := l.Fit(context.Background(), c.x, c.y, 3, rand.New(rand.NewPCG(1, 1)))
			if err != nil || m != Model(c.want) {
				t.Errorf("%s, %s: %v, %v, want %v", l.Name(), c.name, m, err, c.want)
			}
		}
		if _, err := l.Fit(context.Background(), x, []int{1}, 2, nil); err == nil {
			t.Errorf("%s took 12 rows with 1 label", l.Name())
		}
		if _, err := l.Fit(context.Background(), x, make([]int, 12), 1, nil); err == nil {
			t.Errorf("%s took 1 class", l.Name())
		}
	}
}

// Every learner separates three distant squares, with unlabelled rows among the others.
func TestEveryLearnerLearns(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	draw := func(n int) (*mat.Dense, []int) {
		x, y := mat.NewDense(n, 3, nil), make([]int, n)
		for i := range n {
			y[i] = i % 3
			x.SetRow(i, []float64{0.1 * rng.Float64(), 0.1 * rng.Float64(), 0.5})
			if y[i] < 2 {
				x.Set(i, y[i], 0.5+0.1*rng.Float64())
			}
		}
		return x, y
	}
	x, y := draw(90)
	hidden := slices.Clone(y)
	for i := 0; i < 90; i += 10 {
		hidden[i] = -1
	}
	test, want := draw(300)
	for _, l := range catalogue() {
		m, err := l.Fit(context.Background(), x, hidden, 3, rng)
		if err != nil {
			t.Fatal(err)
		}
		if got := accuracy(m.Predict(test), want); got < 1 {
			t.Errorf("%s: accuracy %g on separate squares", l.Name(), got)
		}
	}
}

func TestFoldsAreEven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.IntRange(2, 4).Draw(t, "classes")
		y := rapid.SliceOfN(rapid.IntRange(0, classes-1), 8, 60).Draw(t, "y")
		s, err := labelled(mat.NewDense(len(y), 1, nil), y, classes)
		if err != nil {
			t.Fatal(err)
		}
		k := rapid.IntRange(2, 6).Draw(t, "folds")
		fold := s.folds(k, rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)))
		for c := range classes {
			size := make([]int, k)
			for i, f := range fold {
				if y[i] == c {
					size[f]++
				}
			}
			if slices.Max(size)-slices.Min(size) > 1 {
				t.Fatalf("class %d is dealt %v", c, size)
			}
		}
		for f := range k {
			train, held := s.split(fold, f)
			known := map[int]bool{}
			for _, c := range train.y {
				known[c] = true
			}
			for _, c := range held.y {
				if !known[c] {
					t.Fatalf("class %d is held out and unknown", c)
				}
			}
		}
	})
}

func BenchmarkFit(b *testing.B) {
	for _, c := range []struct {
		name          string
		n, d, classes int
	}{{"120x41x2", 120, 41, 2}, {"120x41x10", 120, 41, 10}, {"500x110x2", 500, 110, 2}} {
		rng := rand.New(rand.NewPCG(1, 2))
		x, y := rowsLikePCA(c.n, c.d, c.classes, rng)
		if c.d == 110 { // like a table: six numbers and indicators
			for i := range c.n {
				row := x.RawRowView(i)
				for j := 6; j < c.d; j++ {
					row[j] = float64(rng.IntN(8) / 7)
				}
			}
		}
		for _, l := range catalogue() {
			b.Run(l.Name()+"/"+c.name, func(b *testing.B) {
				for b.Loop() {
					if _, err := l.Fit(context.Background(), x, y, c.classes, rng); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkPredict(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	x, y := rowsLikePCA(10000, 41, 2, rng)
	small := mat.DenseCopyOf(x.Slice(0, 200, 0, 41))
	for _, l := range catalogue() {
		m, err := l.Fit(context.Background(), small, y[:200], 2, rng)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(l.Name()+"/10000x41", func(b *testing.B) {
			for b.Loop() {
				m.Predict(x)
			}
		})
	}
}
