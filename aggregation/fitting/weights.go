package fitting

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/solving"
)

// logMeanExp is log( Σᵢ bᵢe^{⟨β,xᵢ⟩} / Σᵢ bᵢ ) − ⟨mu, β⟩ + (ridge/2)‖β‖², b the rows' existing
// weights (base; nil: equal).
type logMeanExp struct {
	x      *solving.Rows
	base   []float64
	mu     []float64
	ridge  float64
	scores []float64
	shape  *mat.Dense // the inverse Hessian where a minimisation starts; nil until needed
}

func (l *logMeanExp) Dim() int { _, d := l.x.Dims(); return d }

func (l *logMeanExp) Evaluate(beta, grad []float64) float64 {
	l.x.Times(l.scores, beta)
	top := floats.Max(l.scores)
	total, before := 0.0, 0.0
	for i, v := range l.scores {
		b := solving.WeightAt(l.base, i)
		l.scores[i] = b * math.Exp(v-top)
		total += l.scores[i]
		before += b
	}
	l.x.Sum(grad, 1/total, l.scores)
	value := top + math.Log(total/before)
	for j, v := range beta {
		value += v * (l.ridge*v/2 - l.mu[j])
		grad[j] += l.ridge*v - l.mu[j]
	}
	return value
}

// Precondition applies the inverse Hessian at the point where a minimisation starts. Minimize
// evaluates that point before it calls Precondition, so at the first call scores are those of that
// point.
func (l *logMeanExp) Precondition(g []float64) {
	if l.shape == nil {
		l.shape = solving.NewRidgeCholesky(lawOf(l.x, l.scores).cov, l.ridge).Inverse()
	}
	v := mat.NewVecDense(len(g), g)
	v.MulVec(l.shape, v)
}

func (l *logMeanExp) set(mu *mat.Dense, ridge float64) {
	l.mu, l.ridge, l.shape = mu.RawMatrix().Data, ridge, nil
}

// WeightFit is the outcome of tilting N pool rows with d features: Beta has length d, Weight length
// N. Lambda is the ridge in use, 0 for the base weights alone; Path holds what each λ tried would
// cost.
type WeightFit struct {
	// Beta is the tilt: weightᵢ ∝ baseᵢ·e^{⟨Beta, xᵢ⟩}.
	Beta []float64
	// Weight has mean 1 over the pool.
	Weight []float64
	Lambda float64
	Path   []solving.LambdaPoint
	// EffectiveRows is (Σw)²/Σw² (Kish). LargestShare is the largest row's share of the total.
	EffectiveRows, LargestShare float64
}

// FitWeights tilts the pool's rows x (N×d, no intercept column) so that their weighted mean matches
// a mean released with noise (Factor d×p). Relative to the rows' existing weights (base, positive;
// nil: equal), the new ones have least entropy,
//
//	β = argmax ⟨β, mean⟩ − log( Σ bᵢe^{⟨β,xᵢ⟩} / Σ bᵢ ) − (λ/2)‖β‖².
//
// λ affects no bound. 0 asks for the λ that minimises the estimated risk without noise (see
// FitVotes); in the result, Lambda 0 means the base alone. It chooses no λ that leaves less than a
// share keep of the base's effective rows, because weights on few rows match a mean that the pool
// can hardly reach, and ruin the rest.
func FitWeights(x *mat.Dense, base, mean []float64, noise Noise, lambda, keep float64,
	rng *rand.Rand) WeightFit {
	r := solving.RowsOf(x)
	return tilting(r, base, mean, noise).fitWeights(r, base, lambda, keep, rng)
}

// MatchWeights does what FitWeights does, for equally weighted rows that are to answer queries. It
// chooses the λ whose weighted means are nearest to the true ones in the Euclidean norm.
// (FitWeights measures errors by relative entropy, which magnifies directions in which the pool
// varies little. There the noise on rare features decides, but queries hardly depend on rare
// features.)
//
// With m the noisy means, x̄(m) the weighted means at λ, and C the covariance of the noise, ‖m−x̄‖²
// + 2·tr(∂x̄/∂m·C) − tr C has the expectation of ‖x̄−true‖² (Stein 1981, to first order), and
// ∂x̄/∂m = S(S+λ)⁻¹, S the weighted covariance.
func MatchWeights(x *mat.Dense, mean []float64, noise Noise, lambda, keep float64,
	rng *rand.Rand) WeightFit {
	n, _ := x.Dims()
	r := solving.RowsOf(x)
	p := tilting(r, nil, mean, noise)
	variance := solving.FrobeniusProduct(noise.Factor, noise.Factor)
	p.score = func(w *mat.Dense, lambda float64) (risk, correction float64) {
		weight, _, _ := weightsOf(r, nil, w)
		law := lawOf(r, weight)
		risk = math.Pow(floats.Distance(law.mean, mean, 2), 2)
		if math.IsInf(lambda, 1) {
			return risk, -variance
		}
		trace := solving.NewRidgeCholesky(law.cov, lambda).InverseTrace(noise.Factor)
		// noise alone adds more relative entropy than all weight on one row has
		if trace > math.Log(float64(n)) {
			return risk, math.NaN()
		}
		// tr(S(S+λ)⁻¹C) = tr C − λ·tr((S+λ)⁻¹C) = variance − lambda·trace.
		return risk, 2*(variance-lambda*trace) - variance
	}
	return p.fitWeights(r, nil, lambda, keep, rng)
}

