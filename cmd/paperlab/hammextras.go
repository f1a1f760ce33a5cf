package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
)

// What else a tally can carry at no cost: everything here is post-processing of
// one released vector of counts.

func extraTasks(l *lab, s hammSet, draw int) []task {
	parties, epsilons := 100, []float64{.3, 1, 3}
	if slices.Contains(s.Parties, 1000) {
		parties = 300
	}
	if l.Quick {
		parties, epsilons = 200, []float64{1}
	}
	return []task{{
		Key: fmt.Sprintf("extras-%s-draw%d", s.Name, draw),
		Run: func(ctx context.Context, out *results) error {
			d, err := s.deal(l, parties, draw, 0)
			if err != nil {
				return err
			}
			for _, e := range epsilons {
				if err := extras(ctx, l, s, d, parties, draw, e, out); err != nil {
					return err
				}
			}
			return nil
		},
	}}
}

// candidate is a public way to read the pool and the test rows.
type candidate struct {
	name    string
	x, test *mat.Dense
}

// principal keeps the first k principal components and the intercept.
func principal(x *mat.Dense, k int) *mat.Dense {
	n, d := x.Dims()
	out := mat.NewDense(n, k+1, nil)
	for i := range n {
		from, to := x.RawRowView(i), out.RawRowView(i)
		copy(to, from[:k])
		to[k] = from[d-1]
	}
	return out
}

// fourier makes cosine and sine pairs of D random directions of the features
// (Rahimi & Recht 2007), norm 1/√2, and the intercept.
func fourier(x *mat.Dense, pairs int, width float64, rng *rand.Rand) *mat.Dense {
	n, d := x.Dims()
	omega := mat.NewDense(d-1, pairs, nil)
	for i := range d - 1 {
		for j := range pairs {
			omega.Set(i, j, rng.NormFloat64()/width)
		}
	}
	var z mat.Dense
	z.Mul(x.Slice(0, n, 0, d-1), omega)
	out := mat.NewDense(n, 2*pairs+1, nil)
	scale := 1 / math.Sqrt(2*float64(pairs))
	for i := range n {
		to := out.RawRowView(i)
		for j, v := range z.RawRowView(i) {
			sin, cos := math.Sincos(v)
			to[2*j], to[2*j+1] = scale*cos, scale*sin
		}
		to[2*pairs] = x.At(i, d-1)
	}
	return out
}

// scored is a fit with the estimate of its risk that chose its λ.
func scored(f aggregation.Fit) float64 {
	best := math.Inf(1)
	for _, p := range f.Path {
		if p.Lambda == f.Lambda {
			best = min(best, p.Risk+p.Correction)
		}
	}
	return best
}

func extras(ctx context.Context, l *lab, s hammSet, d *study.Draw, parties, draw int, epsilon float64, out *results) error {
	terms := study.Plan{Mechanism: "tally", Unit: privacy.Party, Noise: study.NoiseCoordinator, Epsilon: epsilon, Delta: hammDelta}
	o, err := d.Release(ctx, terms)
	if err != nil {
		return err
	}
	base, err := d.Score(o.Release.Result)
	if err != nil {
		return err
	}
	classes := len(d.Plan.Schema.Classes())
	n, dims := d.Pool.X.Dims()
	ballots := float64(len(d.Parties))
	shares := aggregation.SharesOf(o.Values, n, classes, ballots)
	variance, err := rowVariance(d, classes, epsilon)
	if err != nil {
		return err
	}
	c := comparison{d: d}
	rng := func() *rand.Rand { return l.rng(fmt.Sprintf("hamm extras %s %d %g", s.Name, draw, epsilon)) }
	add := func(method string, accuracy float64, about string) {
		out.add("part", "extras", "set", s.Name, "parties", parties, "epsilon", epsilon, "draw", draw, "method", method, "accuracy", accuracy, "choice", about)
	}
	add("as released", base, "")

	fit := func(k candidate, project bool) (aggregation.Fit, float64) {
		mu := learners.Moments(k.x, shares, nil)
		noise := aggregation.TallyNoise(k.x, nil, variance, classes)
		if project {
			mu = producible(k.x, mu, noise, shares)
		}
		f := aggregation.FitVotes(k.x, nil, classes, mu, noise, 0, rng())
		return f, c.right(f.Model.Predict(k.test))
	}
	all := candidate{"as released", d.Pool.X, d.TestX}
	_, projected := fit(all, true)
	add("moments projected onto what votes can produce", projected, "")

	var linear, any, oracle struct {
		score, accuracy float64
		name            string
	}
	linear.score, any.score = math.Inf(1), math.Inf(1)
	candidates := []candidate{}
	for _, k := range []int{5, 10, 20, 30} {
		if k < dims-1 {
			candidates = append(candidates, candidate{fmt.Sprintf("PCA-%d", k), principal(d.Pool.X, k), principal(d.TestX, k)})
		}
	}
	candidates = append(candidates, candidate{fmt.Sprintf("PCA-%d", dims-1), d.Pool.X, d.TestX})
	last := len(candidates)
	for _, width := range []float64{.5, 1, 2} {
		candidates = append(candidates, candidate{fmt.Sprintf("Fourier-%g", width), fourier(d.Pool.X, 60, width, rng()), fourier(d.TestX, 60, width, rng())})
	}
	for i, k := range candidates {
		f, accuracy := fit(k, false)
		score := scored(f)
		if i < last && score < linear.score {
			linear.score, linear.accuracy, linear.name = score, accuracy, k.name
		}
		if i < last && accuracy > oracle.accuracy {
			oracle.accuracy, oracle.name = accuracy, k.name
		}
		if score < any.score {
			any.score, any.accuracy, any.name = score, accuracy, k.name
		}
	}
	add("PCA dimension chosen beside λ", linear.accuracy, linear.name)
	add("PCA dimension or Fourier width chosen beside λ", any.accuracy, any.name)
	add("PCA dimension, oracle", oracle.accuracy, oracle.name)
	return nil
}

