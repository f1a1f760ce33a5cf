package main

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/ratio"
)

// drawnSet is n rows of five columns, those of class k about k.
func drawnSet(rng *rand.Rand, n int, shares ...float64) ratio.Set {
	x, y := mat.NewDense(n, 5, nil), make([]int, n)
	at := 0.
	for k, p := range shares {
		for i := int(at * float64(n)); i < n; i++ {
			y[i] = k
		}
		at += p
	}
	for i := range n {
		for j := range 5 {
			x.Set(i, j, float64(y[i]*(1+j%2))+rng.NormFloat64())
		}
	}
	return ratio.Set{Rows: x, Shares: ratio.SharesOfLabels(y, nil, len(shares))}
}

// TestConstrained: the shares are those that the estimator gave where its numbers were first
// published.
func TestConstrained(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	sets := []ratio.Set{drawnSet(rng, 60, .7, .2, .1), drawnSet(rng, 60, .1, .7, .2),
		drawnSet(rng, 60, .2, .1, .7), drawnSet(rng, 60, .4, .3, .3)}
	c := newConstrained(sets, ratio.RBF(.1))
	for _, of := range []struct{ truth, want []float64 }{
		{[]float64{.2, .3, .5}, []float64{0.15675657943116353, 0.33535528545262644, 0.50788813511621}},
		{[]float64{.05, 0, .95}, []float64{0.012740049704219103, 0.14881066953643224, 0.8384492807593485}},
	} {
		got := c.estimate(drawnSet(rng, 50, of.truth...).Rows)
		for k, want := range of.want {
			if math.Abs(got[k]-want) > 1e-8 {
				t.Errorf("shares %v, want %v", got, of.want)
			}
		}
	}
}

// TestConstrainedWithAlikeSets: sets at the same shares leave the unbiased Gram an eigenvalue
// that is sampling noise, which must not rule the estimate.
func TestConstrainedWithAlikeSets(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range 10 {
		var sets []ratio.Set
		for _, p := range []float64{.1, .12, .88, .9} {
			sets = append(sets, drawnSet(rng, 200, 1-p, p))
		}
		// The error of a sound estimate has a deviation of about .05.
		if got := newConstrained(sets,
			ratio.RBF(.1)).estimate(drawnSet(rng, 200, .7, .3).Rows)[1]; math.Abs(got-.3) > .25 {
			t.Errorf("draw %d: share %.3f, truth .3", i, got)
		}
	}
}

// TestNearestShares: no point of a grid over the simplex is nearer.
func TestNearestShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 50 {
		root := mat.NewDense(3, 3, nil)
		for i := range 9 {
			root.Set(i/3, i%3, rng.NormFloat64())
		}
		var h mat.Dense
		h.Mul(root, root.T())
		free := []float64{2*rng.Float64() - .5, 2*rng.Float64() - .5, 0}
		free[2] = 1 - free[0] - free[1]
		off := func(p []float64) float64 {
			d := mat.NewVecDense(3, []float64{p[0] - free[0], p[1] - free[1], p[2] - free[2]})
			return mat.Inner(d, &h, d)
		}
		got := nearestShares(&h, free)
		for a := range 51 {
			for b := range 51 - a {
				if p := []float64{float64(a) / 50, float64(b) / 50,
					float64(50-a-b) / 50}; off(p) < off(got)-1e-9 {
					t.Fatalf("%v is nearer to %v than %v", p, free, got)
				}
			}
		}
	}
}

// TestProtocols: shares are those of the rows; nobody without a label is drawn; a grid of two
// classes is gone through.
func TestProtocols(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	d := &ratioData{Classes: 3, Targets: 90, TestY: make([]int, 1000)}
	for i := range d.TestY {
		d.TestY[i] = i%4 - 1
	}
	for _, protocol := range []string{"npp", "app", "upp"} {
		samples, err := d.targets(protocol, 50, rng)
		if err != nil || len(samples) != 50 {
			t.Fatal(protocol, len(samples), err)
		}
		for _, s := range samples {
			if got := ratio.SharesOfLabels(d.TestY, s.Rows, 3); len(s.Rows) != 90 ||
				!slices.Equal(got, s.Shares) {
				t.Fatalf("%s: %d rows of shares %v, said to be %v", protocol, len(s.Rows), got,
					s.Shares)
			}
			for _, r := range s.Rows {
				if d.TestY[r] < 0 {
					t.Fatalf("%s: row %d has no label", protocol, r)
				}
			}
		}
	}
	d.Classes, d.Targets = 2, 100
	grid, err := d.targets("app", 21, rng)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range grid {
		if math.Abs(s.Shares[1]-float64(i)/20) > 1e-9 {
			t.Errorf("grid point %d has share %g", i, s.Shares[1])
		}
	}
	d.TestY = []int{-1}
	if _, err := d.targets("npp", 1, rng); err == nil {
		t.Error("no labels: no error")
	}
}
