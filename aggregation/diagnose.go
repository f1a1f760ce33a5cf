package aggregation

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// WeightLaw says how sure the answers of a weighted pool are. All of it follows
// from released numbers and the known law of their noise.
type WeightLaw struct {
	x      *mat.Dense
	weight []float64
	mean   []float64     // of x under the weights
	cov    *mat.SymDense // of x under the weights
	// factor is d×p: the noise on the tilt is factor·z, z of variance 1; nil
	// where there is none.
	factor *mat.Dense
	// calibrated: the weights match the pool to means up to a ridge, so that
	// what of a query is linear in x has no error from sampling the pool.
	// slope is (cov+ridge)⁻¹ then.
	slope *mat.Dense
}

// LawOf is the law of an entropy tilt (FitWeights) of rows x to means with noise:
// a change ν of the means changes the tilt by about (cov+λ)⁻¹ν.
func LawOf(x *mat.Dense, f WeightFit, noise Noise) *WeightLaw {
	l := newWeightLaw(x, f.Weight)
	if f.Lambda == 0 { // the zero model was chosen: noise does not move it
		return l
	}
	l.slope = newRidged(l.cov, f.Lambda).inverse()
	if noise.Factor != nil {
		l.factor = times(l.slope, noise.Factor)
	}
	return l
}

// LawOfTilt is the law of a tilt that was itself released, with independent
// noise of standard deviation sd on each coefficient.
func LawOfTilt(x *mat.Dense, f WeightFit, sd float64) *WeightLaw {
	l := newWeightLaw(x, f.Weight)
	if sd > 0 {
		l.factor = Isotropic(len(f.Beta), sd).Factor
	}
	return l
}

func newWeightLaw(x *mat.Dense, weight []float64) *WeightLaw {
	n, d := x.Dims()
	total := 0.0
	for i := range n {
		total += at(weight, i)
	}
	l := &WeightLaw{x: x, weight: weight, mean: make([]float64, d), cov: secondMoment(x, weight)}
	for i := range n {
		for j, v := range x.RawRowView(i) {
			l.mean[j] += at(weight, i) / total * v
		}
	}
	l.cov.SymRankOne(l.cov, -1, mat.NewVecDense(d, l.mean))
	return l
}

// Mean is the weighted mean of the rows.
func (l *WeightLaw) Mean() []float64 { return l.mean }

// WorstNoise bounds QueryAnswer's Noise over all queries with values in [0,1]: with
// F the factor, |⟨Fᵀg, v⟩|² is the squared weighted covariance of b with ⟨Fv, x⟩,
// at most Var(b)·vᵀFᵀcov·F·v ≤ ¼ of the largest eigenvalue of FᵀcovF. It is the
// part due to noise of the asymptotic variance of Ji & Elkan 2013, Theorem 2,
// for the worst query.
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

// Residual compares a feature's mean as released, in the weighted pool and in
// the pool.
type Residual struct {
	Feature  string  `json:"feature"`
	Released float64 `json:"released"`
	Weighted float64 `json:"weighted"`
	Pool     float64 `json:"pool"`
	// Deviation is the standard deviation of the noise on Released.
	Deviation float64 `json:"noise_sd"`
}

// Constants of Residuals and Gaps.
const (
	maxResiduals = 10
	// gapNoise is how many standard deviations of the noise a gap must exceed:
	// noise alone does so once in 30,000 features.
	gapNoise = 4.0
	// gapShare is the least mean of a feature that can be missing: 1 in 200.
	gapShare = 0.005
)

// Residuals are the largest differences between released means and the weighted
// pool's, at most ten, and Gaps the features for which the pool lacks support:
// the released mean is above twice the weighted pool's, or outside the range of
// the pool's rows, by more than noise explains. No weights mend those. x are the
// pool's rows under the law, scale what they are times the entries.
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
	// A level and its opposite are as far away but for the last bits, which
	// processors do not agree in: such pairs stay in the order of the features.
	away := func(r Residual) float64 { return math.Round(1e9 * math.Abs(r.Released-r.Weighted)) }
	slices.SortStableFunc(all, func(a, b Residual) int { return cmp.Compare(away(b), away(a)) })
	return all[:min(len(all), maxResiduals)], gaps
}
