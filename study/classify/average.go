package classify

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"caucus/aggregation"
	"caucus/auxdata"
	"caucus/learners"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
)

// average is a mechanism that simulations compare with others. It averages the parties' linear models, each
// clipped to norm averageRadius. If the unit is the party, one party moves the mean of M models by at most
// 2·averageRadius/M. (The ε of Pathak et al. is not comparable, because they protect single records.)
type average struct {
	plan    study.Plan
	pool    *auxdata.Pool
	classes int
}

const (
	// averageRadius clips a local model. Rows have norm at most 1, so scores reach ±10, where the
	// logistic curve is flat.
	averageRadius = 10.0
	averageScale  = 1 << 20 // lattice steps per unit, for sums without noise
)

func newAverage(p study.Plan, pool *auxdata.Pool) (bodies.Statistic, error) {
	return &average{plan: p, pool: pool, classes: len(p.Schema.Classes())}, nil
}

func (a *average) Cells() int                   { return a.pool.Dim() * learners.Columns(a.classes) }
func (a *average) ReleasedCells() int           { return a.Cells() }
func (a *average) Weights() (least, most int64) { return 1, 1 }

func (a *average) Local(in study.Inputs) ([]int64, int64) {
	z := make([]int64, a.Cells())
	model, _ := TrainLocal(context.Background(), a.plan, "softmax", in.Records, in.Rng, true) // only linear models can be averaged
	linear, ok := model.(learners.Linear)
	if !ok {
		return z, 1
	}
	w := linear.W.RawMatrix().Data
	scale := math.Min(1, averageRadius/math.Max(mat.Norm(linear.W, 2), 1e-300))
	for i, v := range w {
		z[i] = int64(v * scale * averageScale)
	}
	return z, 1
}

func (a *average) AppendClear(vector []int64, weight int64) ([]byte, error) {
	return bodies.AppendVector(binary.AppendVarint(nil, weight), vector), nil
}

func (a *average) ParseClear(body []byte) ([]int64, int64, error) {
	weight, rest, err := bodies.CutVarint(body)
	if err != nil {
		return nil, 0, err
	}
	v, err := bodies.ParseVector(rest, a.Cells())
	return v, weight, err
}

func (a *average) Terms(weight int64) (study.ReleaseTerms, error) {
	rate := a.plan.Epsilon * float64(weight) / (2 * averageRadius)
	return study.ReleaseTerms{Output: "average", Bound: privacy.Bound{Unit: a.plan.Unit}, Mechanism: privacy.SphereLaplace{Rate: rate}}, nil
}

func (a *average) Sensitive(vector []int64, weight int64, t study.ReleaseTerms) (privacy.Sensitive, error) {
	mean := make([]float64, len(vector))
	for i, v := range vector {
		mean[i] = float64(v) / averageScale / float64(weight)
	}
	return privacy.NewLiteral(mean, t.Bound.Unit), nil
}

func (a *average) Noise(float64, int) (aggregation.Noise, error) {
	return aggregation.Noise{}, study.ErrNoForecast
}

func (a *average) FinishClear(total bodies.Total, rng *rand.Rand) (study.Result, error) {
	for i := range total.Values {
		total.Values[i] /= averageScale * total.Weight
	}
	return a.Finish(total, rng)
}

func (a *average) Finish(total bodies.Total, _ *rand.Rand) (study.Result, error) {
	w := mat.NewDense(a.pool.Dim(), learners.Columns(a.classes), total.Values)
	return classifierResult(a.plan, aggregation.Fit{Model: learners.Linear{W: w, Classes: a.classes}, Lambda: 1})
}