func tilting(r *solving.Rows, base, mean []float64, noise Noise) perturbed {
	n, d := r.Dims()
	mu := mat.NewDense(d, 1, append([]float64(nil), mean...))
	ceiling := math.Log(float64(n)) // relative entropy with all weight on the lightest row
	if base != nil {
		ceiling = math.Log(floats.Sum(base) / floats.Min(base))
	}
	return perturbed{
		risk: &logMeanExp{x: r, base: base, scores: make([]float64, n)},
		mu:   mu, noise: noise, ceiling: ceiling, least: math.Inf(-1),
		curvature: func(w *mat.Dense) *mat.SymDense {
			weight, _, _ := weightsOf(r, base, w)
			return lawOf(r, weight).cov
		},
	}
}

func (p perturbed) fitWeights(x *solving.Rows, base []float64, lambda, keep float64,
	rng *rand.Rand) WeightFit {
	n, d := x.Dims()
	before := float64(n)
	if base != nil {
		_, before, _ = weightsOf(x, base, mat.NewDense(d, 1, nil))
	}
	accept := func(w *mat.Dense) bool {
		_, effective, _ := weightsOf(x, base, w)
		return effective >= keep*before
	}
	beta, chosen, path := p.fit(lambda, accept, rng)
	f := WeightFit{Beta: beta.RawMatrix().Data, Lambda: chosen, Path: path}
	f.Weight, f.EffectiveRows, f.LargestShare = weightsOf(x, base, beta)
	return f
}

// weightsOf returns tilted weights (mean 1), their effective rows and the largest share.
func weightsOf(x *solving.Rows, base []float64, beta *mat.Dense) (weight []float64,
	effective, largest float64) {
	n, _ := x.Dims()
	weight = make([]float64, n)
	x.Times(weight, beta.RawMatrix().Data)
	top := math.Inf(-1)
	for i, s := range weight {
		if base != nil {
			weight[i] = s + math.Log(base[i])
		}
		top = math.Max(top, weight[i])
	}
	total, squares := 0.0, 0.0
	for i, s := range weight {
		// The lower bound keeps weights positive where exp underflows.
		weight[i] = math.Exp(math.Max(s-top, -600))
		total += weight[i]
		squares += weight[i] * weight[i]
	}
	for i := range weight {
		weight[i] *= float64(n) / total
	}
	return weight, total * total / squares, 1 / total
}

// Drift compares the pool's mean with a mean released with noise.
type Drift struct {
	// Statistic is the sum, over the pool's principal directions, of the squared difference divided
	// by its variance without drift (noise, and sampling of both means). Without drift its
	// expectation is Directions, the number of directions.
	Statistic  float64 `json:"statistic"`
	Directions int     `json:"directions"`
}

// Significant reports a difference beyond noise and sampling: by 5 deviations of a χ² with
// Directions degrees of freedom.
func (d Drift) Significant() bool {
	return d.Statistic > float64(d.Directions)+5*math.Sqrt(2*float64(d.Directions))
}

// MeasureDrift compares the pool's rows x (N×d, no intercept) under their weights (nil: equal) with
// the mean of as many private rows as records says, released with noise of standard deviation sd on
// each entry. Weights that were fitted to a release contain its noise, which counts as drift.
func MeasureDrift(x *mat.Dense, weight, mean []float64, sd, records float64) Drift {
	_, d := x.Dims()
	law := newWeightLaw(x, weight)
	_, effective, _ := weightsOf(law.x, weight, mat.NewDense(d, 1, nil))
	g := solving.SpectrumOfMoment(law.cov)
	out := Drift{}
	for j, variance := range g.Values {
		if variance <= 1e-9*g.Values[d-1] {
			continue
		}
		diff := 0.0
		for i := range d {
			diff += g.Vectors.At(i, j) * (mean[i] - law.mean[i])
		}
		out.Statistic += diff * diff / (sd*sd + variance/records + variance/effective)
		out.Directions++
	}
	return out
}

// WeightErrors gives the errors of a weighted pool's answers, from released numbers and their
// noise's law.
type WeightErrors struct {
	x      *solving.Rows
	weight []float64
	mean   []float64     // mean of x under the weights
	cov    *mat.SymDense // covariance of x under the weights
	// factor is d×p. The noise on the tilt is factor·z, where z has variance 1. Nil means no noise.
	factor *mat.Dense
	// slope is (cov+ridge)⁻¹ if the weights match the pool to means up to a ridge, otherwise nil.
	// Such weights remove the pool's sampling error from whatever is linear in x.
	slope *mat.Dense
}

func newWeightLaw(x *mat.Dense, weight []float64) *WeightErrors {
	return lawOf(solving.RowsOf(x), weight)
}

func lawOf(r *solving.Rows, weight []float64) *WeightErrors {
	_, d := r.Dims()
	l := &WeightErrors{x: r, weight: weight, mean: make([]float64, d), cov: r.SecondMoment(weight)}
	r.Sum(l.mean, 1/r.Total(weight), weight)
	l.cov.SymRankOne(l.cov, -1, mat.NewVecDense(d, l.mean))
	return l
}

// WeightsOfTilt returns the weights of a given tilt beta (d numbers) on rows x (N×d).
func WeightsOfTilt(x *mat.Dense, beta []float64) WeightFit {
	f := WeightFit{Beta: beta}
	f.Weight, f.EffectiveRows, f.LargestShare = weightsOf(solving.RowsOf(x), nil,
		mat.NewDense(len(beta), 1, append([]float64(nil), beta...)))
	return f
}
