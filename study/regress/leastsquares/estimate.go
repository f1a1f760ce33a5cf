package leastsquares

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/validation"
	"caucus/auxdata"
	"caucus/study/regress"
)

// Estimates are least squares from noisy second moments, in the schema's units.
type Estimates struct {
	// Counted is the number of records with the outcome and all columns.
	Counted float64
	// Coefficients have the order of Design.Columns: the change of the outcome where the column is
	// higher by 1 in its unit, or has the level and not the base.
	Coefficients []validation.Number
	// Intercept is the outcome where all columns are 0, and texts have their base.
	Intercept validation.Number
	// R2 is the share of the outcome's variance that the columns explain. Residual is the standard
	// deviation of the rest, in the outcome's unit.
	R2, Residual validation.Number
}

// z95 is the normal quantile of .975.
const z95 = 1.959963984540054

// leastSignal is the least value of a sum of squares, in standard deviations of its noise, that
// gives a number.
const leastSignal = 4

// Reasons why a number is unknown.
const (
	tooFew    = "too few records have the outcome and all columns, beside the noise: use fewer columns, two servers, or more records"
	tooNoisy  = "noise hides how the columns differ from each other%s: use fewer columns, two servers, or more records"
	oneValue  = "the pool's rows do not differ in %s: leave the column out, or give a pool whose rows do"
	tooAlike  = "the pool does not tell %s apart: leave one out, or give a pool that does"
	fewRows   = "too few rows of the pool have the outcome and all columns, %d: give a pool of %d or more"
	unlike    = "the records are not like the pool: there noise hides how some columns differ from each other, so give a pool like the records of this study, or leave out a column that hardly differs in them"
	longer    = "the records are not like the pool: there shortening moves the coefficient of %s too far, so give a pool like the records of this study, or set a larger regress.radius"
	shortOnes = "shortening changes how far the outcome is from the fit: set a larger regress.radius"
	allNoise  = "noise hides how far the outcome is from the fit"
	nothingTo = "the outcome has one value"
)

// Estimate makes the estimates from the sums of a design (regress.Moments), each with noise of this
// variance, 0 for exact sums. The pool decides which coefficients are known, and how a row's length
// goes with what least squares leave.
//
// Proof note. With x = (1, z) let Ĝ = G + E be the released Σxxᵀ and ĝ = g + e the released Σx·y, M
// = Ĝ⁻¹. Then β̂ − β = M·r, r = e − Eβ (exactly; M is noisy). noise.residual has Cov r. To second
// order E β̂ = β + E[G⁻¹EG⁻¹Eβ], and noise.inflation subtracts that. In β̂'s residual sum of
// squares, q = (−β̂, 1), qᵀÂq is a minimum, so on average tr(M·Cov r) too small, and its noise is
// that of a quadratic form (noise.form). All of this needs E small beside G in every direction. The
// pool says where it is not, and then nothing is known (publicRows.hidden): least squares in the
// other directions are biased by the outcome's change in the one left out, unless at the sites it
// is uncorrelated with them, which nothing public says. The released matrix does not say where
// noise is small, because a lucky draw would then show what is off. Of it, only the number of
// records enters; the noise on that number is also in Ĝ, but small beside it, because fewer records
// than leastSignal of its standard deviations give no number.
func Estimate(d *regress.Design, pool *auxdata.Pool, sums []float64, variance float64) Estimates {
	a, noise := matrixOf(d, sums, variance)
	out := Estimates{Counted: a.At(0, 0)}
	f, why := newFit(newPublicRows(d, pool), a, noise)
	if why == "" {
		why = f.solve()
	}
	k := d.Dim() - 1
	for j, c := range d.Columns {
		by := make([]float64, k)
		by[j+1] = f.unitOf(c)
		out.Coefficients = append(out.Coefficients, f.number(by, why))
	}
	by := make([]float64, k)
	by[0] = f.unit
	for j, c := range d.Columns {
		by[j+1] = -f.unit * (c.Low/(c.High-c.Low) + c.Mean) / c.Scale
	}
	out.Intercept = f.number(by, why)
	if y := d.Outcome; why == "" && out.Intercept.Known() {
		shift := y.Low + (y.High-y.Low)*y.Mean
		out.Intercept.Value += shift
		out.Intercept.Low, out.Intercept.High = out.Intercept.Low+shift, out.Intercept.High+shift
	}
	out.R2, out.Residual = f.r2(why), f.residual(why)
	return out
}

