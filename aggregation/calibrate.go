package aggregation

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/learners"
)

// Calibration turns a fit's scores into probabilities of the records' classes, from the same
// released sums and the law of their noise.
type Calibration struct {
	learners.Recalibration
	// SlopeSD is the slope's standard deviation from privacy noise and the sampling of records and
	// pool. Low and High are its 95 % interval.
	SlopeSD, Low, High float64
}

// spread fills in the interval of a slope by its logarithm, which is nearer to normal.
func (c *Calibration) spread(sd float64) {
	by := math.Exp(Normal95 * sd / c.Slope)
	c.SlopeSD, c.Low, c.High = sd, c.Slope/by, c.Slope*by
}

// Error is the slope's relative standard deviation; 0 for nil.
func (c *Calibration) Error() float64 {
	if c == nil {
		return 0
	}
	return c.SlopeSD / c.Slope
}

// Normal95 is a normal's 97.5 % quantile: that many deviations either way hold 95 %.
const Normal95 = 1.959963984540054

const (
	// calibrationDraws give the correction of a fit in several columns to a sixth of one draw's
	// scatter.
	calibrationDraws = 32
	// calibrationRounds settle the mutual dependence of correction and slope.
	calibrationRounds = 4
)

// calibrator is a fit W (d×C) to moments mu with all that makes them uncertain.
type calibrator struct {
	x       *mat.Dense // the pool's rows, N×d, as the fit saw them
	weight  []float64
	classes int
	mu      *mat.Dense // d×C
	fit     Fit
	// metric is the transform T in which the fit's ridge acts.
	metric *mat.Dense
	// own are the moments' errors beside sampling: factors whose outer products sum to a column's
	// covariance before centring.
	own []*mat.Dense
	// effective is the pool's effective rows, records the number behind the moments.
	effective, records float64
}

