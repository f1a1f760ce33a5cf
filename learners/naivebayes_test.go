package learners

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// On columns of few values the model equals the textbook's formula.
func TestNaiveBayesAgainstItsDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(MinTrainingRows, 30).Draw(t, "n")
		d := rapid.IntRange(1, 3).Draw(t, "d")
		classes := rapid.IntRange(2, 3).Draw(t, "classes")
		values := []float64{0, 0.3, 1}
		x := mat.NewDense(n, d, rapid.SliceOfN(rapid.SampledFrom(values), n*d, n*d).Draw(t, "x"))
		y := rapid.SliceOfN(rapid.IntRange(0, classes-1), n, n).Draw(t, "y")
		y[0], y[1] = 0, 1
		b := NaiveBayes{Bins: 4, Prior: 2}
		m, err := b.Fit(context.Background(), x, y, classes, nil)
		if err != nil {
			t.Fatal(err)
		}
		share := func(in func(i int) bool) (count float64) {
			for i := range n {
				if in(i) {
					count++
				}
			}
			return count
		}
		got := m.Predict(x)
		for r := range n {
			posterior := make([]float64, classes)
			for k := range posterior {
				size := share(func(i int) bool { return y[i] == k })
				posterior[k] = (size + 1) / float64(n+classes)
				for j := range d {
					same := func(i int) bool { return x.At(i, j) == x.At(r, j) }
					all := share(same) / float64(n)
					both := share(func(i int) bool { return y[i] == k && same(i) })
					posterior[k] *= (both + b.Prior*all) / (size + b.Prior)
				}
			}
			if best := argmax(posterior); posterior[best] > posterior[got[r]]*(1+1e-9) {
				t.Fatalf("row %d: class %d, posterior %v", r, got[r], posterior)
			}
		}
	})
}

// A bin without rows of a class makes the class unlikely, not impossible.
func TestNaiveBayesIsFinite(t *testing.T) {
	x := mat.NewDense(10, 1, []float64{0, 0, 0, 0, 0, 1, 1, 1, 1, 1})
	m, err := DefaultNaiveBayes().Fit(context.Background(), x, []int{0, 0, 0, 0, 0, 1, 1, 1, 1, 1},
		3, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range m.(*NaiveBayesModel).columns {
		for _, v := range table {
			if math.IsInf(v, 0) || math.IsNaN(v) {
				t.Errorf("log probabilities %v", table)
			}
		}
	}
}
