package learners

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func TestBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := rapid.OneOf(rapid.Float64Range(0, 1),
			rapid.SampledFrom([]float64{0, 0.5, 1, math.Nextafter(1, 0)}))
		v := rapid.SliceOfN(cell, 1, 80).Draw(t, "v")
		most := rapid.IntRange(2, 20).Draw(t, "most")
		x := mat.NewDense(len(v), 1, slices.Clone(v))
		b := newBins(x, most)
		cuts := b.cuts[0]
		distinct := len(slices.Compact(slices.Sorted(slices.Values(v))))
		if len(cuts) >= most && len(cuts) > 0 || distinct <= most && len(cuts) != distinct-1 {
			t.Fatalf("%d cuts for %d values in %d bins", len(cuts), distinct, most)
		}
		if distinct > 1 && len(cuts) == 0 {
			t.Fatal("no cut in a column that varies")
		}
		if !slices.IsSorted(cuts) || len(slices.Compact(slices.Clone(cuts))) != len(cuts) {
			t.Fatalf("cuts %v", cuts)
		}
		codes := b.codes(x)[0]
		filled := map[uint8]bool{}
		for i, a := range v {
			filled[codes[i]] = true
			for c, cut := range cuts {
				if (a <= cut) != (int(codes[i]) <= c) {
					t.Fatalf("%g is in bin %d, cuts %v", a, codes[i], cuts)
				}
			}
		}
		if len(filled) != len(cuts)+1 {
			t.Fatalf("%d of %d bins hold a value", len(filled), len(cuts)+1)
		}
	})
}

func TestBinsAreQuantiles(t *testing.T) {
	v := make([]float64, 1000)
	for i := range v {
		v[i] = math.Pow(float64(i)/1000, 3)
	}
	b := newBins(mat.NewDense(1000, 1, v), 10)
	size := make([]int, 10)
	for _, c := range b.codes(mat.NewDense(1000, 1, v))[0] {
		size[c]++
	}
	if slices.Min(size) < 99 || slices.Max(size) > 101 {
		t.Errorf("bins of %v rows", size)
	}
	// The long and the short search for a bin agree.
	many := newBins(mat.NewDense(1000, 1, v), 200)
	for _, a := range append([]float64{-1, 2}, many.cuts[0]...) {
		at := 0
		for at < len(many.cuts[0]) && !(a <= many.cuts[0][at]) {
			at++
		}
		if got := many.of(0, a); got != at {
			t.Errorf("%g is in bin %d, want %d", a, got, at)
		}
	}
}
