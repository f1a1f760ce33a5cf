package fitting

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/solving"
	"caucus/learners"
)

// Fit is the result of a fit to released moments.
type Fit struct {
	Model learners.Linear
	// Lambda is the ridge used. 0: under this noise no λ beats the zero model, and Model is from
	// constantModel.
	Lambda float64
	// UsesOnlyShares reports that the model uses no released number, only FitTerms.Shares.
	UsesOnlyShares bool
	// Path is the search for λ, empty if λ was given.
	Path []solving.LambdaPoint
}

// FitTerms configure a fit to moments.
type FitTerms struct {
	Classes int
	// Lambda is the ridge; 0 asks for the λ that minimises the estimated risk without noise.
	Lambda float64
	// Shares are the publicly known class shares, or nil. They replace released shares if noise
	// hides those.
	Shares []float64
}

// FitVotes fits soft-vote weighted ERM (Hamm, Cao & Belkin 2016, Eq. 8) for the logistic (two
// classes) or softmax risk on pool rows x (N×d) under row weights (nil: equal):
//
//	(1/Σv) Σᵢ vᵢ Σₖ αᵢₖ ℓₖ(xᵢ; W) + (λ/2)‖W‖²  =  G(W) − ⟨mu, W⟩ + (λ/2)‖W‖²,
//
// where mu (d×learners.WeightColumns(classes)) holds the moments (1/Σv)Σᵢ vᵢ xᵢ αᵢᵀ of the vote
// shares, released with the given noise. To choose λ, rng draws fresh public noise.
func FitVotes(x *mat.Dense, weight []float64, mu *mat.Dense, noise Noise, o FitTerms,
	rng *rand.Rand) Fit {
	return fitVotes(x, weight, mu, noise, o, sphere(x, weight, noise), rng)
}

func fitVotes(x *mat.Dense, weight []float64, mu *mat.Dense, noise Noise, o FitTerms, t *mat.Dense,
	rng *rand.Rand) Fit {
	p := perturbed{
		risk:    softmax{&learners.SoftmaxRisk{X: times(x, t), RowWeight: weight, Classes: o.Classes}},
		mu:      times(t.T(), mu),
		noise:   Noise{Factor: times(t.T(), noise.Factor), Laplace: noise.Laplace, Centred: noise.Centred},
		ceiling: math.Log(float64(o.Classes)),
	}
	w, chosen, path := p.fit(o.Lambda, nil, rng)
	w, public := times(t, w), false
	if chosen == 0 {
		w, public = constantModel(x, mu, noise, o)
	}
	return Fit{Model: learners.Linear{W: w, Classes: o.Classes}, Lambda: chosen,
		UsesOnlyShares: public,
		Path:           path}
}

// constantModel gives every row the same class shares: the moments of the last column of x, the
// intercept. Shares below two deviations of the noise are raised to that, but to at most 1/(2K). If
// noise leaves open which share is largest, known public shares replace the released ones. The
// result is the zero model if the last column is not constant.
func constantModel(x, mu *mat.Dense, noise Noise, o FitTerms) (w *mat.Dense, public bool) {
	d, columns := mu.Dims()
	w, one := mat.NewDense(d, columns, nil), x.At(0, d-1)
	if column := x.ColView(d - 1); !(mat.Max(column)-mat.Min(column) <= 1e-9*math.Abs(one)) ||
		one == 0 {
		return w, false
	}
	shares := make([]float64, columns)
	for k := range shares {
		shares[k] = mu.At(d-1, k) / one
	}
	deviation := mat.Norm(noise.Factor.RowView(d-1), 2) / math.Abs(one)
	apart := math.Sqrt2 * deviation // standard deviation of the difference of two shares
	if o.Classes == 2 {
		shares, apart = []float64{1 - shares[0], shares[0]}, 2*deviation
	}
	if sorted := slices.Sorted(slices.Values(shares)); o.Shares != nil &&
		sorted[o.Classes-1]-sorted[o.Classes-2] < 2*apart {
		shares, deviation, public = o.Shares, 0, true
	}
	least := math.Max(1e-6, math.Min(2*deviation, .5/float64(o.Classes)))
	odds := func(k int) float64 { return math.Log(math.Max(shares[k], least)) / one }
	for k := range columns {
		if w.Set(d-1, k, odds(k)); o.Classes == 2 {
			w.Set(d-1, k, odds(1)-odds(0))
		}
	}
	return w, public
}

// chosen returns the estimated risk of the λ that the search took, plus the doubt of that estimate.
// It returns 0 if the caller gave λ, because then nothing was searched.
func (f Fit) chosen() (risk float64) {
	for _, p := range f.Path {
		if p.Lambda == f.Lambda {
			risk = p.Risk + p.Optimism + p.OptimismSE
		}
	}
	return risk
}

// sphere returns the public transform T (d×d, symmetric) in whose coordinates the ridge acts: T =
// (C + floor)^(−1/4), C the covariance of the noise on mu, scaled to the mean square of the pool's
// rows. With exponent 0 the ridge would be plain; with −1/2 it would be wᵀCw, the variance of
// ⟨noise, w⟩, a penalty on fitting noise. Half way was as good as the better of both on adult and
// wisdm_har at party level and on adult at record level, with and without drift; either end fails
// on one of these. Without noise C is the pool's second moment.
func sphere(x *mat.Dense, weight []float64, noise Noise) *mat.Dense {
	const floor = 1e-5 // relative to the trace: directions with less noise share one ridge
	s := solving.SecondMoment(x, weight)
	energy := mat.Trace(s)
	if noise.Factor != nil {
		c := noise.Covariance()
		if trace := mat.Trace(c); trace > 0 {
			c.ScaleSym(energy/trace, c)
			s = c
		}
	}
	return solving.SpectrumOfMoment(s).Power(-0.25, 1, floor*energy)
}

func times(a, b mat.Matrix) *mat.Dense {
	if b == (*mat.Dense)(nil) {
		return nil
	}
	var m mat.Dense
	m.Mul(a, b)
	return &m
}

type softmax struct{ *learners.SoftmaxRisk }

func (s softmax) set(mu *mat.Dense, ridge float64) { s.Mu, s.Ridge = mu, ridge }

// TallyNoise returns the law of mu's noise if row i's shares have noise of variance[i].
func TallyNoise(x *mat.Dense, weight, variance []float64, classes int) Noise {
	n, d := x.Dims()
	total := 0.0
	for i := range n {
		total += solving.WeightAt(weight, i)
	}
	scaled := mat.NewDense(n, d, nil)
	for i := range n {
		f := solving.WeightAt(weight, i) / total * math.Sqrt(variance[i])
		to, from := scaled.RawRowView(i), x.RawRowView(i)
		for j := range to {
			to[j] = f * from[j]
		}
	}
	return Noise{Factor: squareRoot(solving.Gram(1, scaled)), Centred: classes > 2}
}

func squareRoot(s *mat.SymDense) *mat.Dense { return solving.SpectrumOfMoment(s).Power(0.5, 1, 0) }
