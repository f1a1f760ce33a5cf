package aggregation

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"caucus/auxdata"
	"caucus/learners"
)

// Expectation is what a classifier that is fitted to noisy moments can be expected to
// reach, from public inputs alone.
//
// The pool has no labels, so it is measured on a reference problem: a linear teacher
// on the pool, in a random direction, whose scores have standard deviation 2 and
// whose larger class has a share of .75 (two classes), or standard deviation 4 with
// balanced classes (more). Votes follow the teacher exactly; noise is added; the fit
// is made, several times.
type Expectation struct {
	// Accuracy is expected of the release, Unperturbed without noise, Majority of
	// always naming the largest class.
	Accuracy, Unperturbed, Majority float64
	// Useful: the release keeps at least a quarter of what the unperturbed
	// classifier has over the largest class, and that is something.
	Useful bool
	// Factor by which the noise must fall for it to be useful; 0 where it is, or
	// where nothing within reach does.
	Factor int
}

// Constants of the reference problem.
const (
	referenceRows   = 1500 // pool rows used: enough for a point of accuracy
	referenceDraws  = 3
	referenceSpread = 2.0 // standard deviation of the teacher's scores, two classes
	referenceMany   = 4.0 // the same, more classes
	referenceShare  = 0.75
	mostFactor      = 1 << 10 // the most noise reduction that is searched
)

// Expect measures: told is what a release tells of moments without noise, nil where
// that is the moments themselves; lambda is the plan's ridge; gap is the least that
// the features must tell without noise.
func Expect(pool *auxdata.Pool, classes int, lambda, gap float64, noise Noise, told func(*mat.Dense) *mat.Dense) Expectation {
	r := NewReference(pool, classes, lambda)
	e := Expectation{Unperturbed: r.AccuracyOf(r.Mu, noise, 1e-4), Majority: r.majority}
	if told != nil {
		r.Mu = told(r.Mu)
	}
	e.Accuracy = r.released(noise, 1)
	had := e.Unperturbed - e.Majority
	goal := e.Majority + had/4
	if e.Useful = had >= gap && e.Accuracy >= goal; e.Useful || had < gap {
		return e
	}
	for factor := 2; factor <= mostFactor; factor *= 2 {
		if r.released(noise, 1/float64(factor)) >= goal {
			e.Factor = factor
			break
		}
	}
	return e
}

// Reference is the reference problem on a sample of a pool.
type Reference struct {
	X  *mat.Dense // n pool rows
	P  *mat.Dense // n×K, the teacher's class probabilities
	Mu *mat.Dense // moments of the teacher's votes
	// Lambda is the plan's ridge, Classes are K.
	Lambda   float64
	Classes  int
	weight   []float64 // the plan's weights of those rows
	majority float64
}

// NewReference samples the pool's rows; the sample and the teacher are the same every
// time. lambda is the ridge of the fit.
func NewReference(pool *auxdata.Pool, classes int, lambda float64) *Reference {
	rng := rand.New(rand.NewPCG(1, 2)) // public and fixed: same plan, same forecast
	n, d := min(pool.Rows(), referenceRows), pool.Dim()
	r := &Reference{X: mat.NewDense(n, d, nil), Classes: classes, Lambda: lambda}
	for i, row := range rng.Perm(pool.Rows())[:n] {
		r.X.SetRow(i, pool.X.RawRowView(row))
		if pool.Weight != nil {
			r.weight = append(r.weight, pool.Weight[row])
		}
	}
	r.P = Teach(r.X, classes, rng)
	r.Mu = learners.Moments(r.X, FreeShares(r.P), r.weight)
	for k := range classes {
		r.majority = math.Max(r.majority, mat.Sum(r.P.ColView(k))/float64(n))
	}
	return r
}

// Teach is the class probabilities (N×classes) that a random linear teacher gives
// rows x, whose last column is the intercept.
func Teach(x *mat.Dense, classes int, rng *rand.Rand) *mat.Dense {
	n, d := x.Dims()
	columns := learners.Columns(classes)
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
		// Find the intercept that gives class 0 its share.
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

// FreeShares is the shares that moments are made of: with two classes one column
// stands for both.
func FreeShares(p *mat.Dense) *mat.Dense {
	n, classes := p.Dims()
	if classes > 2 {
		return p
	}
	return mat.DenseCopyOf(p.Slice(0, n, 1, 2))
}

// Expected scores a model by its expected accuracy on rows x of class
// probabilities p.
func Expected(x, p *mat.Dense) func(learners.Linear) float64 {
	return func(m learners.Linear) float64 {
		total := 0.0
		for i, k := range m.Predict(x) {
			total += p.At(i, k)
		}
		return total / float64(x.RawMatrix().Rows)
	}
}

// AccuracyOf is the expected accuracy of the fit to moments.
func (r *Reference) AccuracyOf(mu *mat.Dense, noise Noise, lambda float64) float64 {
	return Expected(r.X, r.P)(r.fit(mu, noise, lambda))
}

func (r *Reference) fit(mu *mat.Dense, noise Noise, lambda float64) learners.Linear {
	rng := rand.New(rand.NewPCG(3, 4))
	return FitVotes(r.X, r.weight, r.Classes, mu, noise, lambda, rng).Model
}

// released is the mean accuracy under fresh noise, scaled.
func (r *Reference) released(noise Noise, scale float64) float64 {
	return r.UnderNoise(noise, scale, referenceDraws, Expected(r.X, r.P))
}

// UnderNoise is the mean score of some fits, each under fresh noise, scaled.
func (r *Reference) UnderNoise(noise Noise, scale float64, draws int, score func(learners.Linear) float64) float64 {
	rng := rand.New(rand.NewPCG(5, 6))
	scaled := noise
	scaled.Factor = mat.DenseCopyOf(noise.Factor)
	scaled.Factor.Scale(scale, scaled.Factor)
	total := 0.0
	for range draws {
		var mu mat.Dense
		mu.Add(r.Mu, scaled.Draw(learners.Columns(r.Classes), rng))
		total += score(r.fit(&mu, scaled, r.Lambda))
	}
	return total / float64(draws)
}
