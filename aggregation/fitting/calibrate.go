package fitting

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/solving"
	"caucus/learners"
)

// Calibration turns a fit's scores into class probabilities, from the same released sums.
type Calibration struct {
	learners.Recalibration
	// SlopeSD is the slope's standard deviation from noise and sampling. Low and High are its 95 %
	// interval.
	SlopeSD, Low, High float64
}

// spread sets a slope's interval on the logarithmic scale, where the slope is closer to normal.
func (c *Calibration) spread(sd float64) {
	by := math.Exp(aggregation.Normal95 * sd / c.Slope)
	c.SlopeSD, c.Low, c.High = sd, c.Slope/by, c.Slope*by
}

// RelativeSlopeSD returns the slope's relative standard deviation, 0 for nil.
func (c *Calibration) RelativeSlopeSD() float64 {
	if c == nil {
		return 0
	}
	return c.SlopeSD / c.Slope
}

const (
	// calibrationDraws is the number of draws for a correction. Their mean has a sixth of one
	// draw's deviation.
	calibrationDraws = 32
	// calibrationRounds is how often correction and slope, which depend on each other, are computed
	// in turn.
	calibrationRounds = 4
)

// calibrator holds a fit W (d×C) to moments mu, and what is known about the errors of mu.
type calibrator struct {
	x       *mat.Dense // the pool's rows, N×d, as in the fit
	weight  []float64
	classes int
	mu      *mat.Dense // d×C
	fit     Fit
	metric  *mat.Dense
	// own holds a factor F for each error of the moments other than sampling. They give a column of
	// mu the covariance Σ F·Fᵀ before centring.
	own []*mat.Dense
	// effective is the pool's number of effective rows, records the number of records behind the
	// moments.
	effective, records float64
}

// calibrate solves, with p the classifier's probabilities after recalibration and ȳₖ the share of
// outcome k,
//
//	Ê[pₖ] = ȳₖ,   Ê[Σₖ pₖsₖ] = ⟨W, mu⟩ − tr(H⁻¹Σ)
//
// over the pool, with scores s = W·x. If W did not depend on the noise in mu, ⟨W, mu⟩ would
// estimate E[Σ ys], the mean outcome along the scores. But an error ν of mu moves the fit from W₀
// to W = W₀ + H⁻¹ν, so ⟨W, ν⟩ has mean tr(H⁻¹Σ), which is subtracted. H is the fit's Hessian with
// its ridge. Σ is the covariance of ν: privacy noise, sampling of the records, and sampling of the
// pool's rows. Without the correction, overfitting to the noise looks like signal (slopes too steep
// by a fifth at ε = 1).
//
// The slope's variance follows from the variances of both right hand sides: Var⟨W₀, ν⟩ = ⟨W, ΣW⟩ −
// tr((H⁻¹Σ)²) and Var ν'H⁻¹ν = 2tr((H⁻¹Σ)²).
func (c calibrator) calibrate(rng *rand.Rand) (Calibration, bool) {
	if c.fit.Lambda == 0 { // the zero model was best, and has no scores
		return Calibration{}, false
	}
	d, columns := c.mu.Dims()
	s := c.fit.Model.Scores(c.x)
	last := c.x.At(0, d-1) // the value of the intercept column
	share := make([]float64, columns)
	for k := range share {
		share[k] = c.mu.At(d-1, k) / last
	}
	along := solving.FrobeniusProduct(c.fit.Model.W, c.mu)

	var out Calibration
	p := c.fit.Model.Probabilities(c.x)
	for range calibrationRounds {
		noise := c.noise(p)
		flattery, spread := c.flattery(noise, rng)
		r, ok := learners.Recalibrate(s, c.weight, share, along-flattery)
		if !ok {
			return Calibration{}, false
		}
		out.Recalibration = r
		out.spread(c.deviation(r, noise, last, spread))
		p = recalibrated(s, r, c.classes)
	}
	return out, true
}

