package fitting

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/learners"
)

// TestConstantModel: if noise leaves no fit, all rows get the class with the largest released
// share. If noise leaves open which share is largest, the known public shares decide. The shares
// are predicted unchanged.
func TestConstantModel(t *testing.T) {
	const n, d = 50, 4
	rng := rand.New(rand.NewPCG(7, 7))
	x := mat.NewDense(n, d, nil)
	for i := range n {
		x.SetRow(i, []float64{rng.NormFloat64() / 9, rng.NormFloat64() / 9, rng.NormFloat64() / 9,
			.7})
	}
	for name, c := range map[string]struct {
		released, public []float64
		noise            float64 // standard deviation of a vote share
		want             []float64
	}{
		"two classes":                {released: []float64{.2, .8}, noise: .01, want: []float64{.2, .8}},
		"the public is mistaken":     {released: []float64{.2, .8}, public: []float64{.9, .1}, noise: .01, want: []float64{.2, .8}},
		"noise leaves it open":       {released: []float64{.6, .4}, public: []float64{.1, .9}, noise: .1, want: []float64{.1, .9}},
		"open, and nothing public":   {released: []float64{.6, .4}, noise: .1, want: []float64{.6, .4}},
		"below 0":                    {released: []float64{1.3, -.3}, noise: .3, want: []float64{1.3, .25}},
		"three classes":              {released: []float64{.2, .5, .3}, noise: .01, want: []float64{.2, .5, .3}},
		"three, open":                {released: []float64{.3, .36, .34}, public: []float64{.5, .3, .2}, noise: .02, want: []float64{.5, .3, .2}},
		"three, far below 0":         {released: []float64{-.4, .1, 1.3}, noise: .5, want: []float64{1. / 6, 1. / 6, 1.3}},
		"three, without any noise":   {released: []float64{0, .1, .9}, want: []float64{1e-6, .1, .9}},
		"the same for a column of 0": {released: []float64{.2, .8}, noise: .01, want: []float64{.5, .5}},
	} {
		k := len(c.released)
		rows := x
		// without an intercept there is nothing to read the shares from
		if name == "the same for a column of 0" {
			rows = mat.DenseCopyOf(x)
			for i := range n {
				rows.Set(i, d-1, 0)
			}
		}
		mu := mat.NewDense(d, learners.WeightColumns(k), nil)
		for j := range learners.WeightColumns(k) {
			share := c.released[j]
			if k == 2 {
				share = c.released[1]
			}
			mu.Set(d-1, j, .7*share)
		}
		noise := IsotropicNoise(d, .7*c.noise)
		w, public := constantModel(rows, mu, noise, FitTerms{Classes: k, Shares: c.public})
		if public != (c.public != nil && c.want[0] == c.public[0]) {
			t.Errorf("%s: public %v", name, public)
		}
		p := learners.Linear{W: w, Classes: k}.Probabilities(rows)
		total := 0.
		for _, v := range c.want {
			total += v
		}
		for i := range n {
			for j, want := range c.want {
				if got := p.At(i, j); math.Abs(got-want/total) > 1e-9 {
					t.Fatalf("%s: row %d has %v, want %v over %v", name, i, mat.Row(nil, i, p),
						c.want, total)
				}
			}
		}
	}
	// Under noise as large as this no fit beats the zero model.
	mu := mat.NewDense(d, 1, []float64{.02, -.01, .03, .7 * .8})
	fit := FitVotes(x, nil, mu, IsotropicNoise(d, .3),
		FitTerms{Classes: 2, Shares: []float64{.3, .7}},
		rand.New(rand.NewPCG(1, 1)))
	if fit.Lambda != 0 || !fit.UsesOnlyShares {
		t.Fatalf("the fit has ridge %g, public %v: this test cannot fail", fit.Lambda, fit.UsesOnlyShares)
	}
	for _, class := range fit.Model.Predict(x) {
		if class != 1 {
			t.Fatalf("a row is given class %d", class)
		}
	}
}
