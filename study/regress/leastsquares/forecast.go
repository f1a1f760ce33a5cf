package leastsquares

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
	"caucus/study"
	"caucus/study/regress"
)

// Outlook is what is expected of a coefficient. It follows from public inputs alone.
type Outlook struct {
	// Private, Pooled and Alone are its expected standard deviations, in the schema's units: as
	// released, of all records without privacy, and of one site's alone without privacy. Private is
	// infinite where the coefficient will be unknown.
	Private, Pooled, Alone float64
	// Shift is how far shortening moves it, in standard deviations Private, by the pool. ShiftSD is
	// the standard deviation of that. Both are NaN where the pool does not say.
	Shift, ShiftSD float64
	// Unknown says why nothing will be known, if noise hides a direction of the columns, or the
	// pool lacks it. Hidden columns are in it.
	Unknown string
	Hidden  bool
}

// mostShift is the largest shift, in standard deviations: beyond, a 95 % interval holds the
// coefficient less often than in 92 of 100 studies.
const mostShift = 0.5

// farthest is how far shortening may move the coefficient, by the pool's rows: one standard
// deviation of what they tell is added. It is 0 where the coefficient will be unknown.
func (o Outlook) farthest() float64 {
	if math.IsInf(o.Private, 1) || math.IsNaN(o.Shift) {
		return 0
	}
	return math.Abs(o.Shift) + o.ShiftSD
}

// Forecast is what is expected of all coefficients.
type Forecast []Outlook

// Worth reports whether more than half of the coefficients are expected to have narrower intervals
// than one site's records alone.
func (f Forecast) Worth() bool {
	narrow := 0
	for _, o := range f {
		if o.Private < o.Alone {
			narrow++
		}
	}
	return 2*narrow > len(f)
}

// mostShifted returns the coefficient that shortening may move farthest, if that is too far or the
// pool's rows are too few to say; −1 without one.
func (f Forecast) mostShifted() int {
	at, most := -1, 0.
	for j, o := range f {
		if o.farthest() > most && (math.Abs(o.Shift) > mostShift || o.ShiftSD > mostShift) {
			at, most = j, o.farthest()
		}
	}
	return at
}

// NewForecast expects complete records like the pool's. The variance is that of the noise on a
// sum of products, and size counts the records that the study is about.
func NewForecast(d *regress.Design, pool *auxdata.Pool, size study.Size,
	variance float64) Forecast {
	p := newPublicRows(d, pool)
	_, of := matrixOf(d, make([]float64, d.Cells()), variance)
	k, n := d.Dim()-1, float64(size.Records)
	out := make(Forecast, len(d.Columns))
	for j := range out {
		out[j].Private, out[j].Pooled, out[j].Alone = math.Inf(1), math.Inf(1), math.Inf(1)
	}
	n *= float64(len(p.rows)) / float64(pool.Rows())
	hidden, why := p.hidden(scaled(n, p.moments(d.Radius, p.share())), of)
	if of.hides(n, k) {
		hidden, why = nil, tooFew
	}
	for j, c := range d.Columns {
		out[j].Unknown, out[j].Hidden = why, slices.Contains(hidden, c)
	}
	chance := p.share()
	if d.Outcome.InPool() {
		chance = nil
	}
	bare, ok := p.fitted(math.Inf(1), chance)
	if !ok || n < 2*float64(k) {
		return out
	}
	got, ok := p.fitted(d.Radius, chance)
	ofMean := of.times(1 / (n * n))
	for j, c := range d.Columns {
		by, o := p.unitOf(c), &out[j]
		o.Pooled = by * math.Sqrt(bare.variance(j+1)/n)
		o.Alone = o.Pooled * math.Sqrt(float64(max(size.Parties, 1)))
		if !ok || why != "" {
			continue
		}
		byNoise := product(got.inverse, ofMean.residualNoise(got.beta), got.inverse).At(j+1, j+1)
		o.Private = by * math.Sqrt(got.variance(j+1)/n+byNoise)
		shift, sd := p.shift(j+1, bare, got)
		o.Shift, o.ShiftSD = by*shift/o.Private, by*sd/o.Private
	}
	return out
}

// unitOf returns a coefficient in the schema's units, of 1 standardised.
func (p publicRows) unitOf(c regress.Column) float64 {
	return p.Outcome.Scale * (p.Outcome.High - p.Outcome.Low) / (c.Scale * (c.High - c.Low))
}

// fittedRows is least squares of the pool's rows.
type fittedRows struct {
	publicRows
	radius   float64
	chance   func([]float64) float64
	products *mat.SymDense // moments of the rows
	inverse  *mat.Dense
	beta     []float64
	residuals
}

// fitted fits the pool's rows, shortened to a radius. It returns false if they do not tell all
// columns apart.
func (p publicRows) fitted(radius float64, chance func([]float64) float64) (fittedRows, bool) {
	f := fittedRows{publicRows: p, radius: radius, chance: chance, inverse: new(mat.Dense),
		products: p.moments(radius, chance)}
	if len(p.below(f.products, 0)) > 0 ||
		f.inverse.Inverse(f.products.SliceSym(0, p.Dim()-1)) != nil {
		return f, false
	}
	f.beta = product(f.inverse, withOutcome(f.products)).RawMatrix().Data
	f.residuals = p.residuals(radius, f.beta, chance)
	return f, true
}

// variance returns the variance of a coefficient, times the number of records.
func (f fittedRows) variance(j int) float64 {
	row := vector(f.inverse.RawRowView(j))
	return math.Max(0, mat.Inner(row, f.meat, row))
}

// pulls returns how far each row pulls a coefficient, times the number of rows.
func (f fittedRows) pulls(j int) []float64 {
	out, k := make([]float64, len(f.rows)), f.Dim()-1
	f.each(f.radius, f.chance, func(e example) {
		x := e.w[:k]
		out[e.row] += e.weight * floats.Dot(f.inverse.RawRowView(j), x) *
			(e.w[k] - floats.Dot(x, f.beta))
	})
	return out
}

// mostTried is about the most rows of the pool that say how shortening shifts a coefficient of an
// outcome that the pool does not hold.
const mostTried = 2000

// shift returns how far shortening moves a coefficient from a bare fit of the pool's rows to one of
// shortened rows, and the standard deviation of that; NaN where the rows do not say. For a class,
// which the pool does not hold, it makes fits of its own: the odds are assumed to rise e-fold with
// each standard deviation of the coefficient's own column, and rows evenly spread over the pool
// stand for all.
func (p publicRows) shift(j int, bare, short fittedRows) (float64, float64) {
	if !p.Outcome.InPool() {
		var some [][]float64
		for i := 0; i < len(p.rows); i += (len(p.rows) + mostTried - 1) / mostTried {
			some = append(some, p.rows[i])
		}
		p.rows = some
		start := math.Log(p.Outcome.Mean / (1 - p.Outcome.Mean))
		chance := func(x []float64) float64 { return 1 / (1 + math.Exp(-start-x[j])) }
		var ok, too bool
		bare, ok = p.fitted(math.Inf(1), chance)
		short, too = p.fitted(p.Radius, chance)
		if !ok || !too {
			return math.NaN(), math.NaN()
		}
	}
	off := short.pulls(j)
	floats.Sub(off, bare.pulls(j))
	return short.beta[j] - bare.beta[j], floats.Norm(off, 2) / float64(len(off))
}