// noise returns the distribution of the errors ν (see calibrate) in one column of the moments, at
// the pool's probabilities p: the errors in own, sampling of the pool's (p − 1/K)x, and sampling of
// the records' (y − 1/K)x. With more than two classes all columns have the same distribution.
func (c calibrator) noise(p *mat.Dense) Noise {
	n, d := c.x.Dims()
	k := float64(c.classes)
	free := k - 1 // centring makes the K columns sum to 0, so K−1 are free
	if c.classes == 2 {
		free = 2 // the single column stands for two opposite ones and is not centred
	}
	off, means := mat.NewDense(n, d, nil), mat.NewDense(d, c.classes, nil)
	total := 0.0
	for i := range n {
		v, square, row := solving.WeightAt(c.weight, i), 0.0, c.x.RawRowView(i)
		total += v
		for class, q := range p.RawRowView(i) {
			square += (q - 1/k) * (q - 1/k)
			for j, x := range row {
				means.Set(j, class, means.At(j, class)+v*(q-1/k)*x)
			}
		}
		f, to := math.Sqrt(v*square/free), off.RawRowView(i)
		for j, x := range row {
			to[j] = f * x
		}
	}
	means.Scale(1/total, means)
	sum := mat.NewSymDense(d, nil)
	sum.SymOuterK(-(1/c.effective+1/c.records)/free, means)
	add := func(scale float64, of *mat.SymDense) {
		of.ScaleSym(scale, of)
		sum.AddSym(sum, of)
	}
	add(1/c.effective, solving.Gram(1/total, off))
	add((1-1/k)/free/c.records, solving.SecondMoment(c.x, c.weight))
	for _, f := range c.own {
		var of mat.SymDense
		of.SymOuterK(1, f)
		sum.AddSym(sum, &of)
	}
	return Noise{Factor: squareRoot(sum), Centred: c.classes > 2}
}

// flattery measures by how much a fit to noisy moments flatters itself. It returns tr(H⁻¹Σ) and
// tr((H⁻¹Σ)²) of calibrate, computed exactly for two classes and estimated from random draws for
// more, where H is larger.
func (c calibrator) flattery(noise Noise, rng *rand.Rand) (mean, square float64) {
	if c.classes > 2 {
		return c.drawnFlattery(noise, rng)
	}
	x, factor := times(c.x, c.metric), times(c.metric.T(), noise.Factor)
	h := curvatureOf(x, c.weight, c.fit.Model.Probabilities(c.x))
	solved := times(solving.NewRidgeCholesky(h, c.fit.Lambda).Inverse(), factor)
	var both mat.Dense
	both.Mul(factor.T(), solved)
	return mat.Trace(&both), solving.FrobeniusProduct(&both, mat.DenseCopyOf(both.T()))
}

// curvatureOf returns the Hessian, without ridge, of the two-class logistic risk on x with
// probabilities p.
func curvatureOf(x *mat.Dense, weight []float64, p *mat.Dense) *mat.SymDense {
	n, _ := x.Dims()
	curved := make([]float64, n)
	total, all := 0.0, 0.0
	for i := range curved {
		curved[i] = solving.WeightAt(weight, i) * p.At(i, 0) * p.At(i, 1)
		total += curved[i]
		all += solving.WeightAt(weight, i)
	}
	h := solving.SecondMoment(x, curved)
	h.ScaleSym(total/all, h)
	return h
}

// drawnFlattery estimates flattery's results from fits under fresh noise n. The difference of the
// fits under n and −n has no second-order effects.
func (c calibrator) drawnFlattery(noise Noise, rng *rand.Rand) (mean, square float64) {
	x, factor := times(c.x, c.metric), times(c.metric.T(), noise.Factor)
	risk := softmax{&learners.SoftmaxRisk{X: x, RowWeight: c.weight, Classes: c.classes}}
	problem := perturbed{risk: risk, mu: times(c.metric.T(), c.mu)}
	d, columns := c.mu.Dims()
	start := problem.solve(problem.mu, c.fit.Lambda, searchGradient, nil)
	worth := make([]float64, calibrationDraws)
	fresh := Noise{Factor: factor, Centred: noise.Centred}
	for i := range worth {
		n := fresh.Draw(columns, rng)
		up, down := mat.NewDense(d, columns, nil), mat.NewDense(d, columns, nil)
		up.Add(problem.mu, n)
		down.Sub(problem.mu, n)
		above := problem.solve(up, c.fit.Lambda, searchGradient, start)
		below := problem.solve(down, c.fit.Lambda, searchGradient, start)
		worth[i] = (solving.FrobeniusProduct(n, above) - solving.FrobeniusProduct(n, below)) / 2
		mean += worth[i] / calibrationDraws
	}
	for _, w := range worth { // worth has variance 2tr((H⁻¹Σ)²): see calibrate
		square += (w - mean) * (w - mean) / (2 * (calibrationDraws - 1))
	}
	return mean, square
}

