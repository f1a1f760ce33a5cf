package weighed

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/aggregation/fitting"
	"caucus/aggregation/solving"
	"caucus/auxdata"
	"caucus/auxdata/support"
	"caucus/dataset"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/reweigh"
)

// Weights are the result of a reweigh study. With them the pool represents the private records.
type Weights struct {
	// WeightedPool is the digest of the pool with weights, which a later plan may name.
	WeightedPool auxdata.Digest `json:"weighted_pool"`
	// Records is the public number of all private records, also those that fail the plan's
	// condition. MeetingCondition is the released number of records that meet the condition, nil if
	// there is no condition.
	Records          int64    `json:"records"`
	MeetingCondition *float64 `json:"inside,omitempty"`
	// Features names the features. For mechanism entropy, Means are the features' means over
	// private records, each with noise of standard deviation NoiseSD. If there is a condition, the
	// means are over records that meet it, and nil if noise hides how many these are. For logistic,
	// Means is nil and NoiseSD is the noise on each coefficient of Tilt.
	Features []string  `json:"features"`
	Means    []float64 `json:"means,omitempty"`
	NoiseSD  float64   `json:"noise_sd"`
	// Tilt gives the weights: a row with features x has a weight proportional to e^{⟨Tilt,x⟩}.
	Tilt   []float64             `json:"tilt"`
	Lambda float64               `json:"lambda"`
	Path   []solving.LambdaPoint `json:"path,omitempty"`
	// EffectiveRows is Kish's (Σw)²/Σw² of the weights w. Largest is the largest weight's share of
	// all weights.
	EffectiveRows float64 `json:"effective_rows"`
	Largest       float64 `json:"largest_weight"`
	// WorstNoise bounds the standard deviation that the noise adds to the answer of any query with
	// values in [0,1] (Ji & Elkan 2013, Theorem 2, to first order).
	WorstNoise float64 `json:"worst_noise_sd"`
	// Residuals are the largest differences between released means and the weighted pool's means.
	// Gaps are the features that the pool cannot represent.
	Residuals []fitting.Residual `json:"residuals,omitempty"`
	Gaps      []fitting.Residual `json:"support_gaps,omitempty"`
	// Weight has a positive number for each pool row. Their mean is 1.
	Weight []float64 `json:"weight"`
}

// weigher fits weights to released numbers.
type weigher struct{ *reweigh.Statistic }

// FinishTotal implements bodies.Finisher: it fits the weights to the released numbers.
func (f finisher) FinishTotal(total bodies.Total, rng *rand.Rand) (study.Result, error) {
	w := weigher{f.Statistic.(*reweigh.Statistic)}
	if total.Weight <= 0 {
		return study.Result{}, fmt.Errorf("fit weights: no records were contributed")
	}
	x := w.Design.Rows(w.Rows)
	fit, law, out, err := w.fit(x, total, rng)
	if err != nil {
		return study.Result{}, err
	}
	weighted, err := w.Pool.WithWeights(fit.Weight)
	if err != nil {
		return study.Result{}, err
	}
	out.WeightedPool, out.Records, out.Features = weighted.Digest, int64(total.Weight),
		w.Design.Names()
	out.Tilt, out.Lambda, out.Path, out.Weight = fit.Beta, fit.Lambda, fit.Path, fit.Weight
	out.EffectiveRows, out.Largest, out.WorstNoise = fit.EffectiveRows, fit.LargestShare,
		law.MaxNoiseSD()
	if out.Means != nil {
		out.Residuals, out.Gaps = fitting.Residuals(w.Design, x, law, out.Means, out.NoiseSD)
	}
	return study.NewResult(out, w.warnings(out, total))
}

