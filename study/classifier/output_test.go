package classifier

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestValues: the numbers match the output, in the columns of their classes, and the predicted
// class has the largest number.
func TestValues(t *testing.T) {
	x := mat.NewDense(2, 2, []float64{1, 0, 0, 1})
	two, three := [][]float64{{2}, {-1}}, [][]float64{{1, 3, -1}, {0, -2, 2}}
	p := func(v float64) float64 { return 1 / (1 + math.Exp(-v)) }
	sum := math.Exp(1) + math.Exp(3) + math.Exp(-1)
	for _, c := range []struct {
		Classifier
		want []float64 // first row
	}{
		{Classifier{Classes: []string{"a", "b"}, Weights: two, Output: Score}, []float64{-2, 2}},
		{Classifier{Classes: []string{"a", "b"}, Weights: two, Output: VoteShare}, []float64{p(-2), p(2)}},
		// the weights include the calibration
		{Classifier{Classes: []string{"a", "b"}, Weights: two, Output: Probability, Calibration: &Calibration{Slope: 3}}, []float64{p(-2), p(2)}},
		{Classifier{Classes: []string{"a", "b", "c"}, Weights: three, Output: Score}, []float64{1, 3, -1}},
		{Classifier{Classes: []string{"a", "b", "c"}, Weights: three, Output: VoteShare}, []float64{math.Exp(1) / sum, math.Exp(3) / sum, math.Exp(-1) / sum}},
	} {
		v, err := c.Values(x)
		if err != nil {
			t.Fatal(err)
		}
		model, _ := c.Linear()
		for k, want := range c.want {
			if got := v.At(0, k); math.Abs(got-want) > 1e-15 {
				t.Errorf("%s of class %d is %g, want %g", c.Output, k, got, want)
			}
		}
		for i, k := range model.Predict(x) {
			if row := v.RawRowView(i); row[k] < max(row[0], row[1]) {
				t.Errorf("%s: class %d is predicted, the numbers are %v", c.Output, k, row)
			}
		}
	}
	if v, err := (Classifier{Classes: []string{"a", "b"}, Weights: two,
		Output: Score}).Values(&mat.Dense{}); err != nil || !v.IsEmpty() {
		t.Errorf("no rows give %v, %v", v, err)
	}
}

// TestOutputRefused: a classifier with an unknown output, or with an output that contradicts its
// calibration, is refused.
func TestOutputRefused(t *testing.T) {
	for _, c := range []Classifier{
		{}, {Output: "odds"}, {Output: Probability}, {Output: VoteShare, Calibration: &Calibration{}},
	} {
		c.Classes, c.Weights = []string{"a", "b"}, [][]float64{{1}}
		if _, err := c.Linear(); err == nil ||
			!strings.Contains(err.Error(), "the release was damaged") {
			t.Errorf("output %q: %v", c.Output, err)
		}
	}
}
