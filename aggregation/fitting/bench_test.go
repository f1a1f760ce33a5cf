package fitting

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"caucus/learners"
)

// BenchmarkFitVotes chooses λ and fits, at the size of a study of adult.
func BenchmarkFitVotes(b *testing.B) {
	for _, c := range []struct{ rows, classes int }{{8140, 2}, {10000, 10}} {
		b.Run(fmt.Sprintf("rows=%d,classes=%d", c.rows, c.classes), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			x := smallPool(c.rows, 41, rng)
			teacher := mat.NewDense(41, learners.WeightColumns(c.classes), nil)
			for i := range teacher.RawMatrix().Data {
				teacher.RawMatrix().Data[i] = 6 * rng.NormFloat64()
			}
			p := learners.Linear{W: teacher, Classes: c.classes}.Probabilities(x)
			shares := p
			if c.classes == 2 {
				shares = mat.DenseCopyOf(p.Slice(0, c.rows, 1, 2))
			}
			mu := learners.TargetMoments(x, shares, nil)
			variance := make([]float64, c.rows)
			for i := range variance {
				variance[i] = 20
			}
			noise := TallyNoise(x, nil, variance, c.classes)
			mu.Add(mu, noise.Draw(learners.WeightColumns(c.classes), rng))
			for b.Loop() {
				FitVotes(x, nil, mu, noise, FitTerms{Classes: c.classes}, rng)
			}
		})
	}
}
