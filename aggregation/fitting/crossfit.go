package fitting

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/auxdata"
)

// CrossFit is a classifier fitted to released sums of label × features.
type CrossFit struct {
	Fit
	Drift Drift
	// PoolReweighted reports whether weights match the pool's mean to the records'. EffectiveRows
	// is the pool's effective sample size (Kish) under the weights.
	PoolReweighted bool
	EffectiveRows  float64
	// RemainingDrift is the drift of the weighted pool.
	RemainingDrift Drift
	// Calibration is nil if its equations have no solution.
	Calibration *Calibration

	equations calibrator
}

// CrossFitTerms configure a fit to sums of label × features.
type CrossFitTerms struct {
	FitTerms
	// NoiseSD is the standard deviation of the noise on each class sum's mean. Records is the
	// number of summed records.
	NoiseSD, Records float64
	// Tilt permits weights that match a differing pool's mean to the records', if a share
	// MinEffectiveShare of its rows stays effective.
	Tilt              bool
	MinEffectiveShare float64
	// LeadingFeatures features, the first, can be used without the others
	// (dataset.Map.LeadingFeatures); 0: all are alike.
	LeadingFeatures int
}

// FitCross fits a classifier to noisy sums (see CrossMomentMeans) on a pool. The class sums give
// the moments; the rest of the risk comes from the unlabelled pool. If the records' mean shows
// drift, the pool is weighted to match that mean, or the remaining difference counts as noise.
func FitCross(pool *auxdata.Pool, sums []float64, o CrossFitTerms, rng *rand.Rand) (CrossFit,
	error) {
	fail := func(err error) (CrossFit, error) { return CrossFit{}, err }
	d, sd := pool.Dim(), o.NoiseSD
	means, err := CrossMomentMeans(sums, o.Classes, d, o.Records)
	if err != nil {
		return fail(err)
	}

	// A record without a label adds nothing, so the intercepts' sum estimates the labelled share.
	// If the share is below 1 by more than noise explains, use means over the labelled records.
	labelled, labelledDeviation := math.Sqrt2*mat.Sum(means.RowView(d-1)),
		sd*math.Sqrt(2*float64(o.Classes))
	if 1-labelled > 4*labelledDeviation {
		labelled = math.Max(labelled, 0.05)
		means.Scale(1/labelled, means)
		sd /= labelled
	}

	// The features' mean is the sum over classes, without the intercept.
	features := pool.X.Slice(0, pool.Rows(), 0, d-1).(*mat.Dense)
	mean := make([]float64, d-1)
	for j := range mean {
		mean[j] = mat.Sum(means.RowView(j))
	}
	meanDeviation := sd * math.Sqrt(float64(o.Classes))
	out := CrossFit{Drift: MeasureDrift(features, pool.Weight, mean, meanDeviation, o.Records),
		EffectiveRows: pool.EffectiveRows()}
	out.RemainingDrift = out.Drift
	if out.Drift.Significant() && o.Tilt {
		w := FitWeights(features, pool.Weight, mean, IsotropicNoise(d-1, meanDeviation), 0,
			o.MinEffectiveShare, rng)
		if pool, err = pool.WithWeights(w.Weight); err != nil {
			return fail(err)
		}
		out.PoolReweighted, out.EffectiveRows = true, w.EffectiveRows
		out.RemainingDrift = MeasureDrift(features, pool.Weight, mean, meanDeviation, o.Records)
	}
	target := pool.Mean()
	residual := make([]float64, d)
	if out.Drift.Significant() {
		for j := range mean {
			residual[j] = mean[j] - target[j]
		}
	}
	mu := CentredCrossMoments(means, target)
	noise := CrossMomentNoise(o.Classes, sd, pool.X, pool.Weight, out.EffectiveRows, o.Records,
		residual)
	var metric *mat.Dense
	out.Fit, metric = o.fit(pool, mu, noise, rng)
	c := calibrator{
		x: pool.X, weight: pool.Weight, classes: o.Classes, mu: mu, fit: out.Fit, metric: metric,
		effective: out.EffectiveRows, records: o.Records * min(labelled, 1), own: []*mat.Dense{IsotropicNoise(d, crossColumn(o.Classes, sd)).Factor},
	}
	if found, ok := c.calibrate(rng); ok {
		out.Calibration = &found
	}
	out.equations = c
	return out, nil
}

// nestedScales are the factors that fit tries for features Nested, Nested+1, …: 0 leaves these
// features out.
var nestedScales = []float64{0, 0.25, 1}

// fit returns the fit to moments mu and the transform in whose coordinates its ridge acts. With
// nested features it makes one fit for each of nestedScales, all under the same fresh draws. A fit
// with more features counts only if its estimated risk without noise is below that of the nested
// features' fit by more than noise and sampling explain, so noise alone rarely brings in more
// features. Of the fits that count, fit returns the one with the least risk. All is post-processing
// of mu. With a given λ no risk is estimated, and fit uses the nested features alone.
func (c CrossFitTerms) fit(pool *auxdata.Pool, mu *mat.Dense, noise Noise,
	rng *rand.Rand) (Fit, *mat.Dense) {
	if c.LeadingFeatures == 0 {
		t := sphere(pool.X, pool.Weight, noise)
		return fitVotes(pool.X, pool.Weight, mu, noise, c.FitTerms, t, rng), t
	}
	var best, nested Fit
	var metric *mat.Dense
	d, _ := mu.Dims()
	seed := rng.Uint64()
	for _, scale := range nestedScales {
		scaling := mat.NewDense(d, d, nil) // diagonal
		for j := range d {
			scaling.Set(j, j, 1)
			if j >= c.LeadingFeatures && j < d-1 {
				scaling.Set(j, j, scale)
			}
		}
		scaled := noise
		scaled.Factor = times(scaling, noise.Factor)
		t := times(scaling, sphere(times(pool.X, scaling), pool.Weight, scaled))
		fit := fitVotes(pool.X, pool.Weight, mu, noise, c.FitTerms, t,
			rand.New(rand.NewPCG(seed, 0)))
		if scale == 0 {
			best, nested, metric = fit, fit, t
			continue
		}
		var difference mat.Dense
		difference.Sub(fit.Model.W, nested.Model.W)
		if sd := mat.Norm(times(noise.Factor.T(), &difference),
			2); fit.chosen() < min(best.chosen(), nested.chosen()-sd) {
			best, metric = fit, t
		}
	}
	return best, metric
}