func (w weigher) fit(x *mat.Dense, total bodies.Total, rng *rand.Rand) (fitting.WeightFit,
	*fitting.WeightErrors, *Weights, error) {
	fail := func(err error) (fitting.WeightFit, *fitting.WeightErrors, *Weights, error) {
		return fitting.WeightFit{}, nil, nil, err
	}
	t, err := w.Terms(int64(total.Weight))
	if err != nil {
		return fail(err)
	}
	variance := privacy.VarianceOf(t.Mechanism, t.Bound, 0, w.Cells())
	out := &Weights{}
	n := total.Weight
	if w.Counted() {
		inside := fitting.RecordsInSums(total.Values)
		out.MeetingCondition = &inside
		if least := leastInside * fitting.MeanNoiseSD(variance, total.Draws,
			1); inside < math.Max(least, 1) {
			out.NoiseSD = fitting.MeanNoiseSD(variance, total.Draws, n)
			fit := fitting.WeightsOfTilt(x, make([]float64, w.Design.Cells()))
			return fit, fitting.WeightErrorsOf(x, fit, fitting.Noise{}), out, nil
		}
		n = inside
	}
	if w.Ratio != nil {
		gamma := w.Lattice()
		out.NoiseSD = gamma * math.Sqrt(float64(total.Draws)*variance) / total.Weight
		// without the intercept, which cancels in normalised weights
		beta := make([]float64, w.Design.Cells())
		norm := w.Design.MaxRowNorm()
		for j := range beta {
			beta[j] = total.Values[j] * gamma / total.Weight
		}
		fit := fitting.WeightsOfTilt(x, floats.ScaleTo(make([]float64, len(beta)), norm, beta))
		law := fitting.TiltErrorsOf(x, fit, out.NoiseSD*norm)
		fit.Beta, fit.Lambda = beta, w.Lambda()
		return fit, law, out, nil
	}
	out.NoiseSD = fitting.MeanNoiseSD(variance, total.Draws, n)
	out.Means, err = fitting.FeatureMeans(w.Design, total.Values[:w.Design.Cells()], n)
	if err != nil {
		return fail(err)
	}
	noise := w.noise(out, t.Laplace())
	keep := cmp.Or(study.TermsOf[reweigh.Terms](w.Plan).MinEffectiveShare, reweigh.DefaultKeep)
	doubt := fitting.AddSamplingNoise(noise, x, n)
	fit := fitting.MatchWeights(x,
		floats.ScaleTo(make([]float64, len(out.Means)), 1/w.Design.MaxRowNorm(),
			out.Means), doubt, w.Plan.Lambda, keep, rng)
	law := fitting.WeightErrorsOf(x, fit, noise)
	floats.Scale(1/w.Design.MaxRowNorm(), fit.Beta)
	return fit, law, out, nil
}

// leastInside is the least value of Inside, in standard deviations of its noise, at which there are
// Means.
const leastInside = 4

// noise returns the distribution of the noise on released means, Laplace or close to normal.
func (w weigher) noise(out *Weights, laplace bool) fitting.Noise {
	law := fitting.FeatureNoise(w.Design, out.Means, out.NoiseSD, laplace, w.fresh())
	if w.Counted() { // the number of records has noise like the sum of a feature that is always 1
		law = fitting.AddCountNoise(w.Design, law, out.Means, out.NoiseSD)
	}
	return law
}

func (out *Weights) about() float64 {
	if out.MeetingCondition != nil {
		return math.Max(*out.MeetingCondition, 1)
	}
	return math.Max(float64(out.Records), 1)
}

func (w weigher) warnings(out *Weights, total bodies.Total) []string {
	var all []string
	warn := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	rows := w.Pool.Rows()
	switch {
	case out.MeetingCondition != nil && out.Means == nil:
		warn("noise hides how many records the study is about (%.0f ± %.0f), so the pool stays as it was: use more records, a larger ε, fewer features or a wider condition", *out.MeetingCondition, out.NoiseSD*total.Weight)
	case w.Plan.Mechanism == "entropy" && out.Lambda == 0:
		warn("the noise leaves nothing better than equal weights: use more records, a larger ε, or fewer features")
	}
	if out.EffectiveRows < math.Max(reweigh.DefaultKeep*float64(rows),
		math.Min(reweigh.FewEffectiveRows,
			float64(rows)/2)) {
		warn("the weights have collapsed: the pool of %d rows counts as %.0f, one row holds %.1f %% of all weight. Answers will be erratic: use a pool that is nearer to the records, a larger λ or a larger ε", rows, out.EffectiveRows, 100*out.Largest)
	}
	if d := w.Design.Cells(); float64(d) > out.about() {
		warn("%d numbers were released about %.0f records: expect more noise than signal; project the features or leave some out", d, out.about())
	}
	if out.WorstNoise > 0.1 {
		warn("noise alone may move an answer by a standard deviation of %.2f", out.WorstNoise)
	}
	for i, g := range out.Gaps {
		if i == 3 {
			warn("and %d more features that the pool lacks", len(out.Gaps)-i)
			break
		}
		warn("the pool lacks rows with %s: the private records' mean is %.4f (noise ±%.4f), the weighted pool's %.4f", g.Feature, g.ReleasedMean, g.NoiseSD, g.WeightedMean)
	}
	return all
}

