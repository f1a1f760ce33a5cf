package embedding

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func normalRows(n, d int, rng *rand.Rand) *mat.Dense {
	x := mat.NewDense(n, d, nil)
	for i := range n {
		for j := range d {
			x.Set(i, j, rng.NormFloat64())
		}
	}
	return x
}

func embedderOf(t testing.TB, f Fourier) *Embedder {
	t.Helper()
	e, err := NewEmbedder(f)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestFourierNormAndKernel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	f := Fourier{Dim: 5, Features: 8000, Gamma: 0.1, Seed: 3}
	e := embedderOf(t, f)
	x := normalRows(6, 5, rng)
	for i := range 6 {
		a := e.Mean(rowsOf(x, i, i+1))
		if n := Dot(a, a); math.Abs(n-1) > 1e-12 {
			t.Errorf("‖φ‖² = %.15f", n)
		}
		for j := range i {
			b := e.Mean(rowsOf(x, j, j+1))
			// A mean of 4,000 cosines has sd ≤ 1/√8000·√2 < .0159; by Hoeffding an error of .1 has
			// probability below 2e^{−20} for each of 15 pairs.
			if got, want := Dot(a,
				b), math.Exp(-0.1*squaredDistance(x.RawRowView(i),
				x.RawRowView(j))); math.Abs(got-want) > 0.1 {
				t.Errorf("⟨φ,φ⟩ = %.3f, kernel %.3f", got, want)
			}
		}
	}
}

func TestFourierStreams(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	f := Fourier{Dim: 3, Features: 20, Gamma: 1, Seed: 1}
	x := normalRows(600, 3, rng) // more than two blocks
	whole, parts := make([]int64, 20), make([]int64, 20)
	embedderOf(t, f).AddIntegersTo(whole, x, DefaultLattice())
	e := embedderOf(t, f)
	for _, cut := range [][2]int{{400, 600}, {0, 7}, {7, 400}} {
		e.AddIntegersTo(parts, rowsOf(x, cut[0], cut[1]), DefaultLattice())
	}
	bound, err := DefaultLattice().Bound(f)
	if err != nil {
		t.Fatal(err)
	}
	mean, again := e.Mean(x), bound.MeanOfIntegers(whole, 600)
	scores, mean2 := e.Scores(x, mat.NewDense(1, 20, mean))
	var score float64
	for i := range 600 {
		score += scores.At(i, 0) / 600
	}
	if math.Abs(score-Dot(mean, mean)) > 1e-12 {
		t.Errorf("mean score %.6f, want %.6f", score, Dot(mean, mean))
	}
	for j := range 20 {
		if whole[j] != parts[j] {
			t.Fatalf("cell %d: %d in one piece, %d in parts", j, whole[j], parts[j])
		}
		if math.Abs(mean[j]-again[j]) > 1e-6 || math.Abs(mean[j]-mean2[j]) > 1e-12 {
			t.Errorf("cell %d: %.9f as reals, %.9f as integers", j, mean[j], again[j])
		}
	}
}

// The bound must hold for every pair of rows, and some pair must nearly reach it.
func TestIntegerBound(t *testing.T) {
	for _, radius := range []int64{1, 2, 3, 5, 1000, 1 << 20, 1 << 29} {
		rng := rand.New(rand.NewPCG(uint64(radius), 1))
		f := Fourier{Dim: 1, Features: 6, Gamma: 1, Seed: 9}
		l := Lattice{Radius: radius}
		b, err := l.Bound(f)
		if err != nil {
			t.Fatal(err)
		}
		e := embedderOf(t, f)
		rows := make([][]int64, 300)
		for i := range rows {
			rows[i] = make([]int64, 6)
			e.AddIntegersTo(rows[i], mat.NewDense(1, 1, []float64{20 * rng.NormFloat64()}), l)
		}
		var top1, top2 int64
		for _, p := range rows {
			for _, q := range rows {
				var l1, l2 int64
				for j := range p {
					l1 += max(p[j]-q[j], q[j]-p[j])
					l2 += (p[j] - q[j]) * (p[j] - q[j])
				}
				top1, top2 = max(top1, l1), max(top2, l2)
			}
		}
		if top1 > b.L1 || top2 > b.L2sq {
			t.Errorf("radius %d: moved L1 %d L2² %d, bound %d and %d", radius, top1, top2, b.L1,
				b.L2sq)
		}
		if radius >= 1000 && float64(top2) < 0.8*float64(b.L2sq) {
			t.Errorf("radius %d: largest L2² %d is far below the bound %d", radius, top2, b.L2sq)
		}
	}
}

func TestLatticePair(t *testing.T) {
	// Values just outside the circle, and NaN.
	for _, c := range []struct {
		c, s float64
		r    int64
	}{{3.0000000001, 4.0000000001, 5}, {5, 1, 5}, {math.NaN(), 0, 5}, {math.Inf(1), 2, 5},
		{-5, -1, 5}} {
		a, b := latticePair(c.c, c.s, c.r)
		if a*a+b*b > c.r*c.r {
			t.Errorf("(%g, %g) → (%d, %d), outside radius %d", c.c, c.s, a, b, c.r)
		}
	}
}

func TestFourierRefuses(t *testing.T) {
	for _, f := range []Fourier{{0, 2, 1, 1}, {1, 3, 1, 1}, {1, 0, 1, 1}, {1, 2, 0, 1},
		{1, 2, math.NaN(), 1}, {1, 2, math.Inf(1), 1}} {
		if _, err := NewEmbedder(f); err == nil {
			t.Errorf("%+v: no error", f)
		}
	}
	for _, r := range []int64{0, -1, 1 << 31} {
		if _, err := (Lattice{r}).Bound(Fourier{1, 2, 1, 1}); err == nil {
			t.Errorf("radius %d: no error", r)
		}
	}
	if _, err := (Lattice{1 << 30}).Bound(Fourier{1, 4096, 1, 1}); err == nil {
		t.Error("overflow: no error")
	}
}

func rowsOf(x *mat.Dense, from, to int) *mat.Dense {
	_, d := x.Dims()
	return x.Slice(from, to, 0, d).(*mat.Dense)
}