// matrixOf returns the mean products' sums as a matrix, and its noise.
func matrixOf(d *regress.Design, sums []float64, variance float64) (*mat.SymDense, noise) {
	steps, sd := float64(d.One*d.One), math.Sqrt(variance)
	a := mat.NewSymDense(d.Dim(), nil)
	for i := range d.Dim() {
		a.SetSym(i, i, sums[d.Cell(i, i)]/(regress.OfSquare*steps))
		for j := i + 1; j < d.Dim(); j++ {
			a.SetSym(i, j, sums[d.Cell(i, j)]/(regress.OfProduct*steps))
		}
	}
	return a, noise{product: math.Pow(sd/(regress.OfProduct*steps), 2),
		square: math.Pow(sd/(regress.OfSquare*steps), 2)}
}

// fit is a solution of noisy normal equations.
type fit struct {
	publicRows
	noise
	a       *mat.SymDense // released sums of products of (1, z, y)
	n       float64       // records that count
	unit    float64       // the outcome's, for 1 of its standardised form
	inverse *mat.SymDense // M
	beta    []float64
	// byNoise and bySampling are covariances of beta; plain is the one by sampling if what is left
	// were alike for all rows.
	byNoise, bySampling, plain *mat.Dense
	residuals
	// pool is the pool's own fit, of the outcomes that the released coefficients give a class. It
	// is there if poolFits.
	pool         fittedRows
	poolFits     bool
	bare, short  residuals // of rows like the sites' (like)
	left, leftSD float64   // residual sum of squares, and the standard deviation of its noise
}

// newFit returns a reason if the pool, or too few records, give no estimates.
func newFit(p publicRows, a *mat.SymDense, of noise) (*fit, string) {
	f := &fit{publicRows: p, noise: of, a: a, n: a.At(0, 0),
		unit: p.Outcome.Scale * (p.Outcome.High - p.Outcome.Low)}
	k := p.Dim() - 1
	if why := p.tooFew(); why != "" {
		return f, why
	}
	if of.hides(f.n, k) {
		return f, tooFew
	}
	expected := scaled(f.n, p.moments(p.Radius, p.share()))
	_, why := p.hidden(expected, of)
	return f, why
}

const (
	// mostNoise is the largest size of the noise, √(dimension·variance), beside the squares that
	// the pool expects in a direction. Beside the released squares it may be twice that. Up to there,
	// intervals cover as they should (docs/regress.md).
	mostNoise = 1. / 6
	// leastShare is the least share of a direction in the squares, below which rounding decides.
	leastShare = 1e-9
)

// solve solves the equations.
func (f *fit) solve() string {
	k := f.Dim() - 1
	gram := symmetric(mat.DenseCopyOf(f.a.SliceSym(0, k)))
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return unlike
	}
	values := eigen.Values(nil)
	least := math.Sqrt(float64(k)*f.product) / (2 * mostNoise)
	if !(values[0] > math.Max(least, leastShare*values[k-1])) {
		return unlike
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	vectors.Apply(func(_, j int, v float64) float64 { return v / math.Sqrt(values[j]) }, &vectors)
	f.inverse = symmetric(product(&vectors, vectors.T()))
	f.beta = product(f.inverse, withOutcome(f.a)).RawMatrix().Data
	floats.Sub(f.beta, f.inflation(f.inverse, f.beta))
	ofResidual := f.residualNoise(f.beta)
	f.byNoise = product(f.inverse, ofResidual, f.inverse)
	q := f.quadratic()
	f.left = mat.Inner(mat.NewVecDense(k+1, q), f.a, mat.NewVecDense(k+1, q)) +
		mat.Trace(product(f.inverse, ofResidual))
	f.leftSD = math.Sqrt(f.form(outer(q)))
	f.pool, f.poolFits = f.fitted(f.Radius, f.chanceBy(f.beta))
	f.sampling(gram)
	return f.moved()
}

// mostMoved is the largest shift by shortening of rows like the sites', in standard deviations:
// more than a forecast allows, so that noise seldom decides where the pool is like the records.
const mostMoved = 1.5 * mostShift

