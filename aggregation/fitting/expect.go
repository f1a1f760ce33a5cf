package fitting

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/learners"
)

const (
	referenceSpread = 2.0 // standard deviation of a teacher's scores, for two classes
	referenceMany   = 4.0 // the same for more classes
	referenceShare  = 0.75
)

// ReferenceProblem is a problem for choosing a map: the votes follow a linear teacher exactly, plus
// noise.
type ReferenceProblem struct {
	X       *mat.Dense
	Mu      *mat.Dense
	Lambda  float64
	Classes int
}

// TeacherProbabilities returns a random linear teacher's class probabilities (N×classes) of rows x
// (last column: the intercept).
func TeacherProbabilities(x *mat.Dense, classes int, rng *rand.Rand) *mat.Dense {
	n, d := x.Dims()
	columns := learners.WeightColumns(classes)
	w := mat.NewDense(d, columns, nil)
	for j := range d - 1 {
		for k := range columns {
			w.Set(j, k, rng.NormFloat64())
		}
	}
	teacher := learners.Linear{W: w, Classes: classes}
	var scores mat.Dense
	scores.Mul(x, w)
	spread := stat.PopStdDev(scores.RawMatrix().Data, nil)
	want := referenceSpread
	if classes > 2 {
		want = referenceMany
	}
	w.Scale(want/math.Max(spread, 1e-12), w)
	if classes == 2 {
		low, high := -100.0, 100.0
		for range 60 {
			mid := (low + high) / 2
			w.Set(d-1, 0, mid)
			if mat.Sum(teacher.Probabilities(x).ColView(0))/float64(n) > referenceShare {
				low = mid
			} else {
				high = mid
			}
		}
	}
	return teacher.Probabilities(x)
}

// IndependentColumns returns the columns of p that moments use: all, or for two classes only the
// second.
func IndependentColumns(p *mat.Dense) *mat.Dense {
	n, classes := p.Dims()
	if classes > 2 {
		return p
	}
	return mat.DenseCopyOf(p.Slice(0, n, 1, 2))
}

// ExpectedAccuracy returns a function for a model's expected accuracy on rows x with class
// probabilities p.
func ExpectedAccuracy(x, p *mat.Dense) func(learners.Linear) float64 {
	return func(m learners.Linear) float64 {
		total := 0.0
		for i, k := range m.Predict(x) {
			total += p.At(i, k)
		}
		return total / float64(x.RawMatrix().Rows)
	}
}

func (r *ReferenceProblem) fit(mu *mat.Dense, noise Noise, lambda float64) learners.Linear {
	rng := rand.New(rand.NewPCG(3, 4))
	return FitVotes(r.X, nil, mu, noise, FitTerms{Classes: r.Classes, Lambda: lambda}, rng).Model
}

// MeanScoreUnderNoise returns the mean score of fits under fresh, scaled noise.
func (r *ReferenceProblem) MeanScoreUnderNoise(noise Noise, scale float64, draws int,
	score func(learners.Linear) float64) float64 {
	rng := rand.New(rand.NewPCG(5, 6))
	scaled := noise
	scaled.Factor = mat.DenseCopyOf(noise.Factor)
	scaled.Factor.Scale(scale, scaled.Factor)
	total := 0.0
	for range draws {
		var mu mat.Dense
		mu.Add(r.Mu, scaled.Draw(learners.WeightColumns(r.Classes), rng))
		total += score(r.fit(&mu, scaled, r.Lambda))
	}
	return total / float64(draws)
}
