package main

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/learners"
	"caucus/privacy"
)

// labelled is records a rival trains on: mapped rows of norm at most 1.
type labelled struct {
	X       *mat.Dense
	Y       []int
	Classes int
}

func (l labelled) weights() int { _, d := l.X.Dims(); return d * learners.WeightColumns(l.Classes) }

// reach bounds the norm of one record's gradient: |σ−y| ≤ 1 for two classes,
// ‖p−y‖ ≤ √2 for more, times ‖x‖ ≤ 1.
func (l labelled) reach() float64 {
	if l.Classes > 2 {
		return math.Sqrt2
	}
	return 1
}

// addGradient adds the sum over some rows of the gradients at w (d×C, row-major).
func (l labelled) addGradient(to, w []float64, rows []int) {
	_, d := l.X.Dims()
	c := learners.WeightColumns(l.Classes)
	// A column at a time is a column in memory.
	byColumn, sum := make([]float64, len(w)), make([]float64, len(w))
	for j := range d {
		for k := range c {
			byColumn[k*d+j] = w[j*c+k]
		}
	}
	scores := make([]float64, c)
	for _, i := range rows {
		if l.Y[i] < 0 {
			continue
		}
		x := l.X.RawRowView(i)
		for k := range scores {
			scores[k] = floats.Dot(x, byColumn[k*d:(k+1)*d])
		}
		if c == 1 {
			scores[0] = 1/(1+math.Exp(-scores[0])) - float64(l.Y[i])
		} else {
			top, total := floats.Max(scores), 0.0
			for k, v := range scores {
				scores[k] = math.Exp(v - top)
				total += scores[k]
			}
			floats.Scale(1/total, scores)
			scores[l.Y[i]]--
		}
		for k, v := range scores {
			floats.AddScaled(sum[k*d:(k+1)*d], v, x)
		}
	}
	for j := range d {
		for k := range c {
			to[j*c+k] += sum[k*d+j]
		}
	}
}

// fedAvg is differentially private federated averaging of a softmax model (McMahan, Ramage, Talwar
// & Zhang 2018), all parties in every round: each takes local steps of gradient descent from the
// common weights, its change is clipped to norm Clip, and the mean of the changes is added with
// noise.
type fedAvg struct {
	Rounds int
	Clip   float64
	Local  int     // gradient steps a round
	Rate   float64 // of each step
}

// fedAvgGrid is the declared grid: rounds, and clips in units of the radius of the coordinates, in
// which a good model has norm of order 1 (its scores then vary by about 2). Reported are the middle
// of the grid, the same for all sets and ε, and the best on the test records, an oracle in this
// rival's favour.
func fedAvgGrid(c coordinates, quick bool) []fedAvg {
	rounds, clips := []int{1, 3, 10}, []float64{.1, .3, 1}
	if quick {
		rounds, clips = []int{1, 5}, []float64{.3}
	}
	var grid []fedAvg
	for _, r := range rounds {
		for _, clip := range clips {
			grid = append(grid, fedAvg{Rounds: r, Clip: clip * c.radius, Local: 3, Rate: c.rate})
		}
	}
	return grid
}

// train hides each party: replacing one moves the sum of a round's changes by at most 2·Clip, and
// rounds add in zero-concentrated privacy (which is the Rényi curve αρ), so every coordinate gets
// noise of variance (2·Clip)²·Rounds/(2ρ).
func (f fedAvg) train(l labelled, parties [][]int, b privacy.Budget,
	rng *rand.Rand) learners.Linear {
	sigma := 2 * f.Clip * math.Sqrt(float64(f.Rounds)/(2*privacy.RhoOf(b)))
	w := make([]float64, l.weights())
	sum, local, gradient := make([]float64, len(w)), make([]float64, len(w)), make([]float64,
		len(w))
	for range f.Rounds {
		clear(sum)
		for _, rows := range parties {
			if len(rows) == 0 {
				continue
			}
			copy(local, w)
			for range f.Local {
				clear(gradient)
				l.addGradient(gradient, local, rows)
				floats.AddScaled(local, -f.Rate/float64(len(rows)), gradient)
			}
			floats.Sub(local, w)
			floats.AddScaled(sum, math.Min(1, f.Clip/math.Max(floats.Norm(local, 2), 1e-300)),
				local)
		}
		for j := range w {
			w[j] += (sum[j] + sigma*rng.NormFloat64()) / float64(len(parties))
		}
	}
	return learners.NewLinear(w, l.Classes)
}

// fedSGD hides each record, at sites: in every round each site sends the sum of its records'
// gradients with noise of its own, or the sum of all gets noise once. Full batches need no sampling
// and no clipping, because gradients are bounded; replacing a record moves a round's sum by at most
// twice the bound.
type fedSGD struct {
	Rounds int
	Rate   float64
	// Sites is the number of sites that add noise of their own; 1 means noise added once.
	Sites int
}

// train returns the mean of the second half of the iterates.
func (f fedSGD) train(l labelled, b privacy.Budget, rng *rand.Rand) learners.Linear {
	n, _ := l.X.Dims()
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	sigma := 2 * l.reach() * math.Sqrt(float64(f.Rounds)/(2*privacy.RhoOf(b))) * math.Sqrt(float64(f.Sites))
	w, mean, g := make([]float64, l.weights()), make([]float64, l.weights()), make([]float64,
		l.weights())
	for t := range f.Rounds {
		clear(g)
		l.addGradient(g, w, all)
		for j := range w {
			w[j] -= f.Rate * (g[j] + sigma*rng.NormFloat64()) / float64(n)
		}
		if t >= f.Rounds/2 {
			floats.AddScaled(mean, 1/float64(f.Rounds-f.Rounds/2), w)
		}
	}
	return learners.NewLinear(mean, l.Classes)
}

// dpSGD is noisy stochastic gradient descent on pooled records (Abadi et al. 2016): Poisson
// samples, accounted by Rényi divergence for adding or removing a record, which is a weaker promise
// than replacing one, in this rival's favour. Gradients are bounded, so nothing is clipped.
type dpSGD struct {
	Batch  float64 // expected
	Epochs int
	Rate   float64
}

func (f dpSGD) train(l labelled, b privacy.Budget, rng *rand.Rand) learners.Linear {
	n, _ := l.X.Dims()
	rate := math.Min(1, f.Batch/float64(n))
	steps := int(math.Ceil(float64(f.Epochs) / rate))
	sigma := sampledNoise(rate, steps, b) * l.reach()
	w, mean, g := make([]float64, l.weights()), make([]float64, l.weights()), make([]float64,
		l.weights())
	var rows []int
	for t := range steps {
		rows = rows[:0]
		for i := range n {
			if rng.Float64() < rate {
				rows = append(rows, i)
			}
		}
		clear(g)
		l.addGradient(g, w, rows)
		for j := range w {
			w[j] -= f.Rate * (g[j] + sigma*rng.NormFloat64()) / (rate * float64(n))
		}
		if t >= steps/2 {
			floats.AddScaled(mean, 1/float64(steps-steps/2), w)
		}
	}
	return learners.NewLinear(mean, l.Classes)
}