// rowVariance is the public variance of each row's noise, in shares.
func rowVariance(d *study.Draw, classes int, epsilon float64) ([]float64, error) {
	weights := aggregation.TallyWeights(d.Pool.X, nil, classes)
	columns := learners.Columns(classes)
	var l2sq int64
	for _, w := range weights {
		l2sq += w
	}
	if columns > 1 {
		l2sq = 2 * (l2sq / int64(columns))
	}
	bound := privacy.Bound{Unit: privacy.Party, L2sq: l2sq, Weight: weights}
	m, err := privacy.CalibrateGaussian(bound, privacy.Budget{Epsilon: epsilon, Delta: hammDelta})
	if err != nil {
		return nil, err
	}
	out := make([]float64, len(weights)/columns)
	for i := range out {
		out[i] = privacy.VarianceOf(m, bound, i*columns, len(weights)) / float64(len(d.Parties)*len(d.Parties))
	}
	return out, nil
}

// producible is the moment matrix nearest to mu, in the metric of the noise,
// among those that votes can produce: (1/N)Σ xᵢαᵢᵀ with each αᵢ in the simplex
// (in [0,1] for two classes). Accelerated projected gradient from uniform
// shares, a public number of steps.
func producible(x, mu *mat.Dense, noise aggregation.Noise, shares *mat.Dense) *mat.Dense {
	const steps = 150
	n, d := x.Dims()
	_, c := shares.Dims()
	// Whiten by the noise: y = (C + cut)^(−1/2) xᵢ/N, so that the objective is
	// ½‖Σ yᵢαᵢᵀ − whitened mu‖².
	cov := noise.Covariance()
	var eigen mat.EigenSym
	eigen.Factorize(cov, true)
	var v mat.Dense
	eigen.VectorsTo(&v)
	values := eigen.Values(nil)
	root := mat.NewDense(d, d, nil)
	for j, e := range values {
		f := 1 / math.Sqrt(math.Max(e, 1e-9*values[d-1]))
		for i := range d {
			root.Set(i, j, v.At(i, j)*f)
		}
	}
	var y, target mat.Dense
	y.Mul(x, root)
	y.Scale(1/float64(n), &y)
	target.Mul(root.T(), mu)
	gram := mat.NewSymDense(d, nil)
	gram.SymOuterK(1, y.T())
	eigen.Factorize(gram, false)
	step := 1 / eigen.Values(nil)[d-1]
	alpha := mat.NewDense(n, c, nil)
	raw := alpha.RawMatrix().Data
	for i := range raw {
		raw[i] = 1 / float64(max(c, 2))
	}
	look := mat.DenseCopyOf(alpha)
	momentum := 1.0
	var residual, gradient mat.Dense
	for range steps {
		residual.Mul(y.T(), look)
		residual.Sub(&residual, &target)
		gradient.Mul(&y, &residual)
		previous := mat.DenseCopyOf(alpha)
		for i := range n {
			a, at, g := alpha.RawRowView(i), look.RawRowView(i), gradient.RawRowView(i)
			for k := range a {
				a[k] = at[k] - step*g[k]
			}
			ontoSimplex(a)
		}
		next := (1 + math.Sqrt(1+4*momentum*momentum)) / 2
		for i, a := range raw {
			look.RawMatrix().Data[i] = a + (momentum-1)/next*(a-previous.RawMatrix().Data[i])
		}
		momentum = next
	}
	return learners.Moments(x, alpha, nil)
}

// ontoSimplex projects a row onto {a ≥ 0, Σa = 1}, or a single entry onto [0,1].
func ontoSimplex(a []float64) {
	if len(a) == 1 {
		a[0] = math.Min(math.Max(a[0], 0), 1)
		return
	}
	sorted := slices.Clone(a)
	slices.Sort(sorted)
	sum, shift := 0.0, 0.0
	for j := len(sorted) - 1; j >= 0; j-- {
		sum += sorted[j]
		if t := (sum - 1) / float64(len(sorted)-j); sorted[j] > t {
			shift = t
		}
	}
	for k := range a {
		a[k] = math.Max(a[k]-shift, 0)
	}
}
