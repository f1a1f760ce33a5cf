package fitting

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/solving"
)

// WeightErrorsOf returns the distribution of the errors of weights f that FitWeights fitted to
// noisy means. A change ν of the means changes the tilt β by about (cov+λ)⁻¹ν.
func WeightErrorsOf(x *mat.Dense, f WeightFit, noise Noise) *WeightErrors {
	l := newWeightLaw(x, f.Weight)
	if f.Lambda == 0 { // the zero model does not depend on the noise
		return l
	}
	l.slope = solving.NewRidgeCholesky(l.cov, f.Lambda).Inverse()
	if noise.Factor != nil {
		l.factor = times(l.slope, noise.Factor)
	}
	return l
}

// TiltErrorsOf returns the distribution of the errors of a tilt released with noise of deviation sd
// on each coefficient.
func TiltErrorsOf(x *mat.Dense, f WeightFit, sd float64) *WeightErrors {
	l := newWeightLaw(x, f.Weight)
	if sd > 0 {
		l.factor = IsotropicNoise(len(f.Beta), sd).Factor
	}
	return l
}

// MaxNoiseSD bounds EstimateMean's NoiseSD over all queries with values in [0,1]. With F the
// factor, |⟨Fᵀg, v⟩|² is the squared weighted covariance of b with ⟨Fv, x⟩, at most
// Var(b)·vᵀFᵀcov·F·v ≤ ¼ of the largest eigenvalue of FᵀcovF. This is the noise part of the
// asymptotic variance of Ji & Elkan 2013, Theorem 2, for the worst query.
func (w *WeightErrors) MaxNoiseSD() float64 {
	if w.factor == nil {
		return 0
	}
	var right, both mat.Dense
	right.Mul(w.cov, w.factor)
	both.Mul(w.factor.T(), &right)
	p, _ := both.Dims()
	s := mat.NewSymDense(p, nil)
	for i := range p {
		for j := i; j < p; j++ {
			s.SetSym(i, j, (both.At(i, j)+both.At(j, i))/2)
		}
	}
	values := solving.SpectrumOfMoment(s).Values
	return math.Sqrt(values[p-1]) / 2
}

// Residual compares three means of a feature: in the release, in the weighted pool, and in the
// pool.
type Residual struct {
	Feature      string  `json:"feature"`
	ReleasedMean float64 `json:"released"`
	WeightedMean float64 `json:"weighted"`
	PoolMean     float64 `json:"pool"`
	NoiseSD      float64 `json:"noise_sd"`
}

const (
	maxResiduals = 10
	// gapNoise is the least gap, in standard deviations of the noise. Noise alone exceeds it once
	// in 30,000.
	gapNoise = 4.0
	// gapShare: a feature of fewer than 1 in 200 records is not reported as missing.
	gapShare = 0.005
)

// Residuals returns the ten largest differences between released means and the weighted pool's.
// gaps lists features that the pool lacks, so that no weights help: their released mean is, by more
// than noise explains, above twice the weighted pool's mean, or outside the range of the pool's
// rows. x holds the rows of the law.
func Residuals(fd *aggregation.FeatureDesign, x *mat.Dense, l *WeightErrors, means []float64,
	sd float64) (largest, gaps []Residual) {
	n, _ := x.Dims()
	s, names := 1/fd.MaxRowNorm(), fd.Names()
	all := make([]Residual, len(means))
	for j, m := range means {
		low, high, pool := math.Inf(1), math.Inf(-1), 0.0
		for i := range n {
			v := x.At(i, j) / s
			low, high, pool = math.Min(low, v), math.Max(high, v), pool+v/float64(n)
		}
		r := Residual{Feature: names[j], ReleasedMean: m, WeightedMean: l.mean[j] / s,
			PoolMean: pool,
			NoiseSD:  sd}
		all[j] = r
		slack := gapNoise * sd
		if m > high+slack || m < low-slack ||
			(m > gapShare && r.WeightedMean < m/2 && m-r.WeightedMean > slack) {
			gaps = append(gaps, r)
		}
	}
	// Two levels of a column differ equally, but for last bits by processor. So round, and keep
	// their order.
	away := func(r Residual) float64 {
		return math.Round(1e9 * math.Abs(
			r.ReleasedMean-r.WeightedMean))
	}
	slices.SortStableFunc(all, func(a, b Residual) int { return cmp.Compare(away(b), away(a)) })
	return all[:min(len(all), maxResiduals)], gaps
}
