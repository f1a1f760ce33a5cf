package aggregation

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// LawOf is the law of an entropy tilt (FitWeights) of rows x to means with noise: a change ν of the
// means changes the tilt by about (cov+λ)⁻¹ν.
func LawOf(x *mat.Dense, f WeightFit, noise Noise) *WeightLaw {
	l := newWeightLaw(x, f.Weight)
	if f.Lambda == 0 { // noise does not move the zero model
		return l
	}
	l.slope = newRidged(l.cov, f.Lambda).inverse()
	if noise.Factor != nil {
		l.factor = times(l.slope, noise.Factor)
	}
	return l
}

// LawOfTilt is the law of a released tilt with independent noise of deviation sd on each coefficient.
func LawOfTilt(x *mat.Dense, f WeightFit, sd float64) *WeightLaw {
	l := newWeightLaw(x, f.Weight)
	if sd > 0 {
		l.factor = Isotropic(len(f.Beta), sd).Factor
	}
	return l
}

// WorstNoise bounds Answer's Noise over all queries with values in [0,1]. With F the factor, |⟨Fᵀg,
// v⟩|² is the squared weighted covariance of b with ⟨Fv, x⟩, at most Var(b)·vᵀFᵀcov·F·v ≤ ¼ of the
// largest eigenvalue of FᵀcovF. It is the noise part of the asymptotic variance of Ji & Elkan 2013,
// Theorem 2, for the worst query.
func (l *WeightLaw) WorstNoise() float64 {
	if l.factor == nil {
		return 0
	}
	var right, both mat.Dense
	right.Mul(l.cov, l.factor)
	both.Mul(l.factor.T(), &right)
	p, _ := both.Dims()
	s := mat.NewSymDense(p, nil)
	for i := range p {
		for j := i; j < p; j++ {
			s.SetSym(i, j, (both.At(i, j)+both.At(j, i))/2)
		}
	}
	values := metricOfSecondMoment(s).values
	return math.Sqrt(values[p-1]) / 2
}

// Residual compares three means of a feature: released, in the weighted pool, and in the pool.
type Residual struct {
	Feature   string  `json:"feature"`
	Released  float64 `json:"released"`
	Weighted  float64 `json:"weighted"`
	Pool      float64 `json:"pool"`
	Deviation float64 `json:"noise_sd"`
}

const (
	maxResiduals = 10
	// gapNoise is the least gap, in noise deviations: 1 in 30,000 features exceeds it by noise alone.
	gapNoise = 4.0
	// gapShare is the least mean of a feature that can be missing: 1 in 200.
	gapShare = 0.005
)

// Residuals returns the largest differences between the released means and the weighted pool's, at
// most ten. gaps are the features that the pool does not support, which no weights can mend: by
// more than noise explains, the released mean is above twice the weighted pool's, or outside the
// range of the pool's rows. x holds the pool's rows as in the law.
func (d *FeatureDesign) Residuals(x *mat.Dense, l *WeightLaw, means []float64, sd float64) (largest, gaps []Residual) {
	n, _ := x.Dims()
	s := d.scale()
	all := make([]Residual, len(means))
	for j, m := range means {
		low, high, pool := math.Inf(1), math.Inf(-1), 0.0
		for i := range n {
			v := x.At(i, j) / s
			low, high, pool = math.Min(low, v), math.Max(high, v), pool+v/float64(n)
		}
		r := Residual{Feature: d.names[j], Released: m, Weighted: l.mean[j] / s, Pool: pool, Deviation: sd}
		all[j] = r
		slack := gapNoise * sd
		if m > high+slack || m < low-slack || (m > gapShare && r.Weighted < m/2 && m-r.Weighted > slack) {
			gaps = append(gaps, r)
		}
	}
	// A level and its opposite differ only in the last bits, where processors disagree: keep their
	// order.
	away := func(r Residual) float64 { return math.Round(1e9 * math.Abs(r.Released-r.Weighted)) }
	slices.SortStableFunc(all, func(a, b Residual) int { return cmp.Compare(away(b), away(a)) })
	return all[:min(len(all), maxResiduals)], gaps
}
