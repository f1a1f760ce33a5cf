package aggregation

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"caucus/auxdata"
)

// A forecast is what FitVotes makes of moments under drawn noise, where classes are as the
// reference problem has them: on average within .02 and the standard error of the draws
// (6 of them), from noise that leaves nothing to noise that takes
// nothing; and eight in ten draws or more lie in the range, which is made for nine. The
// seed is fixed: it never fails by chance, or always.
func TestReleasedIsWhatFitVotesMakes(t *testing.T) {
	const n, draws = 1000, 20
	for _, c := range []struct{ share, auc float64 }{{.5, .9}, {.25, .8}, {.8, .8}} {
		rng := rand.New(rand.NewPCG(4, 1))
		apart := math.Sqrt2 * distuv.UnitNormal.Quantile(c.auc)
		width := []float64{.15, .1, .07, .05, .03}
		// All directions tell alike, in deviations within a class.
		record := func() ([]float64, int) {
			class := 0
			if rng.Float64() < c.share {
				class = 1
			}
			row := make([]float64, len(width)+1)
			for j, w := range width {
				row[j] = w * (rng.NormFloat64() + apart/math.Sqrt(float64(len(width)))*(float64(class)-c.share))
			}
			row[len(width)] = .7
			return row, class
		}
		x, y := mat.NewDense(n, len(width)+1, nil), make([]int, n)
		mu, share := mat.NewDense(len(width)+1, 1, nil), 0. // as it came out
		for i := range n {
			row, class := record()
			x.SetRow(i, row)
			y[i] = class
			share += float64(class) / n
			for j, v := range row {
				mu.Set(j, 0, mu.At(j, 0)+v*float64(class)/n)
			}
		}
		for _, sd := range []float64{.1, .03, .01, .003, .0003} {
			noise := Isotropic(len(width)+1, sd)
			pool := &auxdata.Pool{X: x}
			o := NewOutlook(pool, Agreement{Shares: []float64{1 - share, share}, Separations: []float64{c.auc}, Noise: noise})
			// Flat 1 is the place where all directions tell alike. So many records leave
			// nothing to sampling.
			o.problems[0] = o.problems[0][2:3]
			got := o.Released(0, Gathered{Parties: 1000, Records: 1000, Scale: 1e12, Draws: 1})[0]
			sum, squares, in := 0., 0., 0.
			for range draws {
				var noisy mat.Dense
				noisy.Add(mu, noise.Draw(1, rng))
				right := 0.
				for i, k := range FitVotes(x, nil, &noisy, noise, FitTerms{Classes: 2}, rng).Model.Predict(x) {
					if k == y[i] {
						right++
					}
				}
				right /= n
				sum, squares = sum+right, squares+right*right
				if got.Low.Accuracy-.02 <= right && right <= got.High.Accuracy+.02 {
					in++
				}
			}
			mean := sum / draws
			deviation := math.Sqrt(math.Max(squares/draws-mean*mean, 0) / draws)
			t.Logf("share %.2f, AUC %.2f, noise %g: forecast %.3f (%.3f to %.3f), drawn %.3f ± %.3f, %.0f of %d in the range", c.share, c.auc, sd, got.Mid.Accuracy, got.Low.Accuracy, got.High.Accuracy, mean, deviation, in, draws)
			if math.Abs(got.Mid.Accuracy-mean) > .02+6*deviation {
				t.Errorf("share %.2f, AUC %.2f, noise %g: forecast %.3f, drawn %.3f", c.share, c.auc, sd, got.Mid.Accuracy, mean)
			}
			if in < .8*draws {
				t.Errorf("share %.2f, AUC %.2f, noise %g: %.0f of %d draws in the range %.3f to %.3f", c.share, c.auc, sd, in, draws, got.Low.Accuracy, got.High.Accuracy)
			}
		}
	}
}
