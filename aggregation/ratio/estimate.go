package ratio

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"caucus/aggregation/embedding"
)

// Estimate is the answer for one unlabelled set.
type Estimate struct {
	Shares        []float64     `json:"shares"` // the estimate, on the simplex
	Low           []float64     `json:"low"`    // ends of the intervals, at the model's confidence
	High          []float64     `json:"high"`
	Unconstrained []float64     `json:"free"` // before the simplex constraint; intervals' centre
	Sd            []float64     `json:"sd"`   // standard error of Unconstrained
	GoodnessOfFit GoodnessOfFit `json:"fit"`
	OptimalityGap float64       `json:"gap"`       // bound on the quadratic program's error
	Condition     float64       `json:"condition"` // see Model.Condition
	// NoInterval gives the reason why there is no interval. Low and High are then 0 and 1.
	NoInterval string    `json:"no_interval,omitempty"`
	Warnings   []Warning `json:"warnings,omitempty"`
}

// GoodnessOfFit tests whether a mixture of the classes explains the target. Statistic is the
// squared distance between the target's embedding and the fitted mixture, over its expectation from
// sampling and noise. If target and sets share P(x|y) it is near 1, and exceeds Threshold with
// probability about 1e-3: see nullQuantile.
type GoodnessOfFit struct {
	Statistic float64 `json:"statistic"`
	Threshold float64 `json:"threshold"`
	Tested    bool    `json:"tested"` // false for a target of one row
}

func (g GoodnessOfFit) doubted() bool { return g.Tested && g.Statistic > g.Threshold }

// spread is the factor by which a badly fitting target increases a variance. If the target's class
// means are shifted at random, as by sampling (the random shifts of Jeong & Rothenhäusler 2022),
// Statistic and variance grow by the same factor. Shifts along the differences between classes
// count shiftWeight times as much.
func (g GoodnessOfFit) spread() float64 {
	if !g.Tested {
		return 1
	}
	return 1 + shiftWeight*max(g.Statistic-1, 0)
}

// shiftWeight was chosen on digits of other writers, and tested on other data sets: docs/ratio.md.
const shiftWeight = 2

// faintError is the largest standard error of a share with an interval. Above it, an interval of ±
// two standard errors covers most of [0,1] and nearly always contains the truth: on HIGGS, 84 of 84
// at errors of .15 to .25.
const faintError = 0.15

// fitAlarm is the probability that a valid target is reported as not fitting.
const fitAlarm = 1e-3

// maxFreedom exceeds any model's degrees of freedom. gonum's χ² does not return for far more, or
// for none.
const maxFreedom = 1e9

type ratioPoint struct {
	h, free, shares []float64
	// weights of the model's functions (see ratioSystem) in the fitted mean
	coefs      []float64
	setWeights []float64 // weights of the sets in the fitted mean
	gap        float64
}

// estimate returns the class shares of a target set. g has the inner products of the set's mean
// embedding with the model's anchors (the embeddings with which a target is compared).
func (r ratioSystem) estimate(g []float64) ratioPoint {
	h := ratioMulT(r.read, g)
	out := ratioPoint{h: h, free: ratioMul(r.linear, h)}
	c := len(out.free)
	for k := range c {
		out.free[k] += r.offset[k]
	}
	b := make([]float64, c)
	for k := range c {
		for j := range c {
			b[k] += r.metric.At(k, j) * out.free[j]
		}
	}
	out.shares, out.gap = quadraticOnSimplex(r.metric, b)
	out.coefs = out.shares
	if r.coefLinear != nil {
		out.coefs = ratioMul(r.coefLinear, h)
		for i := range out.coefs {
			out.coefs[i] += r.coefOffset[i]
		}
	}
	out.setWeights = ratioMul(r.spread, out.coefs)
	return out
}