// moved fits rows like the sites' (like), shortened and not. It returns a reason if shortening
// moves a coefficient too far.
func (f *fit) moved() string {
	p, ok := f.like()
	if !ok {
		return ""
	}
	bare, ok := p.fitted(math.Inf(1), f.pool.chance)
	short, too := p.fitted(f.Radius, f.pool.chance)
	if !ok || !too {
		return ""
	}
	for j, c := range f.Columns {
		by := make([]float64, f.Dim()-1)
		by[j+1] = 1
		if sd := f.number(by, "").SD; math.Abs(short.beta[j+1]-bare.beta[j+1]) > mostMoved*sd {
			return fmt.Sprintf(longer, c.Name())
		}
	}
	f.bare, f.short = bare.residuals, short.residuals
	return ""
}

// like returns the pool's rows with their numbers spread as the sites', around the sites' means,
// and the outcome by the released coefficients. Columns of two values stay as they are: where few
// of the sites' rows have one of these, they are no longer than the pool's. It returns false where the
// pool gives no fit.
func (f *fit) like() (publicRows, bool) {
	p, k := f.publicRows, f.Dim()-1
	if !f.poolFits || !(f.squares > 0) {
		return p, false
	}
	pool, left := f.pool.products, math.Sqrt(f.left/f.n/f.squares)
	if !(f.left > leastSignal*f.leftSD) {
		left = 1
	}
	p.rows = make([][]float64, len(f.rows))
	for i, row := range f.rows {
		p.rows[i] = slices.Clone(row)
	}
	for j := 1; j < k; j++ {
		mean, was := f.a.At(0, j)/f.n, pool.At(0, j)
		by := math.Sqrt((f.a.At(j, j)/f.n - mean*mean) / (pool.At(j, j) - was*was))
		if !(by > 0) || math.IsInf(by, 1) || f.twoValues(j) {
			continue
		}
		for _, row := range p.rows {
			row[j] = mean + by*(row[j]-was)
		}
	}
	for i, row := range f.rows {
		p.rows[i][k] = floats.Dot(p.rows[i][:k], f.beta) +
			left*(row[k]-floats.Dot(row[:k], f.pool.beta))
	}
	return p, true
}

// twoValues reports whether a number of the rows has at most two values.
func (p publicRows) twoValues(j int) bool {
	seen := map[float64]bool{}
	for _, row := range p.rows {
		if seen[row[j]] = true; len(seen) > 2 {
			return false
		}
	}
	return true
}

// sampling sets the covariance by sampling. What is left is at least leastSignal of its noise's
// standard deviations here, so that noise never makes an interval too narrow.
//
// For an outcome of two levels, the variance of what is left is that of the released chance of each
// row of the pool. For a number it is the released one, and the pool says how it goes with the
// rows. The sites' columns may be spread unlike the pool's, so the pool's rows are carried to the
// sites' spread (carried). Where that says that all is alike or better, it is taken as alike.
func (f *fit) sampling(gram mat.Symmetric) {
	left := math.Max(f.left, leastSignal*f.leftSD) / f.n
	f.plain = product(f.inverse, gram, f.inverse)
	f.plain.Scale(left, f.plain)
	f.bySampling = f.plain
	if chance := f.pool.chance; chance != nil {
		f.residuals = f.publicRows.residuals(f.Radius, f.beta, chance)
		left = f.squares
	} else if f.poolFits {
		f.residuals = f.pool.residuals
	}
	if !(f.squares > 0) {
		return
	}
	f.bySampling = product(f.inverse, f.carried(gram), f.inverse)
	f.bySampling.Scale(left/f.squares, f.bySampling)
}

// carried returns the sum of e²·xxᵀ over the sites' records: with Cholesky factors S of the sites'
// sums and P of the pool's mean products, rows S·P⁻¹·x of the pool have the sites' products, and
// keep their constant.
func (f *fit) carried(gram mat.Symmetric) mat.Matrix {
	var sites, pool mat.Cholesky
	if !sites.Factorize(gram) ||
		!pool.Factorize(f.pool.products.SliceSym(0, f.Dim()-1)) {
		return scaled(f.n, f.meat)
	}
	var s, p mat.TriDense
	sites.LTo(&s)
	pool.LTo(&p)
	if p.InverseTri(&p) != nil {
		return scaled(f.n, f.meat)
	}
	carry := product(&s, &p)
	return product(carry, f.meat, carry.T())
}

