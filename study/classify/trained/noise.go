package trained

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation/fitting"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
)

// noise returns the noise on the moments (means of label or vote × features), for a sum with this
// weight to which noise was added draws times. It returns study.ErrNoForecast for mechanisms whose
// noise is added to fitted weights and not to moments.
func (f finisher) noise(weight float64, draws int) (fitting.Noise, error) {
	if _, _, ok := f.SolvedRidge(1); ok {
		return fitting.Noise{}, study.ErrNoForecast
	}
	t, err := f.Statistic.Terms(int64(weight))
	if err != nil {
		return fitting.Noise{}, err
	}
	pool, classes, cells := f.Pool(), len(f.Plan().Schema.Classes()), f.Statistic.ReleasedCells()
	variance := privacy.VarianceOf(t.Mechanism, t.Bound, 0, cells)
	if f.Plan().Mechanism == "cross" {
		return fitting.CrossMomentNoise(classes,
			fitting.MeanNoiseSD(variance, draws, weight), pool.X, pool.Weight,
			pool.EffectiveRows(), weight, make([]float64, pool.Dim())), nil
	}
	if of := f.Means(); of != nil {
		return fitting.MeansNoise(of, float64(draws)*variance, weight), nil
	}
	scale := float64(draws) / (weight * weight)
	if of := f.Moments(); of != nil {
		return fitting.MomentNoise(of, math.Sqrt(scale*variance), t.Laplace()), nil
	}
	columns := learners.WeightColumns(classes)
	rows := make([]float64, pool.Rows())
	for i := range rows {
		rows[i] = scale * privacy.VarianceOf(t.Mechanism, t.Bound, i*columns, cells)
	}
	return fitting.TallyNoise(pool.X, pool.Weight, rows, classes), nil
}

// forecastNoise returns the noise on the moments in a study of this size. seen turns true moments
// into those that the release would have without noise; nil if they are equal.
func (f finisher) forecastNoise(size study.Size) (noise fitting.Noise,
	seen func(*mat.Dense) *mat.Dense, err error) {
	weight := float64(size.Parties * f.Words().Shards)
	if f.Plan().Mechanism == "cross" {
		if weight = float64(size.Records); size.Records == 0 {
			return noise, nil, fmt.Errorf("forecast study: no records: give how many all parties hold together")
		}
	}
	if of := f.Means(); of != nil {
		seen = func(mu *mat.Dense) *mat.Dense { return fitting.ExactMomentsFromVectors(of, mu) }
	}
	noise, err = f.noise(weight, f.Plan().Noise.Draws(size.Parties))
	return noise, seen, err
}
