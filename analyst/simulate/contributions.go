package simulate

import (
	"context"
	"sync"

	"caucus/auxdata"
	"caucus/privacy"
	"caucus/study"
	"caucus/study/bodies"
	"caucus/study/classify"
	"caucus/study/kinds"
)

// contributions makes the parties' bodies, with and without noise.
type contributions interface {
	// make returns party i's body and, unless lean, the body without noise. Calls may be
	// concurrent.
	make(ctx context.Context, m *machine, i int) (body, clear []byte, err error)
	addClear(i int, clear []byte) error
	// unperturbed returns the result without noise, empty if the kind has no such result.
	unperturbed(ctx context.Context) (study.Result, error)
}

func (d *DealtData) contributions(t study.Finisher, lean bool) (contributions, error) {
	if of, ok := bodies.Of(t); ok {
		return &shared{Task: of, finisher: t.(bodies.Finisher), deal: d, lean: lean,
			sum: bodies.NewClearSum(of.Statistic)}, nil
	}
	out := &drafted{Finisher: t, deal: d}
	none := t.Plan()
	none.Mechanism = "none"
	if lean || kinds.Check(none) != nil {
		return out, nil
	}
	without, err := checkedTask(none, t.Pool())
	if err == nil {
		out.clear, err = newMachine(without)
	}
	return out, err
}

// shared makes contributions to one statistic, whose integers without noise add up.
type shared struct {
	bodies.Task
	finisher bodies.Finisher
	deal     *DealtData
	lean     bool
	sum      *bodies.ClearSum
}

func (s *shared) make(ctx context.Context, m *machine, i int) (body, clear []byte, err error) {
	vector, weight := s.deal.localSum(ctx, s.Task, i)
	if !s.lean {
		if clear, err = s.Statistic.AppendClear(vector, weight); err != nil {
			return nil, nil, err
		}
	}
	switch noise := s.Plan().Noise; {
	case noise.SumsInClear():
		body, err = s.ClearBody(vector, weight, s.deal.siteKey(i))
	case noise.Shared() && clear != nil:
		body = clear
	case noise.Shared():
		body, err = s.Statistic.AppendClear(vector, weight)
	default:
		var draft study.Contribution
		if draft, err = s.ContributeWithNoise(vector, weight); err == nil {
			body, err = m.body(ctx, draft, i)
		}
	}
	return body, clear, err
}

func (s *shared) addClear(_ int, clear []byte) error { return s.sum.Add(clear) }

func (s *shared) unperturbed(context.Context) (study.Result, error) {
	return s.Unperturbed(s.sum, s.finisher)
}

// drafted makes contributions that are not sums. If the kind has a mechanism "none", a second study
// with that mechanism gets the same contributions, for the result without noise.
type drafted struct {
	study.Finisher
	deal  *DealtData
	clear *machine
}

func (d *drafted) make(ctx context.Context, m *machine, i int) (body, clear []byte, err error) {
	draft, err := d.Contribute(d.deal.inputs(ctx, i))
	if err != nil {
		return nil, nil, err
	}
	if body, err = m.body(ctx, draft, i); err != nil || d.clear == nil {
		return body, nil, err
	}
	for at := range draft.Requests {
		draft.Requests[at].Mechanism = privacy.Unperturbed{}
	}
	clear, err = d.clear.body(ctx, draft, i)
	return body, clear, err
}

func (d *drafted) addClear(i int, clear []byte) error { return d.clear.receive(i, clear) }

func (d *drafted) unperturbed(ctx context.Context) (study.Result, error) {
	if d.clear == nil {
		return study.Result{}, nil
	}
	release, err := d.clear.conclude(ctx)
	return release.Result, err
}

// localSumKey identifies what a party computes, so that plans of other budget and mechanism share
// it.
type localSumKey struct {
	pool      *auxdata.Pool
	unit      privacy.Unit
	statistic string // a description of the computation; the plan's hash if plans must not share it
	learner   string
	shards    int
}

// localSums holds each party's vector of a statistic, which is computed at its first use.
type localSums []struct {
	once   sync.Once
	vector []int64
	weight int64
}

// localSum returns party i's vector of a statistic. With KeepComputations it outlives ctx, for
// later plans.
func (d *DealtData) localSum(ctx context.Context, t bodies.Task, i int) (vector []int64,
	weight int64) {
	if !d.KeepComputations {
		return t.Local(d.inputs(ctx, i))
	}
	p, w := t.Plan(), t.Words()
	key := localSumKey{pool: t.Pool(), unit: p.Unit,
		statistic: classify.PartyComputation(p.Mechanism),
		learner:   w.Learner, shards: w.Shards}
	if key.statistic == "" {
		key.statistic = t.Hash().String()
	}
	d.mu.Lock()
	all, ok := d.localSums[key]
	if !ok {
		if d.localSums == nil {
			d.localSums = map[localSumKey]*localSums{}
		}
		made := make(localSums, len(d.Parties))
		all = &made
		d.localSums[key] = all
	}
	d.mu.Unlock()
	mine := &(*all)[i]
	mine.once.Do(func() { mine.vector, mine.weight = t.Local(d.Inputs(i)) })
	return mine.vector, mine.weight
}