// Estimate returns the class ratios of an unlabelled set. It ignores target.Shares.
//
// The interval is for the ratios of this very set. It covers sampling of the target, sampling of
// the training sets, and the stated privacy noise on shares and embeddings:
//
//	Cov = V_U/n_U + Σ a_i²(V_i/n_i + C_i) + L Q Lᵀ(s_U + Σ a_i² s_i),
//
// for target U and sets i of n rows. V is the covariance of one row's effect within its class, a_i
// the weight of set i, C_i the covariance of the noise in its shares, s the noise variance of an
// embedding's coordinate, L and Q are ratioSystem's linear and quadratic. For class-means,
// secondOrder adds the covariance of products of noise with noise. For the ratios of the population
// that the set was drawn from, add (diag ρ − ρρᵀ)/n_U. If the target has rows, V_U is estimated
// from them.
func (m *Model) Estimate(target Set) (Estimate, error) {
	view, err := m.look(target)
	if err != nil {
		return Estimate{}, fmt.Errorf("estimate ratio: %w", err)
	}
	point := m.system.estimate(view.g)
	out := Estimate{
		Shares: point.shares, Unconstrained: point.free, OptimalityGap: point.gap,
		Condition: m.number, Warnings: append([]Warning(nil), m.warnings...),
	}
	cov, loose := m.covariance(point, view)
	if loose {
		out.Warnings = append(out.Warnings,
			Warning{ConservativeInterval, float64(len(m.sets)), float64(2*m.classes + 2),
				"nothing tells how far rows scatter but an upper bound, so there are no intervals: give the target's rows, 30 or more, or more sets"})
		out.NoInterval = "too few rows and sets tell how far records scatter"
	}
	if out.GoodnessOfFit = m.fit(point, view); out.GoodnessOfFit.doubted() {
		out.Warnings = append(out.Warnings, Warning{PoorFit, out.GoodnessOfFit.Statistic,
			out.GoodnessOfFit.Threshold,
			"no mixture of the classes looks like this set: its records differ in more than class ratios, so the estimate may be off by any amount, and there are no intervals"})
	}
	out.interval(cov, m.options.Confidence, m.system.pull())
	if sd := slices.Max(out.Sd); sd > faintError {
		out.Warnings = append(out.Warnings, Warning{ClassesTooSimilar, sd, faintError,
			"the standard error of a share is above 0.15: the estimate says little; use more rows, more different sets or another width"})
	}
	return out, nil
}

type ratioView struct {
	n      int
	g      []float64  // inner products of the target's embedding with the anchors
	scores *mat.Dense // inner products of each row's embedding with the anchors, nil without rows
	norm   float64    // unbiased squared norm of the target's embedding
	trace  float64    // trace of the covariance of one row's embedding
	noise  float64
	// rank and third describe the spectrum of the target's rows: see spectrumOf.
	rank, third float64
}

func (m *Model) look(t Set) (ratioView, error) {
	v := ratioView{n: t.EmbeddedRows, noise: t.Noise}
	if t.Rows != nil {
		v.n, _ = t.Rows.Dims()
	}
	if v.n < 1 || (t.Rows == nil && t.Embedding == nil) {
		return v, &Refusal{EmptyTarget, float64(v.n), "the target has no rows"}
	}
	if err := checkSet(t, 0, 1, m.options); err != nil {
		return v, err
	}
	var mean []float64
	self := 1.0
	switch {
	case m.options.Fourier == nil:
		if t.Rows == nil {
			return v, &Refusal{ShapeMismatch, 0, "this model compares rows: give the target's rows"}
		}
		_, d := t.Rows.Dims()
		if _, want := m.rows[0].Dims(); d != want {
			return v, &Refusal{ShapeMismatch, float64(d),
				fmt.Sprintf("the target has not the %d columns of the sets", want)}
		}
		return m.lookByKernel(v, t.Rows), nil
	case t.Rows != nil:
		embedder, err := embedding.NewEmbedder(*m.options.Fourier)
		if err != nil {
			return v, err
		}
		if _, d := t.Rows.Dims(); d != m.options.Fourier.Dim {
			return v, &Refusal{ShapeMismatch, float64(d),
				fmt.Sprintf("the target has not the %d columns of the map", m.options.Fourier.Dim)}
		}
		v.scores, mean = embedder.Scores(t.Rows, m.anchors)
		v.rank, v.third = spectrumOf(RBF(m.options.Fourier.Gamma), []*mat.Dense{t.Rows})
	case len(t.Embedding) != m.options.Fourier.Features:
		return v, &Refusal{ShapeMismatch, float64(len(t.Embedding)),
			"the target's embedding was made by another map"}
	default:
		mean = t.Embedding
		v.rank = m.rank
		// the least possible value, which equal eigenvalues give
		v.third = math.Pow(max(v.rank, 1), -1.5)
	}
	v.g = ratioMul(m.anchors, mean)
	v.measure(kernelNorm(mean)-float64(len(mean))*t.Noise, self)
	return v, nil
}

