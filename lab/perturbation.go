package main

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/learners"
)

// Record-level logistic regression as published: the samplers work in floating
// point, so nothing here is fit for a release.

// ridgeSolution minimises the mean logistic or softmax risk of some rows plus (λ/2)‖w‖² + ⟨tilt,
// w⟩.
func (l labelled) ridgeSolution(rows []int, lambda float64, tilt []float64) []float64 {
	x, y := l.X, l.Y
	if rows != nil {
		_, d := l.X.Dims()
		x, y = mat.NewDense(len(rows), d, nil), make([]int, len(rows))
		for i, r := range rows {
			x.SetRow(i, l.X.RawRowView(r))
			y[i] = l.Y[r]
		}
	}
	mu := learners.TargetMoments(x, learners.OneHot(y, l.Classes), nil)
	if tilt != nil {
		floats.Sub(mu.RawMatrix().Data, tilt)
	}
	risk := &learners.SoftmaxRisk{X: x, Mu: mu, Ridge: lambda, Classes: l.Classes}
	w, _ := learners.Minimize(risk, nil, learners.MinimiseSettings{GradientNorm: 1e-6, MaxIterations: 300})
	return w
}

// sphere is w plus noise of density ∝ exp(−rate·‖η‖).
func sphere(w []float64, rate float64, rng *rand.Rand) []float64 {
	direction := make([]float64, len(w))
	radius := 0.0
	for j := range direction {
		direction[j] = rng.NormFloat64()
		radius += rng.ExpFloat64() // a sum of d exponentials is Gamma(d)
	}
	out := append([]float64(nil), w...)
	floats.AddScaled(out, radius/rate/floats.Norm(direction, 2), direction)
	return out
}

// outputPerturbation (Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 1) at a
// solution of n records: replacing one moves it by at most 2·reach/(nλ).
func (l labelled) outputPerturbation(w []float64, n int, lambda, epsilon float64,
	rng *rand.Rand) learners.Linear {
	return learners.NewLinear(sphere(w, epsilon*lambda*float64(n)/(2*l.reach()), rng), l.Classes)
}

// objectivePerturbation (the same, Algorithm 2), two classes: pure ε.
func (l labelled) objectivePerturbation(lambda, epsilon float64, rng *rand.Rand) learners.Linear {
	const curvature = 0.25 // of the logistic loss
	n := float64(len(l.Y))
	left := epsilon - 2*math.Log1p(curvature/(n*lambda))
	if left <= 0 {
		lambda = curvature / (n * math.Expm1(epsilon/4))
		left = epsilon / 2
	}
	b := sphere(make([]float64, l.weights()), left/2, rng)
	floats.Scale(1/n, b)
	return learners.NewLinear(l.ridgeSolution(nil, lambda, b), l.Classes)
}

// pathak (Pathak, Rane & Raj 2010) averages the sites' solutions. Replacing a record of the
// smallest site moves its solution by 2·reach/(nλ) and the mean by that over the number of sites.
// Sites without records send zeros.
func (l labelled) pathak(solutions [][]float64, smallest int, lambda, epsilon float64,
	rng *rand.Rand) learners.Linear {
	mean := make([]float64, l.weights())
	for _, w := range solutions {
		floats.AddScaled(mean, 1/float64(len(solutions)), w)
	}
	rate := epsilon * lambda * float64(max(smallest, 1)) * float64(len(solutions)) / (2 * l.reach())
	return learners.NewLinear(sphere(mean, rate, rng), l.Classes)
}

// best is the highest accuracy of some models on the test records: a choice
// that looks at the test records, in the rival's favour, and labelled so.
func best(accuracy func(learners.Linear) float64, models ...learners.Linear) float64 {
	top := 0.0
	for _, m := range models {
		top = math.Max(top, accuracy(m))
	}
	return top
}