// calibrate solves, with p the classifier's probabilities after recalibration,
//
//	Ê[pₖ] = ȳₖ,   Ê[Σₖ pₖsₖ] = ⟨W, mu⟩ − tr(H⁻¹Σ)
//
// over the pool, scores s = W·x. The released moments mu hold E[yx], so ⟨W, mu⟩ would be E[Σ ys],
// the outcome along the scores, if W did not depend on mu's own noise. It does: an error ν of the
// equations H(W−W₀) = ν moves W towards itself, so that ⟨W, ν⟩ has the mean tr(H⁻¹Σ), H the fit's
// Hessian with its ridge and Σ the covariance of ν: privacy noise, the records' sampling, and that
// of the pool's rows, whose error stands on the other side of the same equations. Left in, the
// fit's flattery of its own noise looks like signal (slopes too steep by a fifth at ε = 1).
//
// The slope's variance follows from that of both right hand sides: Var⟨W₀, ν⟩ = ⟨W, ΣW⟩ −
// tr((H⁻¹Σ)²) and Var ν'H⁻¹ν = 2tr((H⁻¹Σ)²).
func (c calibrator) calibrate(rng *rand.Rand) (Calibration, bool) {
	if c.fit.Lambda == 0 { // no model was better: there is no score
		return Calibration{}, false
	}
	d, columns := c.mu.Dims()
	s := c.fit.Model.Scores(c.x)
	last := c.x.At(0, d-1) // the intercept
	share := make([]float64, columns)
	for k := range share {
		share[k] = c.mu.At(d-1, k) / last
	}
	along := inner(c.fit.Model.W, c.mu)

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

// noise is the law of the errors of one column's equations at the pool's probabilities p: own, and
// the sampling of the pool's (p − 1/K)x and of the records' (y − 1/K)x. More than two classes'
// columns are treated alike.
func (c calibrator) noise(p *mat.Dense) Noise {
	n, d := c.x.Dims()
	k := float64(c.classes)
	free := k - 1 // of K columns that centring makes sum to 0
	if c.classes == 2 {
		free = 2 // both are the same one, and not centred again
	}
	off, means := mat.NewDense(n, d, nil), mat.NewDense(d, c.classes, nil)
	total := 0.0
	for i := range n {
		v, square, row := at(c.weight, i), 0.0, c.x.RawRowView(i)
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
	add(1/c.effective, gram(1/total, off))
	add((1-1/k)/free/c.records, secondMoment(c.x, c.weight))
	for _, f := range c.own {
		var of mat.SymDense
		of.SymOuterK(1, f)
		sum.AddSym(sum, &of)
	}
	return Noise{Factor: squareRoot(sum), Centred: c.classes > 2}
}

// flattery is tr(H⁻¹Σ) and tr((H⁻¹Σ)²): by solving for one column, by drawing for several, where H
// is as large as all of them.
func (c calibrator) flattery(noise Noise, rng *rand.Rand) (mean, square float64) {
	if c.classes > 2 {
		return c.drawnFlattery(noise, rng)
	}
	x, factor := times(c.x, c.metric), times(c.metric, noise.Factor)
	h := curvatureOf(x, c.weight, c.fit.Model.Probabilities(c.x))
	solved := times(newRidged(h, c.fit.Lambda).inverse(), factor)
	var both mat.Dense
	both.Mul(factor.T(), solved)
	return mat.Trace(&both), inner(&both, mat.DenseCopyOf(both.T()))
}

// curvatureOf is the Hessian, without ridge, of the logistic risk of rows x with probabilities p of
// two classes.
func curvatureOf(x *mat.Dense, weight []float64, p *mat.Dense) *mat.SymDense {
	n, _ := x.Dims()
	curved := make([]float64, n)
	total, all := 0.0, 0.0
	for i := range curved {
		curved[i] = at(weight, i) * p.At(i, 0) * p.At(i, 1)
		total += curved[i]
		all += at(weight, i)
	}
	h := secondMoment(x, curved)
	h.ScaleSym(total/all, h)
	return h
}

// drawnFlattery is the fit's move along fresh noise: on both sides, to cancel what is not linear.
func (c calibrator) drawnFlattery(noise Noise, rng *rand.Rand) (mean, square float64) {
	x, factor := times(c.x, c.metric), times(c.metric, noise.Factor)
	risk := softmax{&learners.SoftmaxRisk{X: x, RowWeight: c.weight, Classes: c.classes}}
	problem := perturbed{risk: risk, mu: times(c.metric, c.mu)}
	d, columns := c.mu.Dims()
	start := problem.solve(problem.mu, c.fit.Lambda, searchGradient, nil)
	worth := make([]float64, calibrationDraws)
	fresh := Noise{Factor: factor, Centred: noise.Centred}
	for i := range worth {
		n := fresh.Draw(columns, rng)
		up, down := mat.NewDense(d, columns, nil), mat.NewDense(d, columns, nil)
		up.Add(problem.mu, n)
		down.Sub(problem.mu, n)
		worth[i] = (inner(n, problem.solve(up, c.fit.Lambda, searchGradient, start)) - inner(n, problem.solve(down, c.fit.Lambda, searchGradient, start))) / 2
		mean += worth[i] / calibrationDraws
	}
	for _, w := range worth { // Var ν'H⁻¹ν = 2tr((H⁻¹Σ)²)
		square += (w - mean) * (w - mean) / (2 * (calibrationDraws - 1))
	}
	return mean, square
}

// deviation is the slope's: the errors of the equations through their inverse.
func (c calibrator) deviation(r learners.Recalibration, noise Noise, last, square float64) float64 {
	columns := len(r.Intercept)
	// The covariance of (errors of the shares, error along W).
	w := c.fit.Model.W
	d, _ := w.Dims()
	cov := mat.NewSymDense(columns+1, nil)
	sigma := noise.Covariance()
	between := func(a, b mat.Vector) float64 { return mat.Inner(a, sigma, b) }
	unit := mat.NewVecDense(d, nil)
	unit.SetVec(d-1, 1/last)
	centred := func(k, l int) float64 { // of errors of columns k and l
		one := 0.0
		if k == l {
			one = 1
		}
		if noise.Centred {
			one -= 1 / float64(columns)
		}
		return one
	}
	along := square // ⟨W,ΣW⟩ − tr((H⁻¹Σ)²) + 2tr((H⁻¹Σ)²)
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

// recalibrated are the probabilities of scores after recalibration, N×classes.
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

// Apply is the model whose scores are m's recalibrated; last is the value of every row's last
// column.
func (c Calibration) Apply(m learners.Linear, last float64) learners.Linear {
	var w mat.Dense
	w.Scale(c.Slope, m.W)
	d, _ := w.Dims()
	for k, a := range c.Intercept {
		w.Set(d-1, k, w.At(d-1, k)+a/last)
	}
	return learners.Linear{W: &w, Classes: m.Classes}
}

// deviations are the standard deviations of a slope whose equations' right hand sides,
// shares and the mean along the scores, have errors of this covariance, and of that mean
// itself where intercepts keep to the shares.
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