const kindName = "reweigh"

// WeightsOf reads a release's body. It refuses releases of other kinds, and checks no signature.
func WeightsOf(r study.Release) (out Weights, err error) {
	if r.Kind != kindName {
		return out, fmt.Errorf("this release holds no weights: it is not of a reweigh study")
	}
	return out, r.Result.DecodeBody(&out)
}

// EstimateQuery estimates the mean of a query over the private records, from a reweigh release and
// its pool. b has the query's value for each pool row.
func EstimateQuery(r study.Release, pool *auxdata.Pool, b []float64) (fitting.QueryEstimate,
	error) {
	said, err := WeightsOf(r)
	if err != nil {
		return fitting.QueryEstimate{}, fmt.Errorf("answer query: %w", err)
	}
	out := &said
	p, err := planOf(r)
	if err != nil {
		return fitting.QueryEstimate{}, err
	}
	of, err := reweigh.NewStatistic(p, pool)
	if err != nil {
		return fitting.QueryEstimate{}, err
	}
	if len(out.Weight) != pool.Rows() || len(b) != pool.Rows() ||
		len(out.Tilt) != of.Design.Cells() {
		return fitting.QueryEstimate{}, fmt.Errorf("answer query: the release has %d weights and %d coefficients, the pool %d rows and %d features", len(out.Weight), len(out.Tilt), pool.Rows(), of.Design.Cells())
	}
	w := weigher{of}
	if err := out.check(w); err != nil {
		return fitting.QueryEstimate{}, fmt.Errorf("answer query: %w", err)
	}
	laplace := slices.ContainsFunc(r.Costs, func(c study.ReleaseCost) bool {
		return c.Mechanism == privacy.DiscreteLaplace{}.Name()
	})
	law, untold := w.law(out, laplace)
	return law.EstimateMean(b, untold), nil
}

func (out *Weights) check(w weigher) error {
	if (out.MeetingCondition != nil) != w.Counted() {
		return fmt.Errorf("the release does not say how many records it is about as its plan does: the release was damaged")
	}
	if hidden := w.Counted() && out.Means == nil; hidden {
		if out.Lambda != 0 {
			return fmt.Errorf("the release has weights and no means: the release was damaged")
		}
	} else if w.Ratio == nil && len(out.Means) != w.Design.Cells() {
		return fmt.Errorf("the release has %d means, the plan %d: the release was damaged", len(out.Means), w.Design.Cells())
	}
	const most = 1e15 // above this number, adding one record may leave a float64 unchanged
	numbers := slices.Concat(out.Means, out.Tilt)
	if out.MeetingCondition != nil {
		numbers = append(numbers, *out.MeetingCondition)
	}
	for _, v := range numbers {
		if !(math.Abs(v) <= most) {
			return fmt.Errorf("the release says %g, which no noise explains: the release was damaged", v)
		}
	}
	for _, v := range []float64{out.NoiseSD, out.Lambda} {
		if !(v >= 0 && v <= most) {
			return fmt.Errorf("the release says %g, which is no deviation and no ridge: the release was damaged", v)
		}
	}
	for i, v := range out.Weight {
		if !(v > 0 && v <= most) {
			return fmt.Errorf("the release's weight of row %d is %g, want a positive number: the release was damaged", i+1, v)
		}
	}
	return nil
}