// withOutcome returns the products of the columns with the outcome.
func withOutcome(a *mat.SymDense) *mat.VecDense {
	out := mat.NewVecDense(a.SymmetricDim()-1, nil)
	for i := range out.Len() {
		out.SetVec(i, a.At(i, out.Len()))
	}
	return out
}

// number returns the number by·β, with a reason if it is unknown.
func (f *fit) number(by []float64, why string) validation.Number {
	if why != "" {
		return validation.Number{Unknown: why}
	}
	v := vector(by)
	sampling := mat.Inner(v, f.bySampling, v)
	sampling = math.Max(sampling, mat.Inner(v, f.plain, v))
	return around(floats.Dot(by, f.beta), mat.Inner(v, f.byNoise, v), sampling)
}

// around returns a number with its interval. Rounding may make a variance fall below 0.
func around(value, noise, sampling float64) validation.Number {
	n := validation.Number{Value: value, NoiseSD: math.Sqrt(math.Max(0, noise))}
	n.SD = math.Hypot(n.NoiseSD, math.Sqrt(math.Max(0, sampling)))
	n.Low, n.High = value-z95*n.SD, value+z95*n.SD
	return n
}

// quadratic returns (−β, 1).
func (f *fit) quadratic() []float64 {
	q := make([]float64, f.Dim())
	floats.SubTo(q[:f.Dim()-1], q[:f.Dim()-1], f.beta)
	q[f.Dim()-1] = 1
	return q
}

// residual returns the standard deviation of what is left of the outcome, in its unit.
func (f *fit) residual(why string) validation.Number {
	switch {
	case why != "":
		return validation.Number{Unknown: why}
	case !(f.left > leastSignal*f.leftSD):
		return validation.Number{Unknown: allNoise}
	}
	// The derivative of left/n by the matrix is qqᵀ/n − left/n²·∂n, and ∂√v = ∂v/(2√v).
	v := f.left / f.n
	by := outer(f.quadratic())
	by.SetSym(0, 0, by.At(0, 0)-v)
	noise := f.form(by) / (f.n * f.n) / (4 * v)
	spread := f.spread
	if f.squares > 0 {
		spread *= v * v / (f.squares * f.squares)
	}
	of := around(math.Sqrt(v)*f.unit, noise*f.unit*f.unit, spread/f.n/(4*v)*f.unit*f.unit)
	off := math.Sqrt(f.bare.squares) - math.Sqrt(f.short.squares)
	if math.Abs(off)*f.unit > mostShift*of.SD {
		return validation.Number{Unknown: shortOnes}
	}
	of.Low = math.Max(0, of.Low)
	return of
}

// r2 returns the share of the outcome's variance that the columns explain.
func (f *fit) r2(why string) validation.Number {
	if why != "" {
		return validation.Number{Unknown: why}
	}
	k := f.Dim() - 1
	centre := make([]float64, f.Dim()) // y − ȳ
	centre[0], centre[k] = -f.a.At(0, k)/f.n, 1
	all := f.a.At(k, k) - f.a.At(0, k)*f.a.At(0, k)/f.n
	switch {
	case !(f.left > leastSignal*f.leftSD):
		return validation.Number{Unknown: allNoise}
	case !(all > leastSignal*math.Sqrt(f.form(outer(centre)))):
		return validation.Number{Unknown: nothingTo}
	}
	rho := f.left / all
	by := outer(f.quadratic())
	by.AddSym(by, scaled(-rho, outer(centre)))
	// As in the pool, whose columns may say less of the outcome, and no less than of normal rows.
	sampling := math.Max(f.spreadR2, 4*(1-rho)*rho*rho) / f.n
	n := around(1-rho, f.form(by)/(all*all), sampling)
	if math.Abs(f.bare.unexplained()-f.short.unexplained()) > mostShift*n.SD {
		return validation.Number{Unknown: shortOnes}
	}
	n.Value, n.Low, n.High = share(n.Value), share(n.Low), share(n.High)
	return n
}

func share(v float64) float64 { return math.Min(math.Max(v, 0), 1) }
