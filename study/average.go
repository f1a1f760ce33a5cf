package study

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
)

// average is the comparator that averages the parties' own linear models, each
// clipped to norm averageRadius: at party level a party moves the mean by at
// most 2·averageRadius/M. (Pathak et al.'s guarantee for averaging is at record
// level; the two never share a column.) Simulation only.
type average struct {
	plan    Plan
	pool    *auxdata.Pool
	classes int
}

const (
	// averageRadius clips a local model: rows have norm at most 1, so scores
	// reach ±10, where the logistic curve is flat.
	averageRadius = 10.0
	averageScale  = 1 << 20 // lattice of the clear sums
)

func newAverage(p Plan, pool *auxdata.Pool) (question, error) {
	return &average{plan: p, pool: pool, classes: len(p.Schema.Classes())}, nil
}

func (a *average) cells() int         { return a.pool.Dim() * learners.Columns(a.classes) }
func (a *average) releasedCells() int { return a.cells() }
func (a *average) maxWeight() int64   { return 1 }

func (a *average) local(in Inputs) ([]int64, int64) {
	z := make([]int64, a.cells())
	p := a.plan
	p.Learner = "softmax" // only linear models can be averaged
	model, _ := trainLocal(context.Background(), p, in.Records, in.Rng, true)
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

func (a *average) appendClear(vector []int64, weight int64) ([]byte, error) {
	return appendVector(binary.AppendVarint(nil, weight), vector), nil
}

func (a *average) parseClear(body []byte) ([]int64, int64, error) {
	weight, rest, err := cutVarint(body)
	if err != nil {
		return nil, 0, err
	}
	v, err := parseVector(rest, a.cells())
	return v, weight, err
}

func (a *average) terms(weight int64) (terms, error) {
	rate := a.plan.Epsilon * float64(weight) / (2 * averageRadius)
	return terms{Output: "average", Bound: privacy.Bound{Unit: a.plan.Unit}, Mechanism: privacy.SphereLaplace{Rate: rate}}, nil
}

func (a *average) sensitive(vector []int64, weight int64, t terms) (privacy.Sensitive, error) {
	mean := make([]float64, len(vector))
	for i, v := range vector {
		mean[i] = float64(v) / averageScale / float64(weight)
	}
	return privacy.NewLiteral(mean, t.Bound.Unit), nil
}

func (a *average) noise(float64, int) (aggregation.Noise, error) {
	return aggregation.Noise{}, errNoForecast
}

func (a *average) finish(total released, _ *rand.Rand) (Result, error) {
	w := mat.NewDense(a.pool.Dim(), learners.Columns(a.classes), total.Values)
	return classifierResult(a.plan, aggregation.Fit{Model: learners.Linear{W: w, Classes: a.classes}, Lambda: 1}), nil
}
