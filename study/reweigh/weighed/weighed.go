package weighed

import (
	"errors"
	"fmt"
	"slices"

	"caucus/auxdata"
	"caucus/dataset"
	"caucus/study"
)

// ErrOtherWeights says that the table's weights are not the release's, or that its pool has no
// weights.
var ErrOtherWeights = errors.New("the pool does not have the weights of the release")

// WeightedPool is the pool of a reweigh study with the released weights.
type WeightedPool struct {
	Plan            study.Plan
	ReleasedWeights Weights
	// Pool is the plan's pool. Weighted is the pool with weights.
	Pool, Weighted *auxdata.Pool
}

// AttachWeights attaches a release's weights to t, the pool of the release's study. The rows must
// be unweighted and in the same order. It refuses another pool, and weights whose digest differs
// from the release's.
func AttachWeights(r study.Release, t *dataset.Table) (w WeightedPool, err error) {
	if w.ReleasedWeights, err = WeightsOf(r); err != nil {
		return w, err
	}
	if w.Plan, err = planOf(r); err != nil {
		return w, err
	}
	if t.Has(auxdata.WeightColumn) {
		return w, errors.New("it has weights of its own: give the pool without weights")
	}
	if w.Pool, err = study.PoolOf(w.Plan, t); err != nil {
		return w, err
	}
	if w.Pool.Digest != w.Plan.Pool {
		return w, fmt.Errorf("it has digest %s, the release is about pool %s: give the pool of that study, its rows in the same order", w.Pool.Digest, w.Plan.Pool)
	}
	if w.Weighted, err = w.Pool.WithWeights(w.ReleasedWeights.Weight); err != nil {
		return w, err
	}
	if w.Weighted.Digest != w.ReleasedWeights.WeightedPool {
		return w, errors.New("the release's weights do not have the digest that it names: it was changed; fetch it again")
	}
	return w, nil
}

// PoolSourceOf returns what a plan with pool t must state about release r, which gave t its weights
// or, if t has none, its rows. It returns ErrOtherWeights if t has weights of another source, or if
// t is the pool of r's study without weights, because the caller probably forgot the weights.
func PoolSourceOf(r study.Release, t *dataset.Table) (*study.WeightSource, error) {
	source, err := WeightSourceOf(r)
	if err != nil {
		return nil, err
	}
	weight, err := auxdata.Weights(t)
	if err != nil {
		return nil, err
	}
	if weight != nil {
		if made, err := WeightsOf(r); err != nil || !slices.Equal(made.Weight, weight) {
			return nil, ErrOtherWeights
		}
		return source, nil
	}
	p, err := planOf(r)
	if err != nil {
		return nil, err
	}
	if own, err := study.PoolOf(p, t); err == nil && own.Digest == p.Pool {
		return nil, ErrOtherWeights
	}
	return source, nil
}