func (m *Model) lookByKernel(v ratioView, x *mat.Dense) ratioView {
	k := m.options.Kernel
	v.scores = mat.NewDense(v.n, len(m.rows), nil)
	v.g = make([]float64, len(m.rows))
	for j, set := range m.rows {
		nj, _ := set.Dims()
		row := make([]float64, v.n)
		k.Sums(x, set, row, nil)
		for i, s := range row {
			v.scores.Set(i, j, s/float64(nj))
			v.g[j] += s / float64(nj) / float64(v.n)
		}
	}
	row := make([]float64, v.n)
	k.Sums(x, x, row, nil)
	var all, self float64
	for i, s := range row {
		all += s
		self += k.SelfValue(x.RawRowView(i)) / float64(v.n)
	}
	v.rank, v.third = spectrumOf(k, []*mat.Dense{x})
	v.measure(all/float64(v.n)/float64(v.n), self)
	return v
}

func (r *ratioView) measure(norm, self float64) {
	if r.n >= 2 {
		r.norm = withoutSelf(norm, self, r.n)
		r.trace = max(self-r.norm, 0)
	} else {
		r.norm, r.trace = norm, self
	}
}

// covariance returns the covariance of the unconstrained ratios. loose says that a bound replaced
// an unknown spread.
func (m *Model) covariance(point ratioPoint, v ratioView) (cov *mat.SymDense, loose bool) {
	cov = knownCovariance(m.system, m.sets, point.setWeights, v.noise)
	var dim float64
	if m.options.Fourier != nil {
		dim = float64(m.options.Fourier.Features)
	}
	rank := m.rank
	if m.rank == unknownRank && v.scores != nil && v.n >= 30 {
		rank = v.rank
	}
	cov.AddSym(cov, secondOrder(m.system, m.sets, point.setWeights, float64(v.n), v.noise, rank,
		dim))
	own := m.spread
	if v.scores != nil && v.n >= 30 { // fewer rows estimate a variance badly
		own = m.system.withinCovariance(m.system.rowEffects(v.scores), point.shares)
	}
	sets := m.spread
	if m.indirect {
		sets = own // classes look alike everywhere, so the target's rows also give the sets' spread
	}
	var fromSets float64
	for i, w := range point.setWeights {
		fromSets += w * w / float64(m.sets[i].N)
	}
	if own == nil {
		// The covariance of a row's embedding is at most its trace times I, and knownCovariance
		// carries that to the ratios.
		trace := v.trace
		for _, s := range m.sets {
			trace = max(trace, s.Variance)
		}
		bound := knownCovariance(m.system, nil, nil, trace)
		own, sets, loose = bound, bound, true
	}
	add := func(s *mat.SymDense, f float64) {
		t := mat.NewSymDense(m.classes, nil)
		t.ScaleSym(f, s)
		cov.AddSym(cov, t)
	}
	add(own, 1/float64(v.n))
	add(sets, fromSets)
	return cov, loose
}