// law returns the distribution of released weights, given noise that is Laplace or close to normal.
// Untold measures the differences between pool and private records that weights cannot remove.
func (w weigher) law(out *Weights, laplace bool) (*fitting.WeightErrors,
	fitting.UnreleasedShift) {
	x := w.Design.Rows(w.Rows)
	fit := fitting.WeightFit{Beta: out.Tilt, Weight: out.Weight, Lambda: out.Lambda}
	if w.Ratio != nil {
		return fitting.TiltErrorsOf(x, fit,
			out.NoiseSD*w.Design.MaxRowNorm()), fitting.UnreleasedShift{Records: out.about()}
	}
	if out.Means == nil { // because noise hides the number of records
		return fitting.WeightErrorsOf(x, fit,
			fitting.Noise{}), fitting.UnreleasedShift{Records: out.about()}
	}
	noise := w.noise(out, laplace)
	return fitting.WeightErrorsOf(x, fit, noise),
		fitting.UnreleasedShiftOf(w.Design, x, out.Means, noise,
			out.Lambda,
			out.about())
}

// fresh makes the public random generator that simulates noise. Readers of a release get the same.
func (w weigher) fresh() *rand.Rand { return rand.New(rand.NewPCG(w.Plan.Seed, 0x6c6177)) }

// MarginsOf returns the released means by block of features, for auxdata.Make.
func MarginsOf(r study.Release) ([]support.Margin, error) {
	w, err := WeightsOf(r)
	if err != nil || w.Means == nil {
		return nil, fmt.Errorf("read margins: this release holds no feature means: use one of a reweigh study by entropy, of enough records")
	}
	p, err := planOf(r)
	if err != nil {
		return nil, err
	}
	d, err := reweigh.DesignOf(p)
	if err != nil {
		return nil, err
	}
	return marginsOf(p, d, w.Means)
}

func marginsOf(p study.Plan, d *aggregation.FeatureDesign, means []float64) ([]support.Margin,
	error) {
	if p.Map.Kind != dataset.IdentityMap || len(means) != d.Cells() {
		return nil, fmt.Errorf("read margins: the plan releases projected features, not the schema's")
	}
	var out []support.Margin
	for _, b := range p.Schema.Blocks() {
		m := support.Margin{Mean: 0.5}
		if b.OneHot {
			m.Shares = means[b.Start : b.Start+b.Width]
		} else {
			m.Mean = means[b.Start]
			m.Bins = fitting.BinMeans(d, b, means)
		}
		out = append(out, m)
	}
	return out, nil
}

// WeightSourceOf returns the source that a plan states if its pool has a release's weights.
func WeightSourceOf(r study.Release) (*study.WeightSource, error) {
	p, err := planOf(r)
	if err != nil {
		return nil, err
	}
	if _, err := WeightsOf(r); err != nil {
		return nil, fmt.Errorf("name weights: %w", err)
	}
	perParty := study.TermsOf[reweigh.Terms](p).PerParty
	source := &study.WeightSource{Plan: r.PlanHash, Unit: p.Unit, Epsilon: p.Epsilon,
		Delta: p.Delta, PerParty: perParty}
	if before := p.Weights; before != nil { // the pool itself comes from an earlier release
		if study.MixesPatients(p.Unit, before.Unit) {
			return nil, fmt.Errorf("name weights: the weights of its own pool hide a %s and this release a %s: nothing is proven of both together", before.Unit, p.Unit)
		}
		source.Unit = min(p.Unit, before.Unit) // the finer unit, at which both guarantees hold
		both, ok := privacy.Compose(source.Unit, p.Guarantee(perParty), before.Guarantee())
		if !ok {
			return nil, fmt.Errorf("name weights: with the weights of its own pool this release guarantees nothing")
		}
		source.Epsilon, source.Delta = both.Epsilon, both.Delta
		if source.PerParty = max(source.PerParty, before.PerParty); p.Unit != before.Unit ||
			before.PerParty == 0 || perParty == 0 {
			source.PerParty = 0
		}
	}
	return source, nil
}

func planOf(r study.Release) (study.Plan, error) {
	p, err := r.DecodedPlan()
	if err != nil {
		return study.Plan{}, err
	}
	return p, reweigh.Kind{}.Check(p)
}