func (c calibrator) deviation(r learners.Recalibration, noise Noise, last, square float64) float64 {
	columns := len(r.Intercept)
	// cov is the covariance of the errors of calibrate's right hand sides: ȳ, then the mean along
	// the scores.
	w := c.fit.Model.W
	d, _ := w.Dims()
	cov := mat.NewSymDense(columns+1, nil)
	sigma := noise.Covariance()
	between := func(a, b mat.Vector) float64 { return mat.Inner(a, sigma, b) }
	unit := mat.NewVecDense(d, nil)
	unit.SetVec(d-1, 1/last)
	centred := func(k, l int) float64 { // covariance between the errors of columns k and l
		one := 0.0
		if k == l {
			one = 1
		}
		if noise.Centred {
			one -= 1 / float64(columns)
		}
		return one
	}
	// variance along the scores (see calibrate): ⟨W,ΣW⟩ − tr((H⁻¹Σ)²) + 2tr((H⁻¹Σ)²)
	along := square
	for k := range columns {
		cross := 0.0
		for l := range columns {
			cov.SetSym(k, max(k, l), centred(k, l)*between(unit, unit))
			cov.SetSym(min(k, l), max(k, l), centred(k, l)*between(unit, unit))
			cross += centred(k, l) * between(unit, w.ColView(l))
			along += centred(k, l) * between(w.ColView(k), w.ColView(l))
		}
		cov.SetSym(k, columns, cross)
	}
	cov.SetSym(columns, columns, along)
	sd, _ := deviations(r, cov)
	return sd
}

func recalibrated(s *mat.Dense, r learners.Recalibration, classes int) *mat.Dense {
	n, c := s.Dims()
	moved := mat.NewDense(n, c, nil)
	for i := range n {
		to := moved.RawRowView(i)
		for k, v := range s.RawRowView(i) {
			to[k] = r.Slope*v + r.Intercept[k]
		}
	}
	identity := mat.NewDense(c, c, nil)
	for k := range c {
		identity.Set(k, k, 1)
	}
	return learners.Linear{W: identity, Classes: classes}.Probabilities(moved)
}

// Apply returns the model of m's recalibrated scores. last is the value of the last column, the
// intercept.
func (c Calibration) Apply(m learners.Linear, last float64) learners.Linear {
	var w mat.Dense
	w.Scale(c.Slope, m.W)
	d, _ := w.Dims()
	for k, a := range c.Intercept {
		w.Set(d-1, k, w.At(d-1, k)+a/last)
	}
	return learners.Linear{W: &w, Classes: m.Classes}
}

// deviations takes the covariance of the errors of the right hand sides (shares, then the mean
// along the scores). It returns the standard deviations of the slope, and of that mean once
// intercepts fit the shares.
func deviations(r learners.Recalibration, errors *mat.SymDense) (slope, along float64) {
	columns := len(r.Intercept)
	var factor mat.Cholesky
	if !factor.Factorize(r.Curvature) {
		return math.Inf(1), math.Inf(1)
	}
	row := mat.NewVecDense(columns+1, nil)
	row.SetVec(columns, 1)
	_ = factor.SolveVecTo(row, row)
	slope = math.Sqrt(math.Max(0, mat.Inner(row, errors, row)))
	return slope, slope / row.AtVec(columns)
}