// interval sets Sd, Low and High: Unconstrained ± (z·Sd + pull), limited to [0,1], and extended to
// contain the estimate. There is no interval for a target that no mixture fits, for a standard
// error above faintError, or for a pull above half a class's standard error. The pull is a bound
// without a probability distribution, so intervals without it would cover the truth too rarely, and
// intervals with it always.
func (e *Estimate) interval(cov mat.Symmetric, confidence float64, pull []float64) {
	e.Sd, e.Low, e.High = nil, nil, nil
	z := distuv.UnitNormal.Quantile(0.5 + confidence/2)
	pulled := false
	for k, s := range e.Shares {
		sd := math.Sqrt(max(cov.At(k, k), 0) * e.GoodnessOfFit.spread())
		e.Sd = append(e.Sd, sd)
		half := z*sd + pull[k]
		e.Low = append(e.Low, min(max(e.Unconstrained[k]-half, 0), s))
		e.High = append(e.High, max(min(e.Unconstrained[k]+half, 1), s))
		pulled = pulled || pull[k] > sd/2
	}
	switch {
	case e.NoInterval != "": // the reason was set earlier
	case e.GoodnessOfFit.doubted():
		e.NoInterval = "no mixture of the classes looks like this set"
	case pulled:
		e.NoInterval = "most of the difference between some classes is noise, so the estimate is drawn towards the training shares by nobody knows how much"
	case !(slices.Max(e.Sd) <= faintError): // true for NaN too
		e.NoInterval = "the classes hardly differ in these sets, so that the standard error of a share is above 0.15"
	default:
		return
	}
	for k := range e.Shares {
		e.Low[k], e.High[k] = 0, 1
	}
}

// fit estimates the target's squared distance from the fitted mean without bias, over its
// expectation.
func (m *Model) fit(point ratioPoint, v ratioView) GoodnessOfFit {
	if v.n < 2 {
		return GoodnessOfFit{}
	}
	residual := v.norm
	for i, a := range point.coefs {
		residual -= 2 * a * point.h[i]
		for j, b := range point.coefs {
			residual += a * b * m.system.quadratic.At(i, j)
		}
	}
	sampling, noise := v.trace/float64(v.n), v.noise
	for i, a := range point.setWeights {
		sampling += a * a * m.sets[i].Variance / float64(m.sets[i].N)
		noise += a * a * m.sets[i].Noise
	}
	rank, dim := max(v.rank, 1), 1.0
	if m.options.Fourier != nil {
		dim = float64(m.options.Fourier.Features)
	}
	noise *= dim
	// noise in a set's shares moves the fitted mean along the differences of classes
	for i, a := range point.setWeights {
		if c := m.sets[i].ShareCov; c != nil && m.system.coefLinear == nil {
			for k := range m.classes {
				for l := range m.classes {
					sampling += a * a * c.At(k, l) * m.system.quadratic.At(k, l)
				}
			}
		}
	}
	total := sampling + noise
	if total <= 0 {
		return GoodnessOfFit{}
	}
	square := (sampling*sampling/rank + noise*noise/dim) / (total * total)
	cube := (sampling*sampling*sampling*v.third +
		noise*noise*noise/(dim*dim)) / (total * total * total)
	threshold := nullQuantile(square, cube, 1-fitAlarm)
	if !(threshold > 1 && threshold < maxThreshold) { // only in a damaged model
		return GoodnessOfFit{}
	}
	return GoodnessOfFit{Statistic: 1 + residual/total, Threshold: threshold, Tested: true}
}

// maxThreshold is above every threshold: a single direction has the largest, 10.8.
const maxThreshold = 20

// nullQuantile returns a quantile of Σ λz² over Σ λ, z standard normal, where Σ λ² over (Σ λ)² is
// square and Σ λ³ over (Σ λ)³ is cube. This is the law of a squared distance due to sampling and
// noise. A χ² fits it by three moments (Hall 1983, Buckley & Eagleson 1988). With two moments the
// tail is too light: an event of probability 1/1,000 happens twice as often or more.
func nullQuantile(square, cube, q float64) float64 {
	freedom := square * square * square / (cube * cube)
	if !(freedom > 0 && freedom <= maxFreedom) {
		return math.NaN()
	}
	return 1 + math.Sqrt(square/freedom)*(distuv.ChiSquared{K: freedom}.Quantile(q)-freedom)
}

func ratioMulT(a *mat.Dense, x []float64) []float64 {
	r, c := a.Dims()
	out := make([]float64, c)
	for i := range r {
		for j, v := range a.RawRowView(i) {
			out[j] += v * x[i]
		}
	}
	return out
}
